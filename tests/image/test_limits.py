"""Limits of an image are refused unless every one of them makes sense."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi.boot import FirmwareLimits
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.registers import BootError
from firmware.image import (
    LIMIT_BOUNDS,
    REFERENCE_LIMITS,
    REFERENCE_NOTE,
    ImageError,
    build_image,
    load,
)
from firmware.link.layout import SegmentPlan
from tests.harness.elf import Elf

OFFSETS = {field.name: field.offset for field in FirmwareLimits.FIELDS}
POWERS = {
    "control_ring_entries",
    "fault_ring_entries",
    "min_ring_entries",
    "max_ring_entries",
}
AREAS = {"payload_size", "ring_pool_size"}


def limits_with(**changes: int) -> FirmwareLimits:
    values = {name: getattr(REFERENCE_LIMITS, name) for name in OFFSETS}
    return FirmwareLimits(**(values | changes))


def refusal(limits: FirmwareLimits) -> ImageError:
    with pytest.raises(ImageError) as caught:
        load(build_image(REFERENCE_NOTE, limits))
    assert caught.value.reason is BootError.BAD_LIMITS
    return caught.value


def offset_of(name: str) -> int:
    section = Elf(build_image(REFERENCE_NOTE, REFERENCE_LIMITS)).section(".emuzero.limits")
    return section["sh_offset"] + OFFSETS[name]


def test_every_limit_has_bounds() -> None:
    assert list(LIMIT_BOUNDS) == list(OFFSETS)


@pytest.mark.parametrize("name", OFFSETS)
def test_zero_is_refused(name: str) -> None:
    error = refusal(limits_with(**{name: 0}))

    assert error.detail == offset_of(name)
    assert f"{name} is 0, expected" in str(error)


@pytest.mark.parametrize("name", OFFSETS)
def test_the_largest_number_is_refused(name: str) -> None:
    error = refusal(limits_with(**{name: 0xFFFF_FFFF}))

    assert error.detail == offset_of(name)


@pytest.mark.parametrize("name", OFFSETS)
def test_one_step_beyond_the_bounds_is_refused(name: str) -> None:
    bound = LIMIT_BOUNDS[name]
    above = bound.high * 2 if bound.power_of_two else bound.high + bound.unit

    assert refusal(limits_with(**{name: above})).detail == offset_of(name)


@pytest.mark.parametrize("name", sorted(POWERS))
def test_rings_are_powers_of_two(name: str) -> None:
    error = refusal(limits_with(**{name: 3 * LIMIT_BOUNDS[name].low}))

    assert "a power of two" in str(error)


@pytest.mark.parametrize("name", sorted(AREAS))
def test_areas_are_whole_pages(name: str) -> None:
    value = getattr(REFERENCE_LIMITS, name)

    error = refusal(limits_with(**{name: value + PAGE_SIZE // 2}))

    assert "a multiple of 4096" in str(error)


def test_smallest_work_ring_is_not_larger_than_the_largest() -> None:
    error = refusal(limits_with(min_ring_entries=64, max_ring_entries=32))

    assert error.detail == offset_of("min_ring_entries")
    assert "expected at most max_ring_entries 32" in str(error)


def test_ring_pool_has_room_for_the_largest_ring() -> None:
    entries = 64
    fits = limits_with(max_ring_entries=entries, ring_pool_size=2 * PAGE_SIZE)
    too_small = limits_with(max_ring_entries=entries, ring_pool_size=PAGE_SIZE)

    assert load(build_image(REFERENCE_NOTE, fits)).limits == fits
    assert refusal(too_small).detail == offset_of("ring_pool_size")


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_extremes_are_good_and_make_a_segment(end: str) -> None:
    values = {name: getattr(bound, end) for name, bound in LIMIT_BOUNDS.items()}

    limits = load(build_image(REFERENCE_NOTE, FirmwareLimits(**values))).limits

    assert SegmentPlan.of(limits).size < 1 << 32


def test_reserved_bytes_must_be_zero() -> None:
    elf = Elf(build_image(REFERENCE_NOTE, REFERENCE_LIMITS))
    elf.contents(".emuzero.limits")[-1] = 1

    with pytest.raises(ImageError) as caught:
        load(bytes(elf))

    assert caught.value.reason is BootError.BAD_LIMITS
    assert caught.value.detail == offset_of("ring_pool_size") + 4


def sensible(values: dict[str, int]) -> bool:
    """Say in plain words what the bounds are."""
    powers = all(values[name] in {1 << shift for shift in range(17)} for name in POWERS)
    areas = all(values[n] % 4096 == 0 and 0 < values[n] <= 1 << 28 for n in AREAS)
    return (
        powers
        and areas
        and values["control_ring_entries"] >= 16
        and values["fault_ring_entries"] >= 16
        and 2 <= values["min_ring_entries"] <= values["max_ring_entries"]
        and 1 <= values["max_queues"] <= 1023
        and 1 <= values["max_clients"] <= 4096
        and 1 <= values["max_spaces"] <= 65_536
        and 1 <= values["max_objects"] <= 1 << 24
        and 1 <= values["fence_count"] <= 65_536
        and values["ring_pool_size"] >= 256 + 64 * values["max_ring_entries"]
    )


CORNERS = (1, 2, 16, 1023, 4096, 1 << 16, 1 << 24, 1 << 28)
EDGES = sorted({corner + step for corner in CORNERS for step in (-1, 0, 1)})


@given(st.dictionaries(st.sampled_from(sorted(OFFSETS)), st.sampled_from(EDGES), max_size=3))
def test_limits_are_taken_exactly_if_they_are_sensible(changes: dict[str, int]) -> None:
    limits = limits_with(**changes)
    values = {name: getattr(limits, name) for name in OFFSETS}

    if sensible(values):
        assert load(build_image(REFERENCE_NOTE, limits)).limits == limits
    else:
        refusal(limits)
