"""Records: one class statement gives layout, typed value, codec, size check and documentation row.

    class FenceWrite(WorkCommand, size=64, opcode=WorkOpcode.FENCE_WRITE):
        \"\"\"Store `value` into a fence slot.\"\"\"

        pool: int = wire(U32, "Fence pool; 0 is the client's segment.", at=8)
        slot: int = wire(U32, "Slot in the pool.")

The class is a frozen `msgspec.Struct`. `LAYOUT` is the construct structure; `pack` and `unpack` are
compiled from the same declaration (see `_codec`), and tests hold all equal. Fields are naturally
aligned; bytes that no field covers are reserved and must be zero. A class without `size` is a
header that a family of records begins with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, dataclass_transform

import construct
import msgspec

from firmware.abi._codec import compile_codec
from firmware.abi._layout import lay_out, needs_opcode, with_gaps, with_opcode
from firmware.abi._malformed import Malformed, Reason
from firmware.abi._wire import Field, constant, open_flags, wire

if TYPE_CHECKING:
    from enum import IntEnum

_LAZY_ANNOTATIONS = ("__annotate_func__", "__annotate__")
"""Where Python 3.14 keeps annotations that nobody has asked for."""

Buffer: TypeAlias = bytes | bytearray | memoryview
"""What records are decoded from."""


class RecordMeta(msgspec.StructMeta):
    """Turns wire declarations into required fields, lays them out and compiles the codec."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        size: int | None = None,
        opcode: IntEnum | None = None,
        frozen: bool = True,
    ) -> Any:
        """Make one record class.

        Raises:
            TypeError: a declaration that breaks a rule of the layout, or an attribute that is
                annotated but not declared with `wire` or `constant`.
        """
        own = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        _check_annotations(name, namespace, own)
        for key, field in own.items():
            if field.constant is None:
                del namespace[key]
            else:
                namespace[key] = field.constant
        # Typed from the declaration, whichever way this Python keeps annotations.
        for key in _LAZY_ANNOTATIONS:
            namespace.pop(key, None)
        namespace["__annotations__"] = {
            key: field.value_type for key, field in own.items() if field.constant is None
        }
        cls: Any = super().__new__(mcs, name, bases, namespace, frozen=frozen, gc=False)
        inherited: tuple[Field, ...] = getattr(bases[0], "FIELDS", ())
        if opcode is not None:
            inherited = with_opcode(name, inherited, opcode)
            cls.OPCODE = cls.opcode = opcode
        elif size is not None and needs_opcode(inherited):
            raise TypeError(f"{name} is one of a family: it needs an opcode")
        cls.FIELDS = lay_out(name, inherited, own)
        if size is not None:
            _complete(cls, size)
        return cls


def _check_annotations(record: str, namespace: Mapping[str, Any], own: Mapping[str, Field]) -> None:
    if any(name in namespace for name in _LAZY_ANNOTATIONS):
        return  # asking for them could need names that are not there yet
    annotations = namespace.get("__annotations__", {})
    for key in own:
        if key not in annotations:
            raise TypeError(f"{record}.{key} has no annotation")
    for key, annotation in annotations.items():
        if key not in own and "ClassVar" not in str(annotation):
            raise TypeError(f"{record}.{key} is not declared with wire() or constant()")


def _complete(cls: Any, size: int) -> None:
    """Give a record with all its fields its parts, its construct layout and its codec."""
    cls.SIZE = size
    cls.PARTS = with_gaps(cls.__name__, cls.FIELDS, size)
    cls.LAYOUT = construct.Struct(*(_construct_part(part) for part in cls.PARTS))
    unpack, cls.pack = compile_codec(cls)
    cls.unpack = staticmethod(unpack)  # it knows its class, which saves a binding for each call


def _construct_part(field: Field) -> Any:
    subcon = field.scalar.subcon
    if field.constant is not None:
        subcon = construct.Const(field.constant, subcon)
    return construct.Renamed(subcon, field.name, field.doc)


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(wire, open_flags, constant)
)
class _Typed(msgspec.Struct, metaclass=RecordMeta, frozen=True):
    """Tells type checkers what `RecordMeta` does; they ask bases before the metaclass."""


class Record(_Typed):
    """Base of all records of the contract."""

    SIZE: ClassVar[int] = 0
    """Size in bytes."""
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    """The declared fields, in order."""
    PARTS: ClassVar[tuple[Field, ...]] = ()
    """The fields and the reserved gaps: every byte of the record."""
    LAYOUT: ClassVar[construct.Construct[Mapping[str, object], Mapping[str, object]]]
    """The layout as construct sees it."""

    @classmethod
    def unpack(cls, buffer: Buffer, offset: int = 0) -> Self | Malformed:
        """Decode the record at `offset`, which is not negative.

        Bytes that break the contract, or that are too few, give `Malformed`; more bytes behind the
        record do not matter.
        """
        raise TypeError(f"{cls.__name__} is a header: nothing at {offset} of {buffer!r:.40}")

    @classmethod
    def unpack_packet(cls, packet: Buffer) -> Self | Malformed:
        """Decode a packet that must be this record and nothing else."""
        found = memoryview(packet).nbytes
        if found > cls.SIZE:
            wanted = f"{cls.SIZE:#x} bytes"
            return Malformed(cls.__name__, "size", Reason.OVERSIZED, cls.SIZE, found, wanted)
        return cls.unpack(packet)

    def pack(self) -> bytes:
        """Return the record's bytes; byte strings that are too short are padded with zeros.

        Raises:
            ValueError: a field that does not fit its wire type.
        """
        raise TypeError(f"{type(self).__name__} is a header")


def field_of(record: type[Record], name: str) -> Field:
    """Return the declaration of one field; KeyError when the record has no such field."""
    for field in record.FIELDS:
        if field.name == name:
            return field
    raise KeyError(f"{record.__name__} has no field {name!r}")


def offset_of(record: type[Record], name: str) -> int:
    """Return the byte offset of one field; KeyError when the record has no such field."""
    return field_of(record, name).offset


__all__ = [
    "Buffer",
    "Field",
    "Record",
    "RecordMeta",
    "constant",
    "field_of",
    "offset_of",
    "open_flags",
    "wire",
]
