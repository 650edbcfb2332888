"""What a control command may cost, told from its bytes before it is carried out.

A round of work answers a bounded number of ordinary commands. Some commands take as long as
thousands of those: they have the weight of as many, so that a client that sends one after another
has one of them in a round, and everybody else has the rest of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.control import (
    Allocate,
    ControlCommand,
    ControlOpcode,
    Export,
    ExportObject,
    ExportOpen,
    ImportFiles,
    Map,
    MapList,
    ObjectCreate,
    Protect,
    ProtectList,
    Query,
    Release,
    SegmentRegister,
    Unmap,
    UnmapList,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

LONG: Final = 8
"""Weight of a command whose cost its bytes do not tell."""


class _Measure(NamedTuple):
    """The number in a command that tells its cost."""

    field: slice[int, int, None]
    shift: int
    """Its value in ordinary commands, as a power of two."""


def _measure(record: type[ControlCommand], name: str, shift: int) -> tuple[int, _Measure]:
    field = next(part for part in record.FIELDS if part.name == name)
    return int(record.OPCODE), _Measure(slice(field.offset, field.end), shift)


_MEASURES: Final[Mapping[int, _Measure]] = dict(
    (
        *(_measure(record, "count", 6) for record in (MapList, UnmapList, ProtectList)),
        _measure(ImportFiles, "capacity", 6),
        # Pages of 4 KiB, in the worst case.
        *(_measure(record, "size_bytes", 26) for record in (Map, Unmap, Release)),
        *(_measure(record, "size_bytes", 26) for record in (Protect, ExportOpen)),
        *(_measure(record, "size_bytes", 24) for record in (Query, Export, ExportObject)),
        # Bytes to be zeroed.
        *(_measure(record, "size_bytes", 22) for record in (ObjectCreate, Allocate)),
        # Areas of a process to be looked at: each page may be one.
        _measure(SegmentRegister, "size_bytes", 12),
    )
)
_FIXED: Final[Mapping[int, int]] = dict.fromkeys(
    (
        int(ControlOpcode.GET_STATISTICS),
        int(ControlOpcode.SPACE_DESTROY),
        int(ControlOpcode.EXPORT_CLOSE),
        int(ControlOpcode.EXPORT_PUT),
    ),
    LONG,
)


def weight_of(command: bytes) -> int:
    """Return how many ordinary commands one command may cost, whatever its bytes are."""
    opcode = command[0]
    measure = _MEASURES.get(opcode)
    if measure is None:
        return _FIXED.get(opcode, 1)
    return 1 + (int.from_bytes(command[measure.field], "little") >> measure.shift)
