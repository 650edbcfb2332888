"""The catalogue is complete, and everything in it says what it means."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from enum import Enum, IntEnum, IntFlag
from types import ModuleType

import pytest

import firmware.abi
from firmware.abi import Field, Record, Word
from firmware.abi._source import doc_of_class, doc_of_constant, doc_of_member
from firmware.abi.catalogue import CONSTANTS, ENUMS, FLAGS, RECORDS, WORDS
from firmware.abi.control import CONTROL_COMMANDS, ControlOpcode
from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension, extension_name
from firmware.abi.registers import REGISTERS
from firmware.abi.work import WORK_COMMANDS, WorkOpcode

OPCODES = {ControlOpcode, WorkOpcode}


def declared(base: type) -> Iterator[type]:
    """Yield every public class of the contract that derives from `base`."""
    for info in pkgutil.iter_modules(firmware.abi.__path__, "firmware.abi."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if not isinstance(value, type) or value.__module__ != info.name:
                continue
            if issubclass(value, base):
                yield value


def test_every_record_is_in_the_catalogue() -> None:
    sized = {kind for kind in declared(Record) if issubclass(kind, Record) and kind.SIZE}

    assert sized == set(RECORDS.values())


def test_every_word_is_in_the_catalogue() -> None:
    assert set(declared(Word)) == set(WORDS)


def test_every_enumeration_is_in_the_catalogue() -> None:
    assert set(declared(IntEnum)) == set(ENUMS)
    assert set(declared(IntFlag)) == set(FLAGS)


@pytest.mark.parametrize("kind", [*ENUMS, *FLAGS], ids=lambda kind: kind.__name__)
def test_every_member_says_what_it_means(kind: type[Enum]) -> None:
    told = OPCODES | {Extension}  # commands and names of extensions say it

    silent = [member.name for member in kind if not doc_of_member(member)]

    assert kind in told or silent == []
    assert doc_of_class(kind)


def test_without_source_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compiled_only", ModuleType("compiled_only"))

    assert doc_of_constant("compiled_only", "ANYTHING") == ""


def sentences() -> Iterator[tuple[str, str]]:
    for name, record in RECORDS.items():
        yield name, doc_of_class(record)
        yield from ((f"{name}.{field.name}", field.doc) for field in record.FIELDS)
    for word in WORDS:
        yield word.__name__, doc_of_class(word)
        yield from ((f"{word.__name__}.{bits.name}", bits.doc) for bits in word.FIELDS)
    yield from ((register.name, register.doc) for register in REGISTERS)
    yield from ((constant.name, constant.doc) for constant in CONSTANTS)


def test_everything_is_told_in_whole_sentences() -> None:
    def whole(text: str) -> bool:
        return text.endswith(".") and (text[0].isupper() or not text[0].isalpha())

    assert [f"{name}: {text}" for name, text in sentences() if not whole(text)] == []


@pytest.mark.parametrize("record", RECORDS.values(), ids=list(RECORDS))
def test_parts_cover_every_byte_once(record: type[Record]) -> None:
    ends = [part.end for part in record.PARTS]

    assert [part.offset for part in record.PARTS] == [0, *ends[:-1]]
    assert ends[-1] == record.SIZE
    assert [part for part in record.PARTS if not part.reserved] == list(record.FIELDS)


@pytest.mark.parametrize("record", RECORDS.values(), ids=list(RECORDS))
def test_every_number_stands_at_a_multiple_of_its_size(record: type[Record]) -> None:
    def aligned(field: Field) -> bool:
        return field.is_bytes or field.offset % field.size == 0

    assert all(aligned(field) for field in record.FIELDS)


def test_every_opcode_has_a_record() -> None:
    assert list(CONTROL_COMMANDS) == [int(opcode) for opcode in ControlOpcode]
    assert list(WORK_COMMANDS) == [int(opcode) for opcode in WorkOpcode]
    assert all(opcode == record.OPCODE for opcode, record in CONTROL_COMMANDS.items())


def test_extensions_have_one_bit_and_one_name_each() -> None:
    assert len(EXTENSIONS_BY_NAME) == len(Extension)
    assert all(int(bit).bit_count() == 1 and int(bit) < 1 << 64 for bit in Extension)
    assert extension_name(Extension.EXT_PCI_PROPERTIES) == "ZE_extension_pci_properties"
