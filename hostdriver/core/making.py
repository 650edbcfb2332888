"""Making an allocation: addresses, memory and mappings, all or nothing."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, final

import msgspec

from firmware.abi.control import (
    Allocate,
    Map,
    ObjectFlags,
    ObjectKind,
    Release,
    ReleaseMode,
    SegmentUnregister,
)
from firmware.abi.ids import ALL_RIGHTS, PAGE_SIZE, Rights
from firmware.abi.replies import Allocated, Done, Mapped, Released
from hostdriver.core.addresses import Place, give_addresses, take_addresses
from hostdriver.core.allocations import Allocation, AllocationKind, PeerObject
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.failures import out_of_host_memory
from hostdriver.core.peers import register_file
from hostdriver.core.physical import MEDIUM_PAGE, page_size_for
from hostdriver.core.questions import CloseDescriptor, MapDescriptor
from hostdriver.core.releasing import give_deferred_addresses
from hostdriver.core.results import Refusal, ZeError, failed
from hostdriver.core.undo import Undo
from hostdriver.core.vaspace import align_up

if TYPE_CHECKING:
    from hostdriver.core.questions import Answer
    from hostdriver.core.state import DeviceState, DriverState


@final
class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """An allocation that is to be made; its values were checked."""

    kind: AllocationKind
    device: int
    """Device that makes it."""
    size: int
    alignment: int = 1
    """Of the pointer, a power of two."""
    is_read_only: bool = False
    """Whether devices may only read it; host memory only."""
    owner: int | None = None
    """Device that the application named for it."""
    is_exported: bool = False
    """Whether a descriptor of it can be passed on; not for shared memory."""
    file: int | None = None
    """Descriptor of the memory file that it is made of; None makes new memory."""

    @property
    def granule(self) -> int:
        """What it takes a multiple of."""
        return MEDIUM_PAGE if self._is_new_on_device else PAGE_SIZE

    @property
    def page_size(self) -> int:
        """Page size that is preferred for it."""
        return page_size_for(self.size) if self._is_new_on_device else PAGE_SIZE

    @property
    def _is_new_on_device(self) -> bool:
        return self.kind is AllocationKind.DEVICE and self.file is None

    @property
    def reserved(self) -> int:
        """Bytes that it takes."""
        return align_up(self.size, self.granule)

    @property
    def flags(self) -> ObjectFlags:
        """How its object is made."""
        if self.is_exported and self.kind is AllocationKind.DEVICE:
            return ObjectFlags.DATA_DESCRIPTOR
        return ObjectFlags.READ_ONLY if self.is_read_only else ObjectFlags.NONE

    @property
    def rights(self) -> Rights:
        """What devices may do with it."""
        return Rights.READ if self.is_read_only else ALL_RIGHTS


async def make(state: DriverState, plan: Plan) -> Allocation:
    """Make an allocation, at one address for all who may see it.

    Memory of a device is mapped on that device; host and shared memory on every device, and for
    the CPU.

    Raises:
        ZeError: no address space, memory, descriptor or mapping is left, or the device is lost.
            Nothing is left behind then.
    """
    await give_deferred_addresses(state)
    # Large memory gets an address at which large pages can map it.
    reserved = plan.reserved
    place = await take_addresses(state, reserved, max(plan.alignment, page_size_for(reserved)))
    if place is None:
        raise out_of_host_memory(f"no address space is left for {plan.size:#x} bytes")
    undo = Undo()
    undo.add(partial(give_addresses, state, place))
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


async def _make_at(state: DriverState, plan: Plan, place: Place, undo: Undo) -> Allocation:
    """Make the memory and map it; `undo` knows after every step how to take it back."""
    if plan.file is not None:
        return await _make_of_file(state, plan, place, plan.file, undo)
    device = state.devices[plan.device]
    answer = await exchange(device.index, _creation(device, plan, place))
    created = expect(answer.reply, Allocated)
    device.released = created.released
    undo.add(partial(_release, device, place, created.object_id))
    peers: tuple[PeerObject, ...] = ()
    kept: int | None = None
    if plan.kind is not AllocationKind.DEVICE or plan.is_exported:
        try:
            descriptor = _descriptor_of(answer)
            if plan.kind is not AllocationKind.DEVICE:
                peers = await _map_on_others(state, plan, place, descriptor, undo)
                # Nothing can fail behind this, so that it needs no undoing.
                await _map_for_cpu(descriptor, place)
            kept = descriptor if plan.is_exported else None
        finally:
            # The mappings keep the file.
            for number in answer.descriptors:
                if number != kept:
                    await CloseDescriptor(number)
    page_size = min(plan.page_size, created.page_size)
    return _allocation(state, plan, place, created.object_id, page_size, peers, kept)


async def _make_of_file(
    state: DriverState, plan: Plan, place: Place, file: int, undo: Undo
) -> Allocation:
    """Map the memory behind a descriptor that the application was given; the mappings keep it."""
    device = state.devices[plan.device]
    object_id = await _bring_in(device, plan, place.va, file)
    undo.add(partial(_release, device, place, object_id))
    peers: tuple[PeerObject, ...] = ()
    if plan.kind is not AllocationKind.DEVICE:
        peers = await _map_on_others(state, plan, place, file, undo)
        await _map_for_cpu(file, place)
    return _allocation(state, plan, place, object_id, plan.page_size, peers, None)


def _allocation(
    state: DriverState,
    plan: Plan,
    place: Place,
    object_id: int,
    page_size: int,
    peers: tuple[PeerObject, ...],
    descriptor: int | None,
) -> Allocation:
    return Allocation(
        id=state.next_id(),
        kind=plan.kind,
        start=place.va,
        size=plan.size,
        reserved=place.size,
        device=plan.device,
        object_id=object_id,
        page_size=page_size,
        in_arena=place.in_arena,
        owner=plan.owner,
        is_read_only=plan.is_read_only,
        descriptor=descriptor,
        peers=peers,
    )


def _creation(device: DeviceState, plan: Plan, place: Place) -> Allocate:
    is_on_device = plan.kind is AllocationKind.DEVICE
    return Allocate(
        request=0,
        vmid=device.vmid,
        kind=ObjectKind.VRAM if is_on_device else ObjectKind.SYSTEM,
        flags=plan.flags,
        rights=plan.rights,
        va=place.va,
        size_bytes=place.size,
        page_size=plan.page_size,
    )


def _descriptor_of(answer: Answer) -> int:
    if not answer.descriptors:
        raise out_of_host_memory(f"the memory's descriptor is missing: {answer.problem}")
    return answer.descriptors[0]


async def _map_on_others(
    state: DriverState, plan: Plan, place: Place, descriptor: int, undo: Undo
) -> tuple[PeerObject, ...]:
    """Make the file behind host memory known to the other devices, and map it there."""
    peers: list[PeerObject] = []
    for device in state.devices:
        if device.index != plan.device:
            number = await _bring_in(device, plan, place.va, descriptor)
            peers.append(PeerObject(device.index, number))
            undo.add(partial(_release, device, place, number))
    return tuple(peers)


async def _bring_in(device: DeviceState, plan: Plan, va: int, descriptor: int) -> int:
    """Make a file known to a device and map it; both or none. Return the object's number."""
    number = await register_file(device.index, descriptor, plan.reserved, plan.flags)
    command = Map(
        request=0,
        vmid=device.vmid,
        rights=plan.rights,
        va=va,
        size_bytes=plan.reserved,
        object_id=number,
        object_offset=0,
    )
    try:
        await call(device.index, command, Mapped)
    except Exception:
        with suppress(Refusal, ZeError):
            await call(device.index, SegmentUnregister(request=0, object_id=number), Done)
        raise
    return number


async def _map_for_cpu(descriptor: int, place: Place) -> None:
    problem = await MapDescriptor(descriptor, 0, place.va, place.size)
    if problem is not None:
        raise out_of_host_memory(f"the CPU's mapping at {place.va:#x} failed: {problem}")


async def _release(device: DeviceState, place: Place, object_id: int) -> None:
    """Take memory back that nobody has used yet."""
    command = Release(
        request=0,
        vmid=device.vmid,
        mode=ReleaseMode.BEHIND_WORK,
        va=place.va,
        size_bytes=place.size,
        object_id=object_id,
    )
    await call(device.index, command, Released)
