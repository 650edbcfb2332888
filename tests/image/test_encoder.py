"""Instruction words equal those of the GNU assembler; numbers that do not fit are refused."""

from collections.abc import Callable

import pytest

from firmware.image import _riscv as rv
from firmware.image._assembler import Assembler
from firmware.image._riscv import Csr, Reg

# Left: what this encoder says. Right: what `as -march=rv64i_zicsr` says for the same.
WORDS = [
    (rv.auipc(Reg.SP, 3), 0x0000_3117),
    (rv.auipc(Reg.T0, -1), 0xFFFF_F297),
    (rv.addi(Reg.A0, Reg.A1, -2048), 0x8005_8513),
    (rv.addi(Reg.A0, Reg.A1, 2047), 0x7FF5_8513),
    (rv.slli(Reg.T0, Reg.T0, 63), 0x03F2_9293),
    (rv.add(Reg.T2, Reg.T2, Reg.T0), 0x0053_83B3),
    (rv.lhu(Reg.T0, Reg.A0, -2), 0xFFE5_5283),
    (rv.ld(Reg.T6, Reg.SP, 120), 0x0781_3F83),
    (rv.sd(Reg.T6, Reg.SP, 120), 0x07F1_3C23),
    (rv.sd(Reg.ZERO, Reg.T0, -8), 0xFE02_BC23),
    (rv.beq(Reg.A0, Reg.ZERO, 0), 0x0005_0063),
    (rv.bge(Reg.T0, Reg.ZERO, 0x78), 0x0602_DC63),
    (rv.bgeu(Reg.T0, Reg.T1, 0xFFC), 0x7E62_FEE3),
    (rv.bgeu(Reg.T0, Reg.T1, -0x1000), 0x8062_F063),
    (rv.jal(Reg.ZERO, 0xC8), 0x0C80_006F),
    (rv.jal(Reg.RA, -0x10_0000), 0x8000_00EF),
    (rv.jal(Reg.RA, 0xF_FFFC), 0x7FDF_F0EF),
    (rv.jalr(Reg.ZERO, Reg.T2, -4), 0xFFC3_8067),
    (rv.csrw(Csr.MTVEC, Reg.T0), 0x3052_9073),
    (rv.csrw(Csr.MIE, Reg.T0), 0x3042_9073),
    (rv.csrr(Reg.T0, Csr.MCAUSE), 0x3420_22F3),
    (rv.csrsi(Csr.MSTATUS, 8), 0x3004_6073),
    (rv.csrci(Csr.MSTATUS, 31), 0x300F_F073),
    (rv.WFI, 0x1050_0073),
    (rv.MRET, 0x3020_0073),
    (rv.FENCE_WRITES, 0x0110_000F),
]

REFUSED: list[tuple[Callable[[], int], str]] = [
    (lambda: rv.auipc(Reg.T0, 1 << 19), "upper immediate 0x80000"),
    (lambda: rv.addi(Reg.T0, Reg.T0, 2048), "immediate 0x800"),
    (lambda: rv.addi(Reg.T0, Reg.T0, -2049), "immediate -0x801"),
    (lambda: rv.slli(Reg.T0, Reg.T0, 64), "shift by 64"),
    (lambda: rv.sd(Reg.T0, Reg.T0, 2048), "offset 0x800"),
    (lambda: rv.beq(Reg.T0, Reg.T0, 0x1000), "branch offset 0x1000"),
    (lambda: rv.beq(Reg.T0, Reg.T0, 6), "not a multiple of 4"),
    (lambda: rv.jal(Reg.RA, 0x10_0000), "jump offset 0x100000"),
    (lambda: rv.csrsi(Csr.MSTATUS, 32), "mask 0x20"),
    (lambda: rv.csrci(Csr.MSTATUS, -1), "mask -0x1"),
]


@pytest.mark.parametrize(("found", "expected"), WORDS)
def test_instruction_words_are_those_of_the_gnu_assembler(found: int, expected: int) -> None:
    assert hex(found) == hex(expected)


@pytest.mark.parametrize(("encode", "text"), REFUSED)
def test_numbers_that_do_not_fit_are_refused(encode: Callable[[], int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        encode()


def test_a_label_cannot_be_defined_twice() -> None:
    code = Assembler(0x8000_0000)
    code.label("here")

    with pytest.raises(ValueError, match="'here' is defined twice"):
        code.label("here")


def test_a_label_must_be_defined_somewhere() -> None:
    code = Assembler(0x8000_0000)
    code.jump("nowhere")

    with pytest.raises(KeyError, match="nowhere"):
        code.finish()


def test_a_function_reaches_to_the_next_one() -> None:
    code = Assembler(0x8000_0000)
    code.function("first")
    code.emit(rv.WFI)
    code.emit(rv.WFI)
    code.function("second")
    code.jump("first")

    program = code.finish()

    assert program.functions == (("first", 0x8000_0000, 8), ("second", 0x8000_0008, 4))
    assert program.address_of("second") == 0x8000_0008
    with pytest.raises(KeyError, match="third"):
        program.address_of("third")


@pytest.mark.parametrize("distance", [0, 0x7FC, 0x800, 0xFFC, 0x1000, 0x1804, -4, -0x804])
def test_an_address_is_loaded_relative_to_the_place(distance: int) -> None:
    base = 0x8000_0000
    code = Assembler(base)
    code.load_address(Reg.T0, base + distance)

    upper, lower = (int.from_bytes(code.finish().code[i : i + 4], "little") for i in (0, 4))

    signed = [value - (1 << 32) if value >> 31 else value for value in (upper, lower)]
    assert (signed[0] >> 12 << 12) + (signed[1] >> 20) == distance
