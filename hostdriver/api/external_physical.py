"""Physical memory made of a descriptor that another process, or this one, exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api.external_memory import close_given, data_behind, take_given
from hostdriver.core.allocations import PeerObject
from hostdriver.core.failures import unsupported_size
from hostdriver.core.peers import make_known, make_unknown, register_file
from hostdriver.core.physical import PhysicalKind, PhysicalObject
from hostdriver.core.questions import CloseDescriptor
from hostdriver.core.results import Refusal, failed

if TYPE_CHECKING:
    from hostdriver.api.external_structures import ExternalMemoryImportFd
    from hostdriver.core.state import DeviceState, DriverState


async def import_physical(
    state: DriverState,
    device: DeviceState,
    given: ExternalMemoryImportFd,
    kind: PhysicalKind,
    size: int,
) -> PhysicalObject:
    """Make a physical object of the memory behind a descriptor.

    The application may close the descriptor then; with profile `intel` the driver does.

    Args:
        state: the process.
        device: who is to reach the memory.
        given: which descriptor.
        kind: host memory can be seen by the CPU where it is mapped.
        size: bytes, whole pages, no more than were exported.

    Raises:
        ZeError: nothing that this driver exported stands behind the descriptor, or less than is
            asked for; descriptors ran out. Nothing is made then, and the descriptor is the
            caller's.
    """
    named = await data_behind(state, given.fd)
    if size > named.size:
        raise unsupported_size(
            f"desc.size is {size:#x}, the memory behind descriptor {given.fd} has {named.size:#x}"
            " bytes"
        )
    own = await take_given(given.fd)
    try:
        object_id, peers = await _make_known(state, device, own, kind, size)
    except Exception as error:
        await CloseDescriptor(own)
        if isinstance(error, Refusal):
            raise failed(error, f"physical memory of descriptor {given.fd}") from error
        raise
    physical = PhysicalObject(
        id=state.next_id(),
        device=device.index,
        kind=kind,
        object_id=object_id,
        size=size,
        descriptor=own,
        peers=peers,
        is_exported=True,
        is_given=True,
    )
    state.physical[physical.id] = physical
    await close_given(state, given.fd)
    return physical


async def _make_known(
    state: DriverState, device: DeviceState, descriptor: int, kind: PhysicalKind, size: int
) -> tuple[int, tuple[PeerObject, ...]]:
    """Make a memory file known to a device, host memory to the others too; to all or none."""
    object_id = await register_file(device.index, descriptor, size)
    if kind is PhysicalKind.DEVICE:
        return object_id, ()
    try:
        return object_id, await make_known(state, device.index, descriptor, size)
    except Exception:
        await make_unknown([PeerObject(device.index, object_id)])
        raise
