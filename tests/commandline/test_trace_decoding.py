"""Calls of a trace, decoded by the channel's tables: every function, and how values read."""

from __future__ import annotations

import struct

import pytest

from firmware.abi.channel import ArgumentNote
from hostdriver.channel.arguments import read_arguments, write_outputs
from hostdriver.channel.items import ITEM, MalformedMessageError, Writer
from hostdriver.channel.specs import Kind, interface
from hostdriver.cli.trace.decoding import decode_call, decode_note, decode_outputs
from hostdriver.cli.trace.lines import duration, value_text
from hostdriver.cli.trace.vocabulary import (
    Address,
    bytes_shown,
    functions,
    handle_shown,
    number_shown,
)
from tests.harness.call_messages import call_message

SPECS = {spec.name: spec for spec in interface().functions.values()}
NUMBERS = {function.name: number for number, function in enumerate(functions())}


@pytest.mark.parametrize("name", SPECS)
def test_every_function_is_told_with_all_its_arguments_and_outputs(name: str) -> None:
    spec = SPECS[name]
    data = call_message(spec)
    begun = decode_call(spec.number, data)
    outputs = decode_outputs(begun.message, write_outputs(read_arguments(spec, data)))

    assert begun.function == name
    inputs = {param.name for param in spec.params if param.kind < Kind.VALUE_OUT}
    assert inputs <= begun.arguments.keys()
    assert outputs.keys() == {p.name for p in spec.params if p.kind >= Kind.VALUE_OUT}
    assert begun.arguments.keys() | outputs.keys() == {param.name for param in spec.params}


@pytest.mark.parametrize("name", SPECS)
def test_a_message_that_is_cut_off_is_refused(name: str) -> None:
    spec = SPECS[name]
    data = call_message(spec)
    if data:
        with pytest.raises(MalformedMessageError):
            decode_call(spec.number, data[:-ITEM])
    outputs = write_outputs(read_arguments(spec, data))
    if outputs:
        with pytest.raises(MalformedMessageError):
            decode_outputs(decode_call(spec.number, data).message, outputs[:-ITEM])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_note_of_any_function_is_understood(name: str) -> None:
    number = NUMBERS[name]
    names = functions()[number]
    writer = Writer()
    for item in (number, 0, 1500, len(names.params)):
        writer.number(item)
    for _ in names.params:
        writer.number(ArgumentNote.NUMBER)
        writer.number(0)
    writer.number(0)

    note = decode_note(writer.message())

    assert (note.function, note.nanoseconds, note.error) == (names.name, 1500, "")
    assert list(note.arguments) == [param.name for param in names.params]


def test_a_note_tells_handles_and_structures_by_value() -> None:
    writer = Writer()
    for item in (NUMBERS["zeMemPutIpcHandle"], 0x78000004, 7, 2, ArgumentNote.HANDLE, 2):
        writer.number(item)
    writer.number(ArgumentNote.BYTES)
    writer.number(64)
    writer.raw(b"\xab" * 64)
    writer.number(4)
    writer.raw(b"why?")

    note = decode_note(writer.message())

    assert note.arguments == {"hContext": "context#2", "handle": "ab" * 64}
    assert (note.result, note.error) == ("ZE_RESULT_ERROR_INVALID_ARGUMENT", "why?")


@pytest.mark.parametrize("number", [len(functions()), 1 << 40])
def test_a_function_that_does_not_exist_is_refused(number: int) -> None:
    with pytest.raises(MalformedMessageError):
        decode_call(number, b"")
    with pytest.raises(MalformedMessageError):
        decode_note(number.to_bytes(8, "little") + bytes(64))


def test_numbers_read_as_their_types_say() -> None:
    assert number_shown("ze_result_t", 1) == "ZE_RESULT_NOT_READY"
    assert number_shown("ze_result_t", 12345) == 12345
    flags = number_shown("ze_device_mem_alloc_flags_t", 0x103)
    assert (
        flags == "ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED|ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED|0x100"
    )
    assert number_shown("ze_device_mem_alloc_flags_t", 0) == 0
    assert number_shown("void*", 0) is None
    assert number_shown("int32_t", 0xFFFF_FFFF) == -1
    assert number_shown("float", 0x3F80_0000) == 1.0
    assert handle_shown("ze_command_list_handle_t", 3) == "command_list#3"
    assert handle_shown("ze_event_handle_t", 0) is None
    assert bytes_shown("char", b"name\0\0") == "name"
    assert bytes_shown("const char*", b"\1\2") == "0102"
    assert bytes_shown("const void*", b"Z") == "5a"
    assert bytes_shown("uint8_t", b"00\0\0") == "30300000"


def test_times_of_an_event_are_told_by_their_names() -> None:
    assert bytes_shown("ze_kernel_timestamp_result_t*", struct.pack("<4Q", 5, 6, 7, 8)) == {
        "global": {"kernelStart": 5, "kernelEnd": 6},
        "context": {"kernelStart": 7, "kernelEnd": 8},
    }
    assert bytes_shown("ze_kernel_timestamp_result_t*", bytes(8)) == "0000000000000000"
    assert bytes_shown("void*", b"") == ""


def test_values_read_in_one_line() -> None:
    assert value_text(Address(0x7FFF12345678)) == "0x7fff_1234_5678"
    assert value_text({"flags": 0, "size": 65536, "name": "", "id": "0000", "kind": "A"}) == (
        "{size=0x1_0000, kind=A}"
    )
    assert value_text([None, 7]) == "[NULL, 7]"
    assert value_text(list(range(20))) == "[0, 1, 2, 3, 4, 5, 6, 7, 12 more]"


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0 ns"), (999, "999 ns"), (1500, "1.5 us"), (2e9, "2 s")]
)
def test_times_have_the_unit_in_which_they_read_best(nanoseconds: float, text: str) -> None:
    assert duration(nanoseconds) == text
