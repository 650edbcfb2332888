"""Wire types: how one field of a record stands in memory.

Every wire type wraps one construct field; everything else (the `struct` character, the numpy
type, the C type) is looked up from it, so that a layout is said once.
"""

from enum import IntEnum, IntFlag
from typing import Any, Final, Generic, Literal, TypeVar, cast, final, overload

import construct
import msgspec

from firmware.abi._word import Word

ValueT = TypeVar("ValueT", bound=int | bytes)
KindT = TypeVar("KindT", bound=IntEnum)
FlagT = TypeVar("FlagT", bound=IntFlag)
WordT = TypeVar("WordT", bound=Word)


@final
class Scalar(msgspec.Struct, Generic[ValueT], frozen=True):
    """One fixed-size little-endian number or byte string."""

    kind: type[ValueT]
    """int or bytes."""
    subcon: Any
    """The construct field."""
    struct_code: str
    numpy_code: str
    c_type: str
    size: int
    """Size in bytes."""


U8: Final = Scalar(int, construct.Int8ul, "B", "u1", "uint8_t", 1)
U16: Final = Scalar(int, construct.Int16ul, "H", "<u2", "uint16_t", 2)
U32: Final = Scalar(int, construct.Int32ul, "I", "<u4", "uint32_t", 4)
I32: Final = Scalar(int, construct.Int32sl, "i", "<i4", "int32_t", 4)
U64: Final = Scalar(int, construct.Int64ul, "Q", "<u8", "uint64_t", 8)


def raw(size: int) -> Scalar[bytes]:
    """Return the wire type of `size` uninterpreted bytes; `pack` pads shorter ones with zeros."""
    return Scalar(bytes, construct.Bytes(size), f"{size}s", f"V{size}", "uint8_t", size)


@final
class Field(msgspec.Struct, frozen=True, kw_only=True):
    """Declaration of one field: wire type, meaning, allowed values and, once laid out, offset."""

    scalar: Scalar[int] | Scalar[bytes]
    doc: str
    at: int | None = None
    """Offset that the declaration asks for."""
    kinds: type[IntEnum] | None = None
    """Enumeration of the allowed values."""
    flags: type[IntFlag] | None = None
    """Flag word of the allowed bits."""
    extensible: bool = False
    """Bits that `flags` does not name are dropped: a newer peer may know them."""
    word: type[Word] | None = None
    """Bit layout of the value."""
    shown: type[IntEnum] | type[IntFlag] | type[Word] | None = None
    """How people read a number that decoding takes as it is."""
    constant: int | bytes | None = None
    """The one allowed value; such a field is no argument of the record."""
    reserved: bool = False
    """Whether this is a gap between declared fields: zero bytes."""
    name: str = ""
    offset: int = 0

    def placed(self, name: str, offset: int) -> "Field":
        """Return the field under its name at its offset."""
        return msgspec.structs.replace(self, name=name, offset=offset)

    def fixed(self, value: int) -> "Field":
        """Return the field with `value` as its one allowed value."""
        return msgspec.structs.replace(self, constant=value)

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.scalar.size

    @property
    def end(self) -> int:
        """Offset of the first byte behind the field."""
        return self.offset + self.scalar.size

    @property
    def alignment(self) -> int:
        """Natural alignment in bytes (1 for byte strings)."""
        return 1 if self.is_bytes else self.scalar.size

    @property
    def is_bytes(self) -> bool:
        """Whether the field is a byte string."""
        return self.scalar.kind is bytes

    @property
    def value_type(self) -> type[int] | type[bytes]:
        """Type of the field's value in the record."""
        return self.kinds or self.flags or self.word or self.scalar.kind

    @property
    def flag_mask(self) -> int:
        """All bits that `flags` names."""
        mask = 0
        for member in self.flags or ():
            mask |= int(member)
        return mask


@overload
def wire(scalar: Scalar[int], doc: str, *, at: int | None = None, kinds: type[KindT]) -> KindT: ...
@overload
def wire(scalar: Scalar[int], doc: str, *, at: int | None = None, flags: type[FlagT]) -> FlagT: ...
@overload
def wire(scalar: Scalar[int], doc: str, *, at: int | None = None, word: type[WordT]) -> WordT: ...
@overload
def wire(
    scalar: Scalar[ValueT],
    doc: str,
    *,
    at: int | None = None,
    shown: type[IntEnum] | type[IntFlag] | type[Word] | None = None,
) -> ValueT: ...
def wire(
    scalar: Any,
    doc: str,
    *,
    at: int | None = None,
    kinds: type[IntEnum] | None = None,
    flags: type[IntFlag] | None = None,
    word: type[Word] | None = None,
    shown: type[IntEnum] | type[IntFlag] | type[Word] | None = None,
) -> Any:
    """Declare a field of a record.

    Args:
        scalar: the wire type.
        doc: one sentence: what the field means.
        at: byte offset; bytes that are skipped are reserved and must be zero.
        kinds: enumeration that names every allowed value.
        flags: flag word that names every allowed bit.
        word: bit layout of the value; reserved bits and unknown choices are malformed.
        shown: how people read the number, which decoding takes as it is.
    """
    return Field(scalar=scalar, doc=doc, at=at, kinds=kinds, flags=flags, word=word, shown=shown)


def open_flags(
    scalar: Scalar[int], doc: str, *, at: int | None = None, flags: type[FlagT]
) -> FlagT:
    """Declare a flag word whose unknown bits are dropped instead of malformed.

    For what the peer offers: a newer one of the same major version may know more than this side.
    """
    declared = Field(scalar=scalar, doc=doc, at=at, flags=flags, extensible=True)
    return cast("FlagT", declared)


def constant(
    scalar: Scalar[ValueT],
    value: ValueT,
    doc: str,
    *,
    init: Literal[False] = False,
) -> ValueT:
    """Declare a field with one allowed value; it is not an argument of the record.

    `init` only tells type checkers so (see `typing.dataclass_transform`).
    """
    del init
    return cast("ValueT", Field(scalar=cast("Any", scalar), doc=doc, constant=value))
