"""Each site of a program's run, one after another, meets a fault: no hang, no leak, no surprise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hostdriver import levelzero as ze
from hostdriver.core.results import ZeError
from hostdriver.testing.pair import DeviceSpec, pair
from tests.harness.injection import faults_of
from tests.harness.levelzero import map_page

if TYPE_CHECKING:
    from hostdriver.testing.pair import Pair

SPEC = DeviceSpec(vram_size=64 << 20)
SIZE = 1 << 16
LARGE = 6 << 20
MOST_SITES = 60

HONEST = {
    "memory.allocate fail": {"OUT_OF_DEVICE_MEMORY"},
    "memory.access uncorrectable": {"DEVICE_LOST"},
    "memory.access correctable": set[str](),
    "memory.access retire": set[str](),
    "dma.transfer partial=3": {"DEVICE_LOST"},
    "dma.transfer lose=1": set[str](),
    "dma.transfer wrong_page": {"DEVICE_LOST"},
    "dma.transfer delay=0.001": set[str](),
    "mmu.entry flip": {"DEVICE_LOST", "INVALID_ARGUMENT"},
    "mmu.walk fail_walk=1": {"DEVICE_LOST"},
    "mmu.invalidate keep_stale": set[str](),
    "os.device.memory_file errno=EMFILE": {"OUT_OF_HOST_MEMORY"},
    "os.device.send errno=EMSGSIZE": {"OUT_OF_HOST_MEMORY"},
    "os.device.send drop": {"OUT_OF_HOST_MEMORY"},
    "os.device.send close": {"OUT_OF_HOST_MEMORY", "DEVICE_LOST"},
}
"""What a program may be told of each rule, where it is told anything."""


def use(p: Pair, context: ze.Context, peer: ze.Driver) -> None:
    """Allocate, copy, share with another program, and free."""
    device = p.driver.devices[0]
    pointer, large = context.mem_alloc_device(device, SIZE), context.mem_alloc_device(device, LARGE)
    host, shared = context.mem_alloc_host(SIZE), context.mem_alloc_shared(SIZE, device=device)
    map_page(context, device)
    context.memory_fill(pointer, b"x", SIZE)
    context.memory_copy(host, pointer, SIZE)
    context.memory_fill(large, b"z", LARGE)
    handle = context.mem_get_ipc_handle(pointer)
    importer = peer.create_context()
    opened = importer.mem_open_ipc_handle(peer.devices[0], handle)
    importer.memory_read(opened, 16)
    context.event_pool_create(ze.EventPoolDesc(2, ze.EventPoolFlags.IPC))
    commands = context.command_list_create_immediate(device)
    commands.append_memory_copy(shared, pointer, 4096)
    commands.host_synchronize()
    importer.mem_close_ipc_handle(opened)
    context.mem_put_ipc_handle(handle)
    for allocated in (pointer, host, shared, large):
        context.mem_free(allocated)


def works(p: Pair) -> bool:
    """Whether a program that comes now finds a device that does what it says."""
    later = p.connect("later")
    with later.create_context() as context:
        pointer = context.mem_alloc_device(later.devices[0], SIZE)
        context.memory_fill(pointer, b"q", 64)
        found = context.memory_read(pointer, 64)
        context.mem_free(pointer)
    later.close()
    return found == b"q" * 64


def run_with(rule: str, nth: int) -> tuple[str, bool]:
    """Return the error of a run in which the rule fires at its nth site, and whether it fired."""
    error = ""
    with pair(SPEC) as p:
        peer, context = p.connect("peer"), p.driver.create_context()
        faults = faults_of(p, seed=nth)
        faults.add(f"{rule} nth={nth}")
        try:
            use(p, context, peer)
        except ZeError as caught:
            error = caught.result.name.removeprefix("ZE_RESULT_ERROR_")
        fired = bool(faults.hits)
        faults.clear()
        if not rule.startswith("mmu.entry"):
            p.check()
        assert works(p)
    # The end of the pair has looked whether all that the programs had came back.
    return error, fired


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(HONEST))
def test_a_fault_at_any_site_is_told_and_leaves_nothing_behind(rule: str) -> None:
    told: set[str] = set()
    for nth in range(1, MOST_SITES):
        error, fired = run_with(rule, nth)
        if not fired:
            assert (nth > 1, error) == (True, ""), "there was a site, and none fails by itself"
            break
        told.add(error)
    else:
        pytest.fail(f"there are more than {MOST_SITES} sites")
    assert told - {""} <= HONEST[rule]
    assert bool(HONEST[rule]) == bool(told - {""})
