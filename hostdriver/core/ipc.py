"""IPC handles of memory: how 64 bytes are made, and what they mean to whoever opens them.

Programs hand a handle on in three ways: its 64 bytes; the descriptor alone (the other bytes are
original, zero or left over from another handle); a descriptor that they pulled out of the exporter
and wrote into bytes 0 to 3. `understand` says whether bytes or descriptor decide, `settle` goes by
the descriptor's content where it does. No corrupted handle ever opens another object.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import msgspec

from firmware.abi.ipc import IPC_MAGIC, IPC_VERSION, ExportKind, IpcHandle, Ticket, check_word

HANDLE_SIZE: Final = IpcHandle.SIZE
MEMORY_KINDS: Final = (ExportKind.ALLOCATION, ExportKind.RANGE)
"""What a handle of memory names."""
OURS_FROM: Final = 7
"""Constant bytes that have to be right before the bytes of a handle count as ours at all."""


@final
class Named(msgspec.Struct, frozen=True):
    """The export that a handle names."""

    token: bytes
    kind: ExportKind
    device: int
    emulator_id: int
    offset: int
    size: int


@final
class ByDescriptor(msgspec.Struct, frozen=True):
    """The descriptor in bytes 0 to 3 decides, if it is a ticket that came from elsewhere."""

    descriptor: int
    otherwise: Named | None
    """What the handle's bytes name, should the descriptor turn out to be nothing of ours."""


@final
class Nonsense(msgspec.Struct, frozen=True):
    """The handle opens nothing."""

    reason: str


Meaning: TypeAlias = Named | ByDescriptor | Nonsense


def build_handle(named: Named, descriptor: int, pid: int) -> bytes:
    """Return the 64 bytes that name an export.

    Args:
        named: what is exported.
        descriptor: number of its ticket in this process.
        pid: number of this process, for messages only.
    """
    handle = IpcHandle(
        descriptor=descriptor,
        magic=IPC_MAGIC,
        emulator_id=named.emulator_id,
        version=IPC_VERSION,
        kind=named.kind,
        device_index=named.device,
        descriptor_copy=descriptor,
        token=named.token,
        offset=named.offset,
        size_bytes=named.size,
        pid=pid,
        check=0,
    ).pack()
    return handle[:-4] + check_word(handle).to_bytes(4, "little")


def build_ticket(named: Named) -> bytes:
    """Return what the descriptor of an export holds."""
    return Ticket(
        magic=IPC_MAGIC,
        version=IPC_VERSION,
        kind=named.kind,
        device_index=named.device,
        emulator_id=named.emulator_id,
        token=named.token,
        offset=named.offset,
        size_bytes=named.size,
    ).pack()


def understand(handle: bytes, emulator_id: int) -> Meaning:
    """Decide what 64 bytes mean to a client of the emulator `emulator_id`.

    The order is fixed: bytes that are not ours, a wrong check word, an unchanged descriptor, a
    changed one. Bytes of another emulator are recognised by their check word and refused, unless a
    descriptor was put in, which then says more than what was left around it.
    """
    descriptor = int.from_bytes(handle[:4], "little", signed=True)
    record = IpcHandle.unpack(handle)
    intact = is_intact(handle) and handle[_CONSTANTS[0]] == IPC_MAGIC.to_bytes(4, "little")
    if not intact and not is_ours(handle, emulator_id):
        return ByDescriptor(descriptor, None)
    if not intact:
        return Nonsense("the check word of the handle does not fit its bytes, they were changed")
    if not isinstance(record, IpcHandle):
        return Nonsense(f"the handle is malformed: {record}")
    named = _named_by(record)
    changed = descriptor != record.descriptor_copy
    if record.emulator_id != emulator_id:
        return ByDescriptor(descriptor, None) if changed else _foreign(named, emulator_id)
    if record.version != IPC_VERSION:
        return Nonsense(f"the handle has version {record.version}, expected {IPC_VERSION}")
    return ByDescriptor(descriptor, named) if changed else named


def settle(
    meaning: ByDescriptor, content: bytes | None, emulator_id: int, *, is_own: bool
) -> Named | Nonsense:
    """Decide by what stands behind a handle's descriptor.

    Args:
        meaning: what `understand` said.
        content: first bytes of the file, or None when the number is not open.
        emulator_id: the emulator of this client.
        is_own: this process made the ticket for an export of its own.
    """
    ticket = None if content is None else Ticket.unpack(content)
    if not isinstance(ticket, Ticket) or (ticket.magic, ticket.version) != _TICKET_MARKS:
        number = meaning.descriptor
        text = f"neither the handle's bytes nor descriptor {number} name an export of this emulator"
        return meaning.otherwise or Nonsense(text)
    named = _named_by(ticket)
    if meaning.otherwise is not None and (is_own or ticket.emulator_id != emulator_id):
        return meaning.otherwise
    return named if ticket.emulator_id == emulator_id else _foreign(named, emulator_id)


def named_by_ticket(content: bytes, emulator_id: int) -> Named | Nonsense | None:
    """Return what a ticket names; None when the content is no ticket at all."""
    ticket = Ticket.unpack(content)
    if not isinstance(ticket, Ticket) or (ticket.magic, ticket.version) != _TICKET_MARKS:
        return None
    named = _named_by(ticket)
    return named if ticket.emulator_id == emulator_id else _foreign(named, emulator_id)


def token_of(handle: bytes) -> bytes:
    """Return the token that stands in a handle, whatever it is worth."""
    return handle[_TOKEN]


def is_ours(handle: bytes, emulator_id: int) -> bool:
    """Return whether enough constant bytes are right for a handle of this emulator."""
    return _constant_bytes_that_match(handle, emulator_id) >= OURS_FROM


def is_intact(handle: bytes) -> bool:
    """Return whether the check word fits the handle's bytes."""
    return int.from_bytes(handle[60:64], "little") == check_word(handle)


_TICKET_MARKS: Final = (IPC_MAGIC, IPC_VERSION)
_FIELDS: Final = {field.name: field for field in IpcHandle.FIELDS}
_TOKEN: Final = slice(_FIELDS["token"].offset, _FIELDS["token"].end)
_CONSTANTS: Final = tuple(
    slice(_FIELDS[name].offset, _FIELDS[name].end) for name in ("magic", "emulator_id", "version")
)


def _named_by(record: IpcHandle | Ticket) -> Named:
    return Named(
        token=record.token,
        kind=record.kind,
        device=record.device_index,
        emulator_id=record.emulator_id,
        offset=record.offset,
        size=record.size_bytes,
    )


def _constant_bytes_that_match(handle: bytes, emulator_id: int) -> int:
    """Return how many of the 14 bytes that all handles of an emulator share are right."""
    wanted = (
        IPC_MAGIC.to_bytes(4, "little"),
        emulator_id.to_bytes(8, "little"),
        IPC_VERSION.to_bytes(2, "little"),
    )
    return sum(
        found == expected
        for place, part in zip(_CONSTANTS, wanted, strict=True)
        for found, expected in zip(handle[place], part, strict=True)
    )


def _foreign(named: Named, emulator_id: int) -> Nonsense:
    return Nonsense(
        f"the handle belongs to emulator {named.emulator_id:#018x}, this process uses"
        f" {emulator_id:#018x}"
    )
