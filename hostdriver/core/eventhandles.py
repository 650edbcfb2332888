"""IPC of events: handles of event pools and of counting events, on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.ipc import ExportKind, Ticket
from firmware.abi.status import Status
from hostdriver.core.exports import OwnExport
from hostdriver.core.failures import (
    invalid_argument,
    invalid_synchronization_object,
    out_of_host_memory,
)
from hostdriver.core.ipc import (
    HANDLE_SIZE,
    ByDescriptor,
    Named,
    Nonsense,
    build_handle,
    build_ticket,
    settle,
    understand,
)
from hostdriver.core.questions import DropTicket, MakeTicket, Pause, ReadTicket
from hostdriver.core.results import Refusal, failed
from hostdriver.core.slots import add_device, drop_pool, export_pool, open_pool, revoke_token
from hostdriver.core.undo import Undo

if TYPE_CHECKING:
    from hostdriver.core.eventpools import EventPool
    from hostdriver.core.slots import SlotPool
    from hostdriver.core.state import DriverState


async def export(
    state: DriverState, pool: SlotPool, kind: ExportKind, offset: int, size: int
) -> OwnExport:
    """Make a handle of a pool of slots; `offset` and `size` are what it tells besides.

    Raises:
        ZeError: no descriptor left for it; the device is lost. There is no handle then.
    """
    try:
        token = await export_pool(pool)
    except Refusal as refusal:
        raise failed(refusal, "the handle cannot be made") from refusal
    named = Named(
        token=token,
        kind=kind,
        device=pool.home,
        emulator_id=state.emulator_id,
        offset=offset,
        size=size,
    )
    ticket = await MakeTicket(build_ticket(named))
    if isinstance(ticket, str):
        await revoke_token(pool.home, token)
        raise out_of_host_memory(f"the handle's descriptor cannot be made: {ticket}")
    handle = build_handle(named, ticket.descriptor, state.facts.pid)
    made = OwnExport(named, handle, ticket, None)
    state.exports.add(made)
    return made


async def revoke(state: DriverState, exported: OwnExport) -> None:
    """End a handle: it opens no more; what is open lives on.

    Raises:
        ZeError: the device is lost; the handle is gone all the same.
    """
    state.exports.discard(exported)
    await DropTicket(exported.ticket)
    try:
        await revoke_token(exported.named.device, exported.named.token)
    except Refusal as refusal:
        # Gone already at the device: the end that is wanted.
        if refusal.status is not Status.BAD_TOKEN:
            raise failed(refusal, "the handle cannot be put") from refusal


async def get_pool_handle(state: DriverState, pool: EventPool) -> bytes:
    """Return the one handle of an event pool; calls are counted until the last put.

    Raises:
        ZeError: it was made without the IPC flag, or opened (INVALID_SYNCHRONIZATION_OBJECT); see
            `export`; another thread ended the pool.
    """
    pool.check(state)
    shared = pool.shared
    if shared is None or pool.is_opened:
        raise invalid_synchronization_object(f"{pool.name} was made without the IPC flag")
    while pool.is_busy:
        # Another thread is about to make the one handle, or to end the pool.
        await Pause()
        pool.check(state)
    if pool.export is None:
        pool.is_busy = True
        try:
            traits = pool.traits
            pool.export = await export(
                state, shared, ExportKind.EVENT_POOL, traits.flags, traits.count
            )
        finally:
            pool.is_busy = False
    else:
        pool.export.uses += 1
    return pool.export.handle


async def put_pool_handle(state: DriverState, handle: bytes) -> None:
    """Give a handle of an event pool back; one that this process did not get is no error.

    Raises:
        ZeError: the bytes are no handle; the device is lost.
    """
    check_bytes(handle)
    exported = state.exports.of_handle(handle)
    if exported is None or exported.named.kind is not ExportKind.EVENT_POOL:
        return
    exported.uses -= 1
    if exported.uses:
        return
    for pool in state.event_pools.values():
        if pool.export is exported:
            pool.export = None
    await revoke(state, exported)


async def open_handle(
    state: DriverState, handle: bytes, kind: ExportKind
) -> tuple[SlotPool, Named]:
    """Open what a handle names on every device of this process.

    Raises:
        ZeError: bytes that name no live export of this kind; no memory for it.
    """
    check_bytes(handle)
    named = await _named_by(state, handle)
    what = kind.name.replace("_", " ").lower()
    if named.kind is not kind:
        raise invalid_argument(f"the handle names a {named.kind.name.lower()}, expected a {what}")
    if named.device >= len(state.devices):
        raise invalid_argument(f"the handle names device {named.device}, which is not here")
    try:
        pool = await open_pool(named.device, named.token)
    except Refusal as refusal:
        if refusal.status is Status.BAD_TOKEN:
            raise invalid_argument(
                f"the {what} of the handle was destroyed, its handle was put, or its process ended"
            ) from refusal
        raise failed(refusal, f"the {what} cannot be opened") from refusal
    undo = Undo()
    undo.add(lambda: drop_pool(pool))
    try:
        for device in range(len(state.devices)):
            if device != named.device:
                await add_device(pool, device, named.token, f"the {what}")
    except BaseException:
        await undo.run()
        raise
    return pool, named


def check_bytes(handle: bytes) -> None:
    """Do nothing for 64 bytes.

    Raises:
        ZeError: there are more or fewer.
    """
    if len(handle) != HANDLE_SIZE:
        raise invalid_argument(f"the handle has {len(handle)} bytes, expected {HANDLE_SIZE}")


async def _named_by(state: DriverState, handle: bytes) -> Named:
    """Return the export that a handle names, going by its descriptor where that decides."""
    meaning = understand(handle, state.emulator_id)
    if isinstance(meaning, ByDescriptor):
        ticket = await ReadTicket(meaning.descriptor, Ticket.SIZE)
        meaning = settle(
            meaning,
            None if ticket is None else ticket.content,
            state.emulator_id,
            is_own=ticket is not None and state.exports.owns(ticket.identity),
        )
    if isinstance(meaning, Nonsense):
        where = f" (emulator at {state.facts.socket})" if state.facts.socket else ""
        raise invalid_argument(meaning.reason + where)
    return meaning
