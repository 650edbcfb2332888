"""The few RV64I and Zicsr instructions that the reference image is made of.

Each function returns one instruction word; offsets of branches and jumps are in bytes, relative to
the instruction. Numbers that do not fit raise ValueError. Formats and encodings: RISC-V
Unprivileged ISA, chapters "RV32I" and "RV64I", and "Zicsr".
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

WFI: Final = 0x1050_0073
MRET: Final = 0x3020_0073
FENCE_WRITES: Final = 0x0110_000F
"""fence w, w: stores before it are seen before stores behind it."""


class Reg(IntEnum):
    """Integer registers by their ABI names."""

    ZERO = 0
    RA = 1
    SP = 2
    T0 = 5
    T1 = 6
    T2 = 7
    A0 = 10
    A1 = 11
    A2 = 12
    A3 = 13
    A4 = 14
    A5 = 15
    A6 = 16
    A7 = 17
    T3 = 28
    T4 = 29
    T5 = 30
    T6 = 31


class Csr(IntEnum):
    """Control and status registers of machine mode."""

    MSTATUS = 0x300
    MIE = 0x304
    MTVEC = 0x305
    MCAUSE = 0x342


def _signed(value: int, width: int, what: str) -> int:
    """Return the low `width` bits of a number that fits them in two's complement."""
    half = 1 << (width - 1)
    if not -half <= value < half:
        raise ValueError(f"{what} {value:#x} does not fit {width} signed bits")
    return value & ((1 << width) - 1)


def _even(value: int, width: int, what: str) -> int:
    if value % 4:
        raise ValueError(f"{what} {value:#x} is not a multiple of 4")
    return _signed(value, width, what)


def _i_type(opcode: int, funct3: int, rd: Reg, rs1: Reg, immediate: int) -> int:
    field = _signed(immediate, 12, "immediate")
    return field << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def _branch(funct3: int, rs1: Reg, rs2: Reg, offset: int) -> int:
    field = _even(offset, 13, "branch offset")
    high = (field >> 12 & 1) << 6 | (field >> 5 & 0x3F)
    low = (field >> 1 & 0xF) << 1 | (field >> 11 & 1)
    return high << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | low << 7 | 0x63


def auipc(rd: Reg, upper: int) -> int:
    """Encode rd = pc + (upper << 12) (20 signed bits)."""
    return _signed(upper, 20, "upper immediate") << 12 | rd << 7 | 0x17


def addi(rd: Reg, rs1: Reg, immediate: int) -> int:
    """Encode rd = rs1 + immediate."""
    return _i_type(0x13, 0, rd, rs1, immediate)


def slli(rd: Reg, rs1: Reg, amount: int) -> int:
    """Encode rd = rs1 << amount."""
    if not 0 <= amount < 64:
        raise ValueError(f"shift by {amount}, expected 0 to 63")
    return amount << 20 | rs1 << 15 | 1 << 12 | rd << 7 | 0x13


def add(rd: Reg, rs1: Reg, rs2: Reg) -> int:
    """Encode rd = rs1 + rs2."""
    return rs2 << 20 | rs1 << 15 | rd << 7 | 0x33


def lhu(rd: Reg, base: Reg, offset: int) -> int:
    """Encode a load of 16 bits, zero extended."""
    return _i_type(0x03, 5, rd, base, offset)


def ld(rd: Reg, base: Reg, offset: int) -> int:
    """Encode a load of 64 bits."""
    return _i_type(0x03, 3, rd, base, offset)


def sd(source: Reg, base: Reg, offset: int) -> int:
    """Encode a store of 64 bits."""
    field = _signed(offset, 12, "offset")
    return (field >> 5) << 25 | source << 20 | base << 15 | 3 << 12 | (field & 0x1F) << 7 | 0x23


def beq(rs1: Reg, rs2: Reg, offset: int) -> int:
    """Encode a branch if equal."""
    return _branch(0, rs1, rs2, offset)


def bge(rs1: Reg, rs2: Reg, offset: int) -> int:
    """Encode a branch if rs1 >= rs2, signed."""
    return _branch(5, rs1, rs2, offset)


def bgeu(rs1: Reg, rs2: Reg, offset: int) -> int:
    """Encode a branch if rs1 >= rs2, unsigned."""
    return _branch(7, rs1, rs2, offset)


def jal(rd: Reg, offset: int) -> int:
    """Encode a jump that leaves the return address in rd."""
    field = _even(offset, 21, "jump offset")
    places = (field >> 20 & 1) << 31 | (field >> 1 & 0x3FF) << 21
    places |= (field >> 11 & 1) << 20 | (field >> 12 & 0xFF) << 12
    return places | rd << 7 | 0x6F


def jalr(rd: Reg, base: Reg, offset: int) -> int:
    """Encode a jump to base + offset that leaves the return address in rd."""
    return _i_type(0x67, 0, rd, base, offset)


def csrw(csr: Csr, source: Reg) -> int:
    """Encode csr = source (csrrw with rd = zero)."""
    return csr << 20 | source << 15 | 1 << 12 | 0x73


def csrr(rd: Reg, csr: Csr) -> int:
    """Encode rd = csr (csrrs with rs1 = zero)."""
    return csr << 20 | 2 << 12 | rd << 7 | 0x73


def csrsi(csr: Csr, mask: int) -> int:
    """Encode csr |= mask, 5 bits."""
    return csr << 20 | _five_bits(mask) << 15 | 6 << 12 | 0x73


def csrci(csr: Csr, mask: int) -> int:
    """Encode csr &= ~mask, 5 bits."""
    return csr << 20 | _five_bits(mask) << 15 | 7 << 12 | 0x73


def _five_bits(mask: int) -> int:
    if mask < 0 or mask >> 5:
        raise ValueError(f"mask {mask:#x} does not fit 5 bits")
    return mask
