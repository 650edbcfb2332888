"""Making an allocation, and taking it away: addresses, memory and mappings, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from firmware.abi.control import Map, ObjectCreate, ObjectDestroy, ObjectFlags, ObjectKind, Unmap
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, Rights
from firmware.abi.replies import Done, Mapped, ObjectCreated
from hostdriver.core.addresses import Place, give_addresses, take_addresses
from hostdriver.core.allocations import Allocation, AllocationKind
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.physical import MEDIUM_PAGE, page_size_for
from hostdriver.core.questions import CloseDescriptor, MapDescriptor, ProtectNone
from hostdriver.core.results import Refusal, failed
from hostdriver.core.system_memory import take_out
from hostdriver.core.undo import Undo
from hostdriver.core.vaspace import align_up

if TYPE_CHECKING:
    from hostdriver.core.questions import Answer
    from hostdriver.core.state import DeviceState, DriverState


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An allocation that is to be made; its values were checked."""

    kind: AllocationKind
    device: int
    """Device that makes it."""
    size: int
    alignment: int = 1
    """Of the pointer, a power of two."""
    is_read_only: bool = False
    """Whether devices may only read it; host memory only."""

    @property
    def granule(self) -> int:
        """What it takes a multiple of."""
        return MEDIUM_PAGE if self.kind is AllocationKind.DEVICE else PAGE_SIZE

    @property
    def page_size(self) -> int:
        """Page size that is preferred for it."""
        return page_size_for(self.size) if self.kind is AllocationKind.DEVICE else PAGE_SIZE

    @property
    def reserved(self) -> int:
        """Bytes that it takes."""
        return align_up(self.size, self.granule)


async def make(state: DriverState, plan: Plan) -> Allocation:
    """Make an allocation: at one address for the device, and for the CPU where that may see it.

    Raises:
        ZeError: no address space, memory, descriptor or mapping is left, or the device is lost.
            Nothing is left behind then.
    """
    # Large memory gets an address at which large pages can map it.
    place = await take_addresses(
        state, plan.reserved, max(plan.alignment, page_size_for(plan.reserved))
    )
    if place is None:
        raise out_of_host_memory(f"no address space is left for {plan.size:#x} bytes")
    undo = Undo()
    undo.add(lambda: give_addresses(state, place))
    try:
        allocation = await _make_at(state, plan, place, undo)
    except Exception as error:
        await undo.run()
        if isinstance(error, Refusal):
            doing = f"{plan.kind.value} memory of {plan.size:#x} bytes"
            raise failed(error, doing) from error
        raise
    state.allocations.insert(allocation.start, allocation.end, allocation)
    return allocation


async def unmake(state: DriverState, allocation: Allocation) -> None:
    """Take an allocation away: no pointer into it is one of the driver's any more.

    Raises:
        Refusal: its device refused; it is still there.
        ZeError: its device is lost; it is still there.
    """
    if allocation.kind is AllocationKind.IMPORTED:
        await take_out(state, allocation)
        return
    device = state.devices[allocation.device]
    allocation.leaving = True
    try:
        await _unmap(device, allocation.start, allocation.reserved)
    except BaseException:
        allocation.leaving = False
        raise
    await _destroy(device, allocation.object_id)
    if allocation.is_host_visible:
        await ProtectNone(allocation.start, allocation.reserved)
    if allocation.descriptor is not None:
        descriptor, allocation.descriptor = allocation.descriptor, None
        await CloseDescriptor(descriptor)
    state.allocations.remove(allocation.start)
    place = Place(allocation.start, allocation.reserved, allocation.in_arena)
    await give_addresses(state, place)


async def _make_at(state: DriverState, plan: Plan, place: Place, undo: Undo) -> Allocation:
    """Make the memory and map it; `undo` knows after every step how to take it back."""
    device = state.devices[plan.device]
    answer = await exchange(device.index, _creation(plan))
    created = expect(answer.reply, ObjectCreated)
    undo.add(lambda: _destroy(device, created.object_id))
    try:
        await _map(device, plan, place.va, created.object_id)
        undo.add(lambda: _unmap(device, place.va, place.size))
        if plan.kind is not AllocationKind.DEVICE:
            await _map_for_cpu(answer, place)
    finally:
        # The mapping keeps the file.
        for descriptor in answer.descriptors:
            await CloseDescriptor(descriptor)
    return Allocation(
        id=state.next_id(),
        kind=plan.kind,
        start=place.va,
        size=plan.size,
        reserved=place.size,
        device=device.index,
        object_id=created.object_id,
        page_size=min(plan.page_size, created.page_size),
        in_arena=place.in_arena,
    )


def _creation(plan: Plan) -> ObjectCreate:
    is_on_device = plan.kind is AllocationKind.DEVICE
    return ObjectCreate(
        request=0,
        kind=ObjectKind.VRAM if is_on_device else ObjectKind.SYSTEM,
        flags=ObjectFlags.READ_ONLY if plan.is_read_only else ObjectFlags.NONE,
        size_bytes=plan.reserved,
        page_size=plan.page_size,
    )


async def _map(device: DeviceState, plan: Plan, va: int, object_id: int) -> None:
    command = Map(
        request=0,
        vmid=device.vmid,
        rights=Rights.READ if plan.is_read_only else ALL_RIGHTS,
        va=va,
        size_bytes=plan.reserved,
        object_id=object_id,
        object_offset=0,
    )
    await call(device.index, command, Mapped)


async def _map_for_cpu(answer: Answer, place: Place) -> None:
    if not answer.descriptors:
        raise out_of_host_memory(f"the memory's descriptor is missing: {answer.problem}")
    problem = await MapDescriptor(answer.descriptors[0], 0, place.va, place.size)
    if problem is not None:
        raise out_of_host_memory(f"the CPU's mapping at {place.va:#x} failed: {problem}")


async def _unmap(device: DeviceState, va: int, size: int) -> None:
    await call(device.index, Unmap(request=0, vmid=device.vmid, va=va, size_bytes=size), Mapped)


async def _destroy(device: DeviceState, object_id: int) -> None:
    await call(device.index, ObjectDestroy(request=0, object_id=object_id), Done)
