"""Parameters that are numbers are read together, each with as many bytes as it has."""

from hostdriver.channel.items import Reader
from hostdriver.channel.scalars import parts_of
from hostdriver.channel.specs import interface
from tests.harness.program_channel import NUMBERS, items


def test_every_function_has_all_its_parameters_in_their_order() -> None:
    for spec in interface().functions.values():
        names = [name for part in parts_of(spec) for name in part.names]

        assert names == [param.name for param in spec.params], spec.name


def test_numbers_side_by_side_are_one_part() -> None:
    spec = interface().functions[NUMBERS["zeCommandListAppendMemoryFill"]]

    assert [part.names for part in parts_of(spec)] == [
        ("hCommandList", "ptr"),
        ("pattern",),
        ("pattern_size", "size", "hSignalEvent", "numWaitEvents"),
        ("phWaitEvents",),
    ]


def test_of_a_number_its_own_bytes_count() -> None:
    spec = interface().functions[NUMBERS["zeCommandListAppendBarrier"]]
    shape = parts_of(spec)[0].shape
    assert shape is not None

    found = Reader(items((1 << 64) - 1, 7, (5 << 32) + 2)).numbers(shape)

    assert found == ((1 << 64) - 1, 7, 2)
