"""`check()` finds what contradicts what: each test breaks one thing behind the device's back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from device.core.errors import InternalError, InvariantError
from device.core.ringpool import RingPool
from firmware.abi.control import ObjectKind
from firmware.abi.ids import PAGE_SIZE
from tests.harness.devicepair import DevicePair
from tests.harness.furniture import VA, furnish

if TYPE_CHECKING:
    from collections.abc import Callable

    from device.core.clients import Client


class Scene:
    """A device with one client that has one of everything."""

    def __init__(self) -> None:
        self.pair = DevicePair()
        self.raw = self.pair.attach()
        furnish(self.raw)
        self.client: Client = self.pair.device._state.clients[self.raw.client_id]
        self.pair.device.check()

    @property
    def space(self) -> object:
        return next(iter(self.client.spaces.values()))


def spoil_entry(scene: Scene) -> None:
    space = next(iter(scene.client.spaces.values()))
    words = memoryview(scene.pair.vram).cast("Q")
    entry = space.space.translate_page(VA, 0)
    at = words.tolist().index(entry)
    words[at] = entry + PAGE_SIZE


def lose_frame(scene: Scene) -> None:
    scene.pair.device.memory.frames.allocate(1)


def lose_table(scene: Scene) -> None:
    scene.pair.device.memory.allocate_table()


def forget_mapping(scene: Scene) -> None:
    space = next(iter(scene.client.spaces.values()))
    space.mappings.remove(VA, PAGE_SIZE)


def miscount_mappings(scene: Scene) -> None:
    next(iter(scene.client.objects.values())).mapping_count += 1


def miscount_below_zero(scene: Scene) -> None:
    next(iter(scene.client.objects.values())).mapping_count = -1


def miscount_exports(scene: Scene) -> None:
    memory = next(iter(scene.client.objects.values()))
    memory.export_count += 1
    memory.holders += 1


def miscount_holders(scene: Scene) -> None:
    next(iter(scene.client.objects.values())).holders = 0


def miscount_opens(scene: Scene) -> None:
    next(iter(scene.client.exports.values())).holders -= 1


def forget_to_revoke(scene: Scene) -> None:
    next(iter(scene.client.exports.values())).live = False


def lose_pieces(scene: Scene) -> None:
    export = next(iter(scene.client.exports.values()))
    export.pieces.size[0] -= PAGE_SIZE


def lose_window(scene: Scene) -> None:
    (memory,) = (m for m in scene.client.objects.values() if m.kind is ObjectKind.SYSTEM)
    scene.pair.device.memory.bus.unregister(memory.bus_address)


def keep_window(scene: Scene) -> None:
    (memory,) = (m for m in scene.client.objects.values() if m.kind is ObjectKind.SYSTEM)
    window, _ = scene.pair.device.memory.bus.find(memory.bus_address, 1)
    scene.pair.device.memory.bus.register(window, 0)


def lose_ring_area(scene: Scene) -> None:
    (queue,) = scene.client.queues.values()
    scene.client.pool.give_back(queue.header)


def lose_doorbell(scene: Scene) -> None:
    (queue,) = scene.client.queues.values()
    scene.client.doorbells.leave(queue)


def miscount_queues(scene: Scene) -> None:
    next(iter(scene.client.spaces.values())).queue_count += 1


def keep_memory_of_a_lost_session(scene: Scene) -> None:
    client = scene.client
    kept = dict(client.objects)
    scene.pair.device.reset(scene.pair.now)
    client.objects |= kept


def miscount_exported_parts(scene: Scene) -> None:
    scene.client.exported_parts += 1


BREAKS: list[tuple[Callable[[Scene], None], str]] = [
    (spoil_entry, "entry 0x"),
    (lose_frame, "VRAM of 0x400000 bytes"),
    (lose_table, "tables"),
    (forget_mapping, "its mappings"),
    (miscount_mappings, "counts 2 mappings"),
    (miscount_below_zero, "-1 mappings"),
    (miscount_exports, "counts 2 exports"),
    (miscount_holders, "0 holders"),
    (miscount_opens, "counts 0 imports"),
    (forget_to_revoke, "live False"),
    (lose_pieces, "do not add up"),
    (lose_window, "has no bus window"),
    (keep_window, "bus counts another number"),
    (lose_ring_area, "ring areas and rings differ"),
    (lose_doorbell, "doorbells of queues"),
    (miscount_queues, "1 queues run in it"),
    (keep_memory_of_a_lost_session, "lost its session"),
    (miscount_exported_parts, "exported parts, there are"),
]


@pytest.mark.parametrize(("spoil", "text"), BREAKS, ids=[item[0].__name__ for item in BREAKS])
def test_a_contradiction_is_found_and_named(spoil: Callable[[Scene], None], text: str) -> None:
    scene = Scene()

    spoil(scene)

    with pytest.raises(InvariantError, match=text):
        scene.pair.device.check()


def test_areas_of_a_ring_pool_are_disjoint() -> None:
    pool = RingPool(0x1000, 0x1000)
    first, second = pool.take(0x101), pool.take(0x40)
    pool.check([first, second])

    assert (first, second) == (0x1000, 0x1140)
    pool._areas[first] = 0x1200
    with pytest.raises(InvariantError, match="0x1140 begins before 0x1200"):
        pool.check([first, second])


def test_an_area_that_was_not_taken_cannot_be_given_back() -> None:
    with pytest.raises(InternalError, match="begins at 0x1000"):
        RingPool(0x1000, 0x1000).give_back(0x1000)


def test_a_ring_pool_reuses_the_first_gap_that_is_large_enough() -> None:
    pool = RingPool(0, 0x400)
    areas = [pool.take(0x100) for _ in range(4)]

    pool.give_back(areas[1])
    pool.give_back(areas[3])

    assert pool.take(0x100) == areas[1]
    assert pool.take(0x80) == areas[3]
