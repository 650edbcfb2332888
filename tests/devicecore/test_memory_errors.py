"""Memory errors: corrected ones are counted, others poison a frame until it is retired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.errors import InternalError, InvariantError, MemoryFault
from device.core.memory import FileWindow, MemoryController
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.paging import Aperture
from tests.harness.memory import BUS, LOCAL, at, frames_of, memory_of, pattern, scattered

if TYPE_CHECKING:
    from collections.abc import Callable


def corrected(memory: MemoryController) -> int:
    return memory.statistics().ecc.corrected


def test_read_of_a_correctable_error_is_right_and_counted_once() -> None:
    memory = memory_of(2)
    memory.write(LOCAL, 0, pattern(PAGE_SIZE))
    memory.inject_correctable(100)
    memory.inject_correctable(103)
    memory.inject_correctable(104)

    assert memory.read(LOCAL, 0, PAGE_SIZE) == pattern(PAGE_SIZE)
    assert corrected(memory) == 2
    memory.read(LOCAL, 0, PAGE_SIZE)
    memory.check()
    assert corrected(memory) == 2


def test_error_beside_the_bytes_that_are_read_stays() -> None:
    memory = memory_of(1)
    memory.inject_correctable(64)

    memory.read(LOCAL, 0, 64)
    memory.read(LOCAL, 72, 100)
    memory.check()
    assert corrected(memory) == 0

    memory.read(LOCAL, 71, 1)
    assert corrected(memory) == 1


def test_write_of_the_whole_word_removes_the_error_unseen() -> None:
    memory = memory_of(1)
    memory.inject_correctable(64)
    memory.write(LOCAL, 64, bytes(8))

    memory.read(LOCAL, 0, PAGE_SIZE)

    assert corrected(memory) == 0


def test_write_of_a_part_of_the_word_has_to_correct_it() -> None:
    memory = memory_of(1)
    memory.inject_correctable(64)

    memory.write(LOCAL, 65, b"x")

    assert corrected(memory) == 1


@pytest.mark.parametrize("way", ["copy", "transfer", "chunk", "bus"])
def test_every_way_to_read_meets_the_error(way: str) -> None:
    memory = memory_of(4)
    memory.inject_correctable(8)
    match way:
        case "copy":
            memory.local.copy(PAGE_SIZE, 0, 64)
        case "transfer":
            pieces = [(0, 16), (32, 16)]
            memory.transfer(at(PAGE_SIZE, 32), scattered(pieces))
        case "chunk":
            memory.plan_chunks(at(PAGE_SIZE, 64), at(0, 64), 64)
        case _:
            bus = memory.bus.register(FileWindow(memoryview(bytearray(64))), 1)
            memory.transfer(at(bus, 64, aperture=BUS), at(0, 64))

    assert corrected(memory) == 1


def poisoned() -> MemoryController:
    """Return four frames in use, of which frame 1 is poisoned."""
    memory = memory_of(4)
    memory.allocate(4 * PAGE_SIZE, 1)
    memory.inject_poison(PAGE_SIZE + 100)
    return memory


def test_read_of_poison_faults_at_its_first_byte_in_the_frame() -> None:
    memory = poisoned()

    for address, first in ((PAGE_SIZE - 4, PAGE_SIZE), (PAGE_SIZE + 50, PAGE_SIZE + 50)):
        with pytest.raises(MemoryFault) as fault:
            memory.read(LOCAL, address, 16)
        assert fault.value.reason is FaultReason.POISON
        assert (fault.value.aperture, fault.value.address) == (Aperture.LOCAL, first)
        assert (fault.value.access, fault.value.va) == (Access.READ, None)


def test_frames_beside_the_poison_can_be_read() -> None:
    memory = poisoned()

    assert memory.read(LOCAL, 0, PAGE_SIZE) == bytes(PAGE_SIZE)
    assert memory.read(LOCAL, 2 * PAGE_SIZE, PAGE_SIZE) == bytes(PAGE_SIZE)


@pytest.mark.parametrize("way", ["copy", "transfer", "pieces", "many", "chunk", "bus"])
def test_copy_from_poison_faults_before_anything_is_moved(way: str) -> None:
    memory = poisoned()
    window = FileWindow(memoryview(bytearray(b"\7" * 32)))
    bus = memory.bus.register(window, 1)
    memory.write(LOCAL, 0, pattern(32))
    before, moved = memory.view.tobytes(), memory.statistics().traffic
    source = at(PAGE_SIZE - 16, 32, va=0x7000)
    target = at(3 * PAGE_SIZE, 32)

    single = [(PAGE_SIZE - 16 + byte, 1) for byte in range(32)]
    halves = [(PAGE_SIZE - 16, 16), (PAGE_SIZE, 16)]
    ways: dict[str, Callable[[], object]] = {
        "copy": lambda: memory.local.copy(3 * PAGE_SIZE, PAGE_SIZE - 16, 32),
        "transfer": lambda: memory.transfer(target, source),
        "pieces": lambda: memory.transfer(target, scattered(halves, va=0x7000)),
        "many": lambda: memory.transfer(target, scattered(single, va=0x7000)),
        "chunk": lambda: memory.plan_chunks(target, source, 8),
        "bus": lambda: memory.transfer(at(bus, 32, aperture=BUS), source),
    }

    with pytest.raises(MemoryFault) as fault:
        ways[way]()

    assert fault.value.reason is FaultReason.POISON
    assert fault.value.address == PAGE_SIZE
    assert fault.value.va == (None if way == "copy" else 0x7010)
    assert memory.view.tobytes() == before
    assert window.view.tobytes() == b"\7" * 32
    assert memory.statistics().traffic == moved


def test_writing_the_whole_frame_does_not_heal_it() -> None:
    memory = poisoned()

    memory.fill(at(PAGE_SIZE, PAGE_SIZE), b"\1")
    memory.write(LOCAL, PAGE_SIZE, bytes(PAGE_SIZE))

    with pytest.raises(MemoryFault, match="POISON"):
        memory.read(LOCAL, PAGE_SIZE, 1)


def test_poisoned_frame_is_retired_when_it_is_freed() -> None:
    memory = memory_of(8)
    runs = memory.allocate(4 * PAGE_SIZE, 1)
    bad = runs[0].first + 2
    memory.inject_poison(bad * PAGE_SIZE)
    assert memory.retired_frames == 0
    free = memory.free_bytes

    memory.free(runs)

    memory.check()
    assert memory.retired_frames == 1
    assert memory.free_bytes == free + 3 * PAGE_SIZE
    assert memory.statistics().retired_bytes == PAGE_SIZE
    assert bad not in frames_of(memory.allocate(7 * PAGE_SIZE, 2))
    assert memory.statistics().ecc.uncorrected == 1
    assert memory.statistics().ecc.poisoned_frames == 0


def test_poisoned_free_frame_is_retired_at_once() -> None:
    memory = memory_of(8)

    memory.inject_poison(3 * PAGE_SIZE)

    memory.check()
    assert memory.retired_frames == 1
    assert memory.free_bytes == 7 * PAGE_SIZE


def test_poison_is_counted_by_frame() -> None:
    memory = poisoned()
    memory.inject_poison(PAGE_SIZE)

    assert memory.statistics().ecc.uncorrected == 1
    assert memory.statistics().ecc.poisoned_frames == 1


def test_poison_hides_a_correctable_error_of_its_frame_until_both_are_gone() -> None:
    memory = memory_of(2)
    runs = memory.allocate(2 * PAGE_SIZE, 1)
    memory.inject_correctable(0)
    memory.inject_poison(8)
    memory.check()
    memory.write(LOCAL, 0, bytes(8))
    memory.check()

    memory.free(runs)

    memory.check()
    assert memory.local.ecc.marked == set()


def test_retired_frame_in_use_stays_usable_until_it_is_freed() -> None:
    memory = memory_of(4)
    runs = memory.allocate(4 * PAGE_SIZE, 1)

    assert not memory.retire(2)
    memory.write(LOCAL, 2 * PAGE_SIZE, b"data")
    assert memory.read(LOCAL, 2 * PAGE_SIZE, 4) == b"data"
    memory.free(runs)

    memory.check()
    assert memory.retired_frames == 1
    assert memory.scrub_some(1 << 20) == 0, "a retired frame was touched"


def test_without_ecc_errors_change_data_and_nobody_is_told() -> None:
    memory = memory_of(2, ecc=False)
    runs = memory.allocate(PAGE_SIZE, 1)
    address = runs[0].first * PAGE_SIZE

    memory.inject_correctable(address)
    memory.inject_poison(address + 8)

    assert memory.read(LOCAL, address, 9) == b"\1" + bytes(7) + b"\3"
    assert memory.statistics().ecc.uncorrected == corrected(memory) == 0
    memory.free(runs)
    assert memory.retired_frames == 0
    memory.allocate(2 * PAGE_SIZE, 2)
    assert not memory.array.any(), "another owner sees the changed bytes"


def test_error_outside_of_memory_is_an_internal_error() -> None:
    memory = memory_of(1)

    for inject in (memory.inject_correctable, memory.inject_poison, memory.retire):
        with pytest.raises(InternalError, match="has no"):
            inject(PAGE_SIZE)


@pytest.mark.parametrize(
    "damage", ["ecc.marked.add(3)", "ecc._weak[2] = set()", "ecc._weak[0] = {1 << 20}"]
)
def test_check_finds_damage(damage: str) -> None:
    memory = memory_of(4)
    memory.inject_correctable(0)
    memory.check()

    exec(damage, {"ecc": memory.local.ecc})  # noqa: S102 - the damage is the case's parameter

    with pytest.raises(InvariantError, match="ECC"):
        memory.check()
