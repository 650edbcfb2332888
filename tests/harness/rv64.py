"""A hart that runs the few RV64 instructions of the reference image, one at a time.

Written from the specification, apart from the encoder, so that each is the oracle of the other.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

_MASK = (1 << 64) - 1
MSTATUS, MIE, MTVEC, MEPC, MCAUSE = 0x300, 0x304, 0x305, 0x341, 0x342
EXTERNAL_INTERRUPT = 1 << 63 | 11


def _sign(value: int, width: int) -> int:
    """Return the low `width` bits as a signed number."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


@dataclass
class Hart:
    """Registers, memory and program counter. Memory: address -> bytes that stand there."""

    pc: int
    memory: dict[int, bytearray]
    x: list[int] = field(default_factory=lambda: [0] * 32)
    csr: dict[int, int] = field(default_factory=dict)
    asleep: bool = False

    def run_until_asleep(self, limit: int = 10_000) -> None:
        """Step until wfi; AssertionError when that takes more than `limit` instructions."""
        self.asleep = False
        for _ in range(limit):
            self.step()
            if self.asleep:
                return
        raise AssertionError(f"still awake at {self.pc:#x}")

    def interrupt(self, cause: int = EXTERNAL_INTERRUPT) -> None:
        """Take a trap."""
        self.csr[MEPC], self.csr[MCAUSE] = self.pc, cause
        self.pc = self.csr[MTVEC]

    def load(self, address: int, size: int) -> int:
        """Load a little-endian number."""
        start, block = self._find(address, size)
        return int.from_bytes(block[address - start : address - start + size], "little")

    def store(self, address: int, value: int) -> None:
        """Store 64 bits."""
        start, block = self._find(address, 8)
        struct.pack_into("<Q", block, address - start, value & _MASK)

    def step(self) -> None:
        """Execute one instruction; AssertionError for one that the image should not have."""
        word = self.load(self.pc, 4)
        here, self.pc = self.pc, self.pc + 4
        rd, function = word >> 7 & 31, word >> 12 & 7
        a, b = self.x[word >> 15 & 31], self.x[word >> 20 & 31]
        match word & 0x7F:
            case 0x63:
                self._branch(here, word, function, a, b)
            case 0x67:
                self._set(rd, self.pc)
                self.pc = (a + _sign(word >> 20, 12)) & ~1
            case 0x6F:
                self._set(rd, self.pc)
                self.pc = here + self._jump_offset(word)
            case 0x23:
                assert function == 3
                self.store(a + _sign((word >> 25) << 5 | rd, 12), b)
            case 0x73:
                self._system(word, function, rd)
            case 0x0F:
                pass
            case opcode:
                self._set(rd, self._result(here, word, opcode, function, a, b))

    def _result(self, here: int, word: int, opcode: int, function: int, a: int, b: int) -> int:
        immediate = _sign(word >> 20, 12)
        match opcode, function:
            case 0x17, _:
                return here + (_sign(word >> 12, 20) << 12)
            case 0x13, 0:
                return a + immediate
            case 0x13, 1:
                return a << (word >> 20 & 63)
            case 0x33, 0:
                return a + b
            case 0x03, 3:
                return self.load(a + immediate, 8)
            case 0x03, 5:
                return self.load(a + immediate, 2)
            case _:
                raise AssertionError(f"instruction {word:#010x} at {here:#x}")

    def _branch(self, here: int, word: int, condition: int, a: int, b: int) -> None:
        bits = (word >> 31) << 12 | (word >> 7 & 1) << 11
        bits |= (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
        taken = {0: a == b, 5: _sign(a, 64) >= _sign(b, 64), 7: a >= b}[condition]
        if taken:
            self.pc = here + _sign(bits, 13)

    @staticmethod
    def _jump_offset(word: int) -> int:
        bits = (word >> 31) << 20 | (word >> 12 & 0xFF) << 12
        bits |= (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        return _sign(bits, 21)

    def _system(self, word: int, function: int, rd: int) -> None:
        csr, rs1 = word >> 20, word >> 15 & 31
        old = self.csr.get(csr, 0)
        match function:
            case 0 if word == 0x1050_0073:
                self.asleep = True
            case 0 if word == 0x3020_0073:
                self.pc = self.csr[MEPC]
            case 1:
                self._set(rd, old)
                self.csr[csr] = self.x[rs1]
            case 2:
                self._set(rd, old)
                self.csr[csr] = old | self.x[rs1]
            case 6:
                self._set(rd, old)
                self.csr[csr] = old | rs1
            case 7:
                self._set(rd, old)
                self.csr[csr] = old & ~rs1
            case _:
                raise AssertionError(f"system instruction {word:#010x}")

    def _set(self, register: int, value: int) -> None:
        if register:
            self.x[register] = value & _MASK

    def _find(self, address: int, size: int) -> tuple[int, bytearray]:
        for start, block in self.memory.items():
            if start <= address and address + size <= start + len(block):
                return start, block
        raise AssertionError(f"{size} bytes at {address:#x} are not memory")
