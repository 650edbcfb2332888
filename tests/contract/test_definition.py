"""A declaration that breaks a rule fails where it stands, and says why."""

from enum import IntEnum, IntFlag
from types import new_class

import pytest

from firmware.abi import Record, Word
from firmware.abi._family import opcode_decoder, opcode_table
from firmware.abi._record import RecordMeta, constant, field_of, offset_of, open_flags, wire
from firmware.abi._wire import U8, U16, U32, U64, raw
from firmware.abi._word import bit, bits, choice
from firmware.abi.registers import RO, Register, register_map
from firmware.abi.work import Copy


class Colour(IntEnum):
    RED = 1
    BLUE = 300


class Bit(IntFlag):
    LOW = 1
    HIGH = 1 << 12


class Narrow(Word, width=32):
    low = bits(3, 0, "Low.")


class Opcode(IntEnum):
    ONE = 1
    TWO = 2
    HUGE = 1 << 16


class Header(Record):
    """A family of the tests."""

    opcode: int = constant(U16, 0, "Opcode.")
    extra: int = wire(U16, "Anything.")


def make(size: int | None = 16, bases: tuple[type, ...] = (Record,), **fields: object) -> None:
    """Declare a record with these fields, which are annotated as numbers."""
    namespace = {**fields, "__annotations__": dict.fromkeys(fields, int), "__module__": __name__}
    RecordMeta("Made", bases, namespace, size=size)


def test_overlapping_fields() -> None:
    with pytest.raises(TypeError, match=r"Made\.b at 0x4 overlaps a"):
        make(a=wire(U64, "."), b=wire(U32, ".", at=4))


def test_a_field_that_is_not_aligned() -> None:
    with pytest.raises(TypeError, match=r"Made\.b at 0x4 is not aligned to 8"):
        make(a=wire(U32, "."), b=wire(U64, "."))


def test_fields_that_leave_the_record() -> None:
    with pytest.raises(TypeError, match="Made has 0x14 bytes, declared 0x10"):
        make(a=wire(raw(20), "."))


def test_a_size_that_would_break_arrays() -> None:
    with pytest.raises(TypeError, match="Made has 0xc bytes, no multiple of 8"):
        make(size=12, a=wire(U32, "."))


@pytest.mark.parametrize(
    "field",
    [
        wire(U8, ".", kinds=Colour),
        wire(U8, ".", flags=Bit),
        open_flags(U8, ".", flags=Bit),
        constant(U8, 256, "."),
        constant(U8, -1, "."),
    ],
    ids=["enumeration", "flags", "open flags", "constant", "negative constant"],
)
def test_allowed_values_that_do_not_fit(field: object) -> None:
    with pytest.raises(TypeError, match=r"Made\.a: -?0x\w+ does not fit in 1 byte"):
        make(a=field)


def test_a_constant_byte_string_of_another_length() -> None:
    with pytest.raises(TypeError, match="has not 4 bytes"):
        make(a=constant(raw(4), b"abc", "."))


def test_a_word_of_another_width() -> None:
    with pytest.raises(TypeError, match=r"Made\.a has 64 bits, Narrow has 32"):
        make(a=wire(U64, ".", word=Narrow))


def test_a_field_that_is_annotated_but_not_declared() -> None:
    with pytest.raises(TypeError, match=r"Forgot\.b is not declared with wire"):

        class Forgot(Record, size=8):
            a: int = wire(U64, ".")
            b: int


def test_a_field_that_is_declared_but_not_annotated() -> None:
    with pytest.raises(TypeError, match=r"Bare\.a has no annotation"):

        class Bare(Record, size=8):
            a = wire(U64, ".")


def test_annotations_that_are_kept_for_later_are_not_asked_for() -> None:
    # Python 3.14 does so: they may need names that are not there yet.
    lazy = {"__annotate_func__": None, "a": wire(U64, "."), "__module__": __name__}

    made = RecordMeta("Made", (Record,), lazy, size=8)

    assert made(a=5).pack() == b"\5" + bytes(7)


def test_a_member_of_a_family_without_opcode() -> None:
    with pytest.raises(TypeError, match="Made is one of a family: it needs an opcode"):
        make(bases=(Header,))


def test_an_opcode_without_a_family() -> None:
    with pytest.raises(TypeError, match="its header declares none"):

        class Lonely(Record, size=8, opcode=Opcode.ONE):
            a: int = wire(U64, ".")


def test_an_opcode_that_does_not_fit() -> None:
    with pytest.raises(TypeError, match=r"Wide\.opcode: 0x10000 does not fit in 2 byte"):

        class Wide(Header, size=8, opcode=Opcode.HUGE):
            pass


def test_two_records_with_one_opcode() -> None:
    class Family(Header):
        """Another header."""

    class First(Family, size=8, opcode=Opcode.ONE):
        """First."""

    class Second(Family, size=8, opcode=Opcode.TWO):
        """Second."""

    decode = opcode_decoder("Family", opcode_table(Family))
    assert decode(Second(extra=5).pack()) == Second(extra=5)

    class Third(Family, size=8, opcode=Opcode.ONE):
        """Third."""

    with pytest.raises(TypeError, match="Third and First share opcode 0x1"):
        opcode_table(Family)


def test_a_header_has_no_bytes_of_its_own() -> None:
    with pytest.raises(TypeError, match="Header is a header"):
        Header.unpack(bytes(4))
    with pytest.raises(TypeError, match="Header is a header"):
        Header(extra=1).pack()


def test_a_missing_or_unknown_field_of_a_value() -> None:
    with pytest.raises(TypeError, match="size_bytes"):
        Copy(flags=0, tag=0, source=0, destination=0)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match="colour"):
        Copy(colour=1)  # type: ignore[call-arg]


def test_offsets_are_found_by_name() -> None:
    assert offset_of(Copy, "destination") == 0x10
    assert field_of(Copy, "destination").size == 8
    with pytest.raises(KeyError, match="Copy has no field 'colour'"):
        offset_of(Copy, "colour")


def test_overlapping_bits() -> None:
    with pytest.raises(TypeError, match=r"Twice\.b overlaps bits 0x8"):

        class Twice(Word):
            a = bits(3, 0, ".")
            b = bit(3, ".")


@pytest.mark.parametrize(
    "declared",
    [bits(32, 30, "."), bit(-1, "."), bits(3, 4, ".")],
    ids=["above", "below", "backwards"],
)
def test_bits_that_leave_the_word(declared: object) -> None:
    with pytest.raises(TypeError, match=r"Out\.a: bits .* of 32"):
        new_class("Out", (Word,), {"width": 32}, lambda names: names.update(a=declared))


def test_choices_that_do_not_fit() -> None:
    with pytest.raises(TypeError, match=r"Small\.a: .*BLUE.* does not fit in 4 bit"):

        class Small(Word):
            a = choice(3, 0, Colour, ".")


def test_a_width_that_no_word_has() -> None:
    with pytest.raises(TypeError, match="Odd: width 24, expected 8, 16, 32 or 64"):

        class Odd(Word, width=24):
            pass


def test_values_that_do_not_fit_their_bits() -> None:
    with pytest.raises(ValueError, match=r"low: 0x10 does not fit in 4 bit"):
        Narrow.build(low=16)
    with pytest.raises(ValueError, match=r"low: -0x1 does not fit"):
        Narrow.build(low=-1)
    with pytest.raises(TypeError, match="Narrow has no bits 'high', only low"):
        Narrow.build(high=1)


@pytest.mark.parametrize(
    ("registers", "message"),
    [
        ([Register("A", 2, U32, RO, None, ".")], "register A at 0x2 is not aligned to 4"),
        (
            [Register("A", 0, U64, RO, None, "."), Register("B", 4, U32, RO, None, ".")],
            "register B at 0x4 overlaps",
        ),
        ([Register("A", 4096, U32, RO, None, ".")], "register A at 0x1000 .*leaves the page"),
        ([Register("A", 0, U64, RO, Narrow, ".")], "register A at 0x0 has 64 bits, its word 32"),
    ],
)
def test_a_register_map_that_cannot_be(registers: list[Register], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        register_map(*registers)
