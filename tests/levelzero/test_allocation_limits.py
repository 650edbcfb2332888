"""Relaxed limits and compression hints at allocation, by profile."""

import pytest

from firmware.abi.control import Allocate
from firmware.abi.extensions import Extension
from hostdriver.api import allocation
from hostdriver.api.memory_structures import (
    DeviceMemAllocDesc,
    HostMemAllocDesc,
    MemoryCompressionHintsExtDesc,
    RelaxedAllocationLimitsExpDesc,
    RelaxedAllocationLimitsExtDesc,
)
from hostdriver.api.structures import ChainedDesc, UnknownDesc
from hostdriver.core.enums import (
    MemoryCompressionHintsExtFlags,
    RelaxedAllocationLimitsExpFlags,
    RelaxedAllocationLimitsExtFlags,
)
from hostdriver.core.state import DriverState
from tests.harness.fake_session import FakeSession
from tests.harness.levelzero import fails

GIB = 1 << 30
MAX_SIZE = RelaxedAllocationLimitsExtDesc(RelaxedAllocationLimitsExtFlags.MAX_SIZE)
MAX_SIZE_EXP = RelaxedAllocationLimitsExpDesc(RelaxedAllocationLimitsExpFlags.MAX_SIZE)
Hints = MemoryCompressionHintsExtFlags
Chained = ChainedDesc | UnknownDesc


def on_device(session: FakeSession, state: DriverState, size: int, *chain: Chained) -> int:
    desc = DeviceMemAllocDesc(p_next=chain)
    return session.run(allocation.allocate_device(state, desc, size, 0, 0))


def on_host(session: FakeSession, state: DriverState, size: int, *chain: Chained) -> int:
    desc = HostMemAllocDesc(p_next=chain)
    return session.run(allocation.allocate_host(state, desc, size, 0))


def shared(session: FakeSession, state: DriverState, size: int, *chain: Chained) -> int:
    device, host = DeviceMemAllocDesc(p_next=chain), HostMemAllocDesc()
    return session.run(allocation.allocate_shared(state, device, host, size, 0, None))


def shared_by_host(session: FakeSession, state: DriverState, size: int, *chain: Chained) -> int:
    device, host = DeviceMemAllocDesc(), HostMemAllocDesc(p_next=chain)
    return session.run(allocation.allocate_shared(state, device, host, size, 0, None))


anyhow = pytest.mark.parametrize("make", [on_device, on_host, shared, shared_by_host])


@anyhow
@pytest.mark.sentence("LIMITS-01", "LIMITS-02")
@pytest.mark.parametrize("desc", [MAX_SIZE, MAX_SIZE_EXP], ids=["extension", "experimental"])
def test_relaxed_limit_lets_memory_be_larger(
    session: FakeSession, state: DriverState, make: type, desc: ChainedDesc
) -> None:
    with fails("UNSUPPORTED_SIZE", f"{4 * GIB:#x}"):
        make(session, state, 4 * GIB + 1)

    make(session, state, 4 * GIB)
    make(session, state, 4 * GIB + 1, desc)

    assert session.commands(Allocate)[-1].size_bytes > 4 * GIB


def test_no_limit_passes_the_memory_of_the_device(session: FakeSession, state: DriverState) -> None:
    with fails("UNSUPPORTED_SIZE"):
        on_device(session, state, 8 * GIB + 1, MAX_SIZE)


@pytest.mark.sentence("LIMITS-03")
@pytest.mark.decision("C7", profile="both")
@pytest.mark.parametrize(
    "desc", [RelaxedAllocationLimitsExtDesc(), RelaxedAllocationLimitsExpDesc()]
)
def test_flags_of_zero_relax_nothing_or_are_refused_by_profile(
    session: FakeSession, state: DriverState, intel: DriverState, desc: ChainedDesc
) -> None:
    assert on_device(session, state, 1, desc)
    with fails("UNSUPPORTED_SIZE"):
        on_device(session, state, 4 * GIB + 1, desc)
    with fails("INVALID_ARGUMENT"):
        on_device(session, intel, 1, desc)


@anyhow
@pytest.mark.sentence("LIMITS-04")
@pytest.mark.decision("C22b")
@pytest.mark.parametrize(
    "desc",
    [
        RelaxedAllocationLimitsExtDesc(RelaxedAllocationLimitsExtFlags(2)),
        RelaxedAllocationLimitsExpDesc(RelaxedAllocationLimitsExpFlags(3)),
        MemoryCompressionHintsExtDesc(Hints(4)),
    ],
)
def test_unknown_flags_are_refused(
    session: FakeSession, state: DriverState, make: type, desc: ChainedDesc
) -> None:
    with fails("INVALID_ENUMERATION"):
        make(session, state, 1, desc)
    assert session.asked == []


@anyhow
@pytest.mark.sentence("COMPRESS-03")
@pytest.mark.decision("C34", profile="both")
def test_exactly_one_compression_hint_is_wanted_by_profile(
    session: FakeSession, state: DriverState, intel: DriverState, make: type
) -> None:
    for flags in (Hints(0), Hints(3)):
        with fails("INVALID_ENUMERATION"):
            make(session, state, 1, MemoryCompressionHintsExtDesc(flags))
        assert make(session, intel, 1, MemoryCompressionHintsExtDesc(flags))
    for flags in Hints:
        assert make(session, state, 1, MemoryCompressionHintsExtDesc(flags), MAX_SIZE)


@pytest.mark.parametrize("desc", [MAX_SIZE, MAX_SIZE_EXP, MemoryCompressionHintsExtDesc(Hints(1))])
def test_descriptor_of_an_extension_that_is_off_is_refused(
    session: FakeSession, desc: ChainedDesc
) -> None:
    state = session.state(extensions=int(Extension(0)))

    with fails("UNSUPPORTED_FEATURE"):
        on_device(session, state, 1, desc)


def test_unknown_structure_is_noted_or_refused_by_profile(
    session: FakeSession, state: DriverState, intel: DriverState
) -> None:
    assert on_host(session, state, 1, UnknownDesc(0x7777))
    assert "0x7777" in state.note
    with fails("UNSUPPORTED_ENUMERATION"):
        on_host(session, intel, 1, UnknownDesc(0x7777))
