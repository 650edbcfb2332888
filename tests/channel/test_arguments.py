"""Arguments of calls, and outputs in the interface's way."""

import pytest

from hostdriver.channel.arguments import MOST_ELEMENTS, read_arguments, write_outputs
from hostdriver.channel.calls.table import served
from hostdriver.channel.items import MalformedMessageError, Reader, Writer
from hostdriver.channel.specs import FunctionSpec, interface

FUNCTIONS = {spec.name: spec for spec in interface().functions.values()}


def message(*items: int | bytes) -> bytes:
    writer = Writer()
    for item in items:
        if isinstance(item, int):
            writer.number(item)
        else:
            writer.raw(item)
    return writer.message()


def spec_of(name: str) -> FunctionSpec:
    return FUNCTIONS[name]


def test_numbers_are_cut_to_their_type_and_null_handles_are_none() -> None:
    call = read_arguments(spec_of("zeMemFree"), message(0, 2**64 - 1))

    assert call.handle("hContext") is None
    assert call.number("ptr") == 2**64 - 1
    with pytest.raises(MalformedMessageError):
        call.structure("ptr")


def test_an_output_without_a_place_is_dropped() -> None:
    call = read_arguments(spec_of("zeMemGetAddressRange"), message(1, 0x1000, 0, 0, 1, 99))

    call.put("pBase", 0x1000)
    call.put("pSize", 5)

    reply = Reader(write_outputs(call))
    assert (reply.number(), reply.number(), reply.number()) == (0, 1, 5)
    with pytest.raises(MalformedMessageError):
        reply.number()


@pytest.mark.parametrize(
    ("asked", "room", "told", "given"),
    [(0, 0, 3, []), (0, 4, 3, []), (2, 2, 2, [7, 8]), (3, 3, 3, [7, 8, 9]), (9, 9, 3, [7, 8, 9])],
)
def test_a_counted_array_tells_how_many_there_are_or_gives_what_fits(
    asked: int, room: int, told: int, given: list[int]
) -> None:
    call = read_arguments(spec_of("zeDeviceGet"), message(1, 1, asked, room))

    call.put_list("pCount", "phDevices", [7, 8, 9])

    reply = Reader(write_outputs(call))
    assert (reply.number(), reply.number()) == (1, told)
    assert [reply.number() for _ in range(reply.number())] == given


def test_an_output_that_nobody_set_keeps_what_it_was() -> None:
    call = read_arguments(spec_of("zeDeviceGet"), message(1, 1, 42, 0))

    reply = Reader(write_outputs(call))

    assert (reply.number(), reply.number()) == (1, 42)


def test_an_array_that_no_slot_could_hold_is_refused() -> None:
    with pytest.raises(MalformedMessageError):
        read_arguments(spec_of("zeDeviceGet"), message(1, 1, 1, MOST_ELEMENTS + 1))


def test_any_cut_message_is_refused_and_raises_nothing_else() -> None:
    for spec in FUNCTIONS.values():
        for size in range(0, 64, 8):
            try:
                write_outputs(read_arguments(spec, b"\1\0\0\0\0\0\0\0" * (size // 8)))
            except MalformedMessageError:
                continue


def test_every_function_of_the_table_is_carried_out_by_somebody() -> None:
    assert set(FUNCTIONS) == served()
