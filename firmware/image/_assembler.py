"""Labels, functions and addresses on top of the instruction encoders."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, final

from firmware.image import _riscv as rv
from firmware.image.layout import INSTRUCTION_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable


class Function(NamedTuple):
    """A named run of instructions."""

    name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Program:
    """Assembled code."""

    code: bytes
    functions: tuple[Function, ...]

    def address_of(self, name: str) -> int:
        """Return the address of a function; KeyError when there is none of that name."""
        for function in self.functions:
            if function.name == name:
                return function.address
        raise KeyError(name)


@final
class Assembler:
    """Collects instructions from `base` on; `finish` gives the program.

    Owner: the function that writes a program. Invariant: every label names one address.
    """

    def __init__(self, base: int) -> None:
        self._base = base
        # What one place holds, once all labels are known: offset of the place -> instruction.
        self._places: list[Callable[[int], int]] = []
        self._labels: dict[str, int] = {}
        self._functions: list[str] = []

    def function(self, name: str) -> None:
        """Begin a function: it ends where the next one begins."""
        self.label(name)
        self._functions.append(name)

    def label(self, name: str) -> None:
        """Name the next instruction; ValueError when the name is taken."""
        if name in self._labels:
            raise ValueError(f"label {name!r} is defined twice")
        self._labels[name] = len(self._places) * INSTRUCTION_SIZE

    def emit(self, *words: int) -> None:
        """Add finished instructions."""
        self._places.extend(_always(word) for word in words)

    def emit_to(self, label: str, encode: Callable[[int], int]) -> None:
        """Add a branch or jump to `label`; `encode` gets its offset from the instruction."""
        self._places.append(lambda offset: encode(self._labels[label] - offset))

    def jump(self, label: str) -> None:
        """Add a jump to `label`."""
        self.emit_to(label, lambda offset: rv.jal(rv.Reg.ZERO, offset))

    def call(self, label: str) -> None:
        """Add a call of `label`."""
        self.emit_to(label, lambda offset: rv.jal(rv.Reg.RA, offset))

    def load_immediate(self, register: rv.Reg, value: int) -> None:
        """Load a number of 12 signed bits."""
        self.emit(rv.addi(register, rv.Reg.ZERO, value))

    def load_address(self, register: rv.Reg, address: int) -> None:
        """Load an absolute address, relative to the place (auipc and addi)."""
        here = self._base + len(self._places) * INSTRUCTION_SIZE
        upper, lower = _split(address - here)
        self.emit(rv.auipc(register, upper), rv.addi(register, register, lower))

    def load_label(self, register: rv.Reg, label: str) -> None:
        """Load the address of a label, relative to the place (auipc and addi)."""
        self.emit_to(label, lambda offset: rv.auipc(register, _split(offset)[0]))
        # The second instruction stands 4 behind, but adds to the address of the first.
        self.emit_to(
            label, lambda offset: rv.addi(register, register, _split(offset + INSTRUCTION_SIZE)[1])
        )

    def finish(self) -> Program:
        """Return the program; KeyError when a label is used but defined nowhere."""
        words = [place(i * INSTRUCTION_SIZE) for i, place in enumerate(self._places)]
        code = struct.pack(f"<{len(words)}I", *words)
        bounds = [*(self._labels[name] for name in self._functions), len(code)]
        functions = (
            Function(name, self._base + begin, end - begin)
            for name, (begin, end) in zip(self._functions, pairwise(bounds), strict=True)
        )
        return Program(code, tuple(functions))


def _always(word: int) -> Callable[[int], int]:
    """Return a place that holds `word` wherever it stands."""
    return lambda _offset: word


def _split(distance: int) -> tuple[int, int]:
    """Split a distance into the operands of auipc and addi; addi's is signed."""
    upper = (distance + 0x800) >> 12
    return upper, distance - (upper << 12)
