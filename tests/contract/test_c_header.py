"""The C header, compiled: every offset, size and number is the declared one."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware.abi.c_header import c_header, struct_name, unsigned, upper
from firmware.abi.catalogue import CONSTANTS, ENUMS, FLAGS, RECORDS, WORDS
from firmware.abi.registers import REGISTERS

FLAGS_OF_CC = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def fields() -> Iterator[tuple[str, int]]:
    """Yield C expressions of sizes and offsets, with their declared values."""
    for name, record in RECORDS.items():
        tag = f"struct {struct_name(name)}"
        yield f"sizeof({tag})", record.SIZE
        yield f"_Alignof({tag})", max((f.alignment for f in record.FIELDS), default=1)
        for part in record.PARTS:
            yield f"offsetof({tag}, {part.name})", part.offset
            yield f"sizeof((({tag} *)0)->{part.name})", part.size


def numbers() -> Iterator[tuple[str, int]]:
    """Yield C names of numbers, with their declared values."""
    for constant in CONSTANTS:
        yield f"EMUZERO_{constant.name}", constant.value
    for member in (member for kind in ENUMS for member in kind):
        yield f"EMUZERO_{upper(type(member).__name__)}_{member.name}", member.value
    for flag in (flag for kind in FLAGS for flag in kind):
        yield f"EMUZERO_{upper(type(flag).__name__)}_{flag.name}", flag.value
    for register in REGISTERS:
        yield f"EMUZERO_REGISTER_{register.name}", register.offset
    for name, record in RECORDS.items():
        for part in record.PARTS:
            if part.constant is not None and not part.reserved:
                yield f"EMUZERO_{upper(name)}_{part.name.upper()}", int(part.constant)


def bits() -> Iterator[tuple[str, int]]:
    """Yield C expressions about words, with their declared values."""
    for word in WORDS:
        name = f"EMUZERO_{upper(word.__name__)}"
        yield f"{name}_RESERVED_MASK", ((1 << word.WIDTH) - 1) & ~word.USED
        for group in word.FIELDS:
            field = f"{name}_{group.name.upper()}"
            value = word.USED & 0x5A5A_5A5A_5A5A_5A5A
            yield f"{field}_SHIFT", group.low
            yield f"{field}_MASK", group.mask
            yield f"EMUZERO_GET({value:#x}ull, {field})", group.raw(value)
            yield f"EMUZERO_PUT(1, {field})", group.of(1)


def program(expressions: list[str]) -> str:
    """Return a C program that prints the value of each expression."""
    prints = "\n".join(f'    printf("%llu\\n", (unsigned long long)({e}));' for e in expressions)
    return f'#include "emuzero_abi.h"\n#include <stdio.h>\nint main(void) {{\n{prints}\n}}\n'


def compile_and_run(folder: Path, text: str) -> list[int]:
    """Return the numbers that a C program prints."""
    (folder / "emuzero_abi.h").write_text(c_header(), encoding="ascii")
    source, binary = folder / "probe.c", folder / "probe"
    source.write_text(text, encoding="ascii")
    command = ["cc", *FLAGS_OF_CC, "-I", str(folder), "-o", str(binary), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in printed.split()]


@pytest.mark.parametrize("expected", [fields, numbers, bits], ids=lambda made: made.__name__)
def test_the_compiled_header_agrees(expected: type, tmp_path: Path) -> None:
    declared: dict[str, int] = dict(expected())

    found = compile_and_run(tmp_path, program(list(declared)))

    assert dict(zip(declared, found, strict=True)) == declared


def test_every_name_in_the_header_is_defined_once() -> None:
    text = c_header()
    macros = re.findall(r"^#define (\w+)", text, re.MULTILINE)
    tags = re.findall(r"^(?:struct|enum) (\w+) \{", text, re.MULTILINE)
    members = re.findall(r"^    (EMUZERO_\w+) =", text, re.MULTILINE)

    names = [*macros, *tags, *members]

    assert len(names) == len(set(names))


def test_the_header_can_be_included_twice(tmp_path: Path) -> None:
    text = program(["1"])

    assert compile_and_run(tmp_path, text.replace("\n", '\n#include "emuzero_abi.h"\n', 1)) == [1]


def test_a_wrong_offset_does_not_compile(tmp_path: Path) -> None:
    (tmp_path / "broken.h").write_text(
        c_header().replace("    uint32_t tag;", "    uint16_t tag;", 1), encoding="ascii"
    )
    command = ["cc", "-std=c11", "-fsyntax-only", "-x", "c", str(tmp_path / "broken.h")]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "offset of emuzero_" in done.stderr


def test_names_follow_the_declarations() -> None:
    assert upper("RingHeader") == "RING_HEADER"
    assert struct_name("control.MapList") == "emuzero_control_map_list"
    assert [unsigned(7), unsigned(0x1000), unsigned(1 << 40)] == [
        "7",
        "0x1000",
        "UINT64_C(0x10000000000)",
    ]


def test_the_header_is_plain_and_narrow() -> None:
    lines = c_header().splitlines()

    assert all(line.isascii() and line == line.rstrip() for line in lines)
    assert max(map(len, lines)) <= 100
