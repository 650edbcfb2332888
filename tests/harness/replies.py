"""Replies and fault records for whoever plays the device."""

from __future__ import annotations

from typing import Any

from firmware.abi import control as c
from firmware.abi import replies as r
from firmware.abi.faults import FaultReason, FaultRecord
from firmware.abi.ids import Access
from firmware.abi.status import Status


def refused(kind: type, status: Status, detail: int = 0) -> r.Refused:
    """Return the refusal of a control command of a kind."""
    opcode = int(kind.OPCODE)  # type: ignore[attr-defined]
    return r.Refused(opcode=opcode, status=status, request=0, detail=detail, expected=0)


def allocated(object_id: int, descriptors: int, released: int = 0) -> r.Allocated:
    """Return the reply that made and mapped memory."""
    return r.Allocated(
        opcode=c.ControlOpcode.ALLOCATE,
        status=Status.OK,
        request=0,
        object_id=object_id,
        page_size=2 << 20,
        bus_address=0,
        released=released,
        descriptors=descriptors,
    )


def released(number: int, done: int = 0) -> r.Released:
    """Return the reply of a release that waits behind work."""
    return r.Released(
        opcode=c.ControlOpcode.RELEASE, status=Status.OK, request=0, number=number, released=done
    )


def object_created(object_id: int, size: int, descriptors: int) -> r.ObjectCreated:
    """Return the reply that made a memory object."""
    return r.ObjectCreated(
        opcode=c.ControlOpcode.OBJECT_CREATE,
        status=Status.OK,
        request=0,
        object_id=object_id,
        size_bytes=size,
        bus_address=0,
        page_size=4096,
        descriptors=descriptors,
    )


def fault(va: int, queue: int = 1, **changes: int) -> FaultRecord:
    """Return the record of a read of memory that is not mapped."""
    values: dict[str, Any] = {
        "time_ticks": 0,
        "seqno": 1,
        "va": va,
        "entry": 0,
        "queue_id": queue,
        "vmid": 1,
        "tag": 0,
        "reason": FaultReason.NOT_PRESENT,
        "access": Access.READ,
        "level": 3,
        "opcode": 1,
        "detail": 0,
    }
    return FaultRecord(**(values | changes))
