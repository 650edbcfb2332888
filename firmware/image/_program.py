"""The reference firmware as RISC-V code: reset, trap, idle loop and control dispatch.

The device stores the address of a control command into the mailbox and raises the machine external
interrupt; the firmware looks the operation up, calls it, stores status and detail and empties the
mailbox. Calling convention of an operation: a0 is the command's address; it returns `Status` in a0
and the reply's detail in a1.

With `Behaviour.REFERENCE` the device carries out the operations itself and never runs this code.
So the code refuses what it does not do: NOP works, every other operation answers UNSUPPORTED.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from firmware.abi.control import ControlOpcode
from firmware.abi.status import Status
from firmware.image import _riscv as rv
from firmware.image._assembler import Assembler, Program
from firmware.image._riscv import Csr, Reg

MAILBOX_COMMAND: Final = 0x00
"""Address of the command to carry out, or 0; the device stores it, the firmware clears it."""
MAILBOX_STATUS: Final = 0x08
MAILBOX_DETAIL: Final = 0x10
MAILBOX_VERSION: Final = 0x18
"""ABI version of the firmware (`AbiVersion`)."""
MAILBOX_SIZE: Final = 0x20

TABLE_ENTRIES: Final = max(ControlOpcode) + 1
"""Entries of the dispatch table: one address for each opcode, also for those without a meaning."""

_SAVED: Final = (
    *(Reg.RA, Reg.T0, Reg.T1, Reg.T2, Reg.A0, Reg.A1, Reg.A2, Reg.A3),
    *(Reg.A4, Reg.A5, Reg.A6, Reg.A7, Reg.T3, Reg.T4, Reg.T5, Reg.T6),
)
"""What a called function may change. 16 registers keep the stack aligned to 16 bytes."""
_FRAME: Final = 8 * len(_SAVED)
_MSTATUS_MIE: Final = 1 << 3
_MIE_EXTERNAL_BIT: Final = 11


class DataAddresses(NamedTuple):
    """Where the data stands that the code uses."""

    control_table: int
    mailbox: int
    bss_start: int
    bss_end: int
    stack_top: int


def operation_name(opcode: ControlOpcode) -> str:
    """Return the symbol of the function that carries out `opcode`."""
    return f"op_{opcode.name.lower()}"


def assemble(base: int, data: DataAddresses) -> Program:
    """Return the firmware's code for `base`; the first instruction is the reset vector."""
    code = Assembler(base)
    _reset(code, data)
    _idle(code)
    _trap(code, data)
    _halt(code)
    _dispatch(code, data)
    _operations(code)
    return code.finish()


def control_table(program: Program) -> tuple[int, ...]:
    """Return the address of the function for every opcode from 0 on."""
    known = {int(opcode): program.address_of(operation_name(opcode)) for opcode in ControlOpcode}
    unknown = program.address_of("op_unknown")
    return tuple(known.get(opcode, unknown) for opcode in range(TABLE_ENTRIES))


def _reset(code: Assembler, data: DataAddresses) -> None:
    """Set up stack and trap vector, clear .bss, let the external interrupt in."""
    code.function("reset")
    code.load_address(Reg.SP, data.stack_top)
    code.load_label(Reg.T0, "trap")
    code.emit(rv.csrw(Csr.MTVEC, Reg.T0))
    code.load_address(Reg.T0, data.bss_start)
    code.load_address(Reg.T1, data.bss_end)
    code.label("clear")
    code.emit_to("cleared", lambda offset: rv.bgeu(Reg.T0, Reg.T1, offset))
    code.emit(rv.sd(Reg.ZERO, Reg.T0, 0), rv.addi(Reg.T0, Reg.T0, 8))
    code.jump("clear")
    code.label("cleared")
    code.load_immediate(Reg.T0, 1)
    code.emit(
        rv.slli(Reg.T0, Reg.T0, _MIE_EXTERNAL_BIT),
        rv.csrw(Csr.MIE, Reg.T0),
        rv.csrsi(Csr.MSTATUS, _MSTATUS_MIE),
    )
    code.jump("idle")


def _idle(code: Assembler) -> None:
    """Sleep until an interrupt, for ever."""
    code.function("idle")
    code.emit(rv.WFI)
    code.jump("idle")


def _trap(code: Assembler, data: DataAddresses) -> None:
    """Serve the mailbox; an exception stops the firmware."""
    code.function("trap")
    code.emit(rv.addi(Reg.SP, Reg.SP, -_FRAME))
    code.emit(*(rv.sd(register, Reg.SP, 8 * i) for i, register in enumerate(_SAVED)))
    code.emit(rv.csrr(Reg.T0, Csr.MCAUSE))
    # The sign bit of mcause tells interrupts from exceptions.
    code.emit_to("halt", lambda offset: rv.bge(Reg.T0, Reg.ZERO, offset))
    code.load_address(Reg.T0, data.mailbox)
    code.emit(rv.ld(Reg.A0, Reg.T0, MAILBOX_COMMAND))
    code.emit_to("served", lambda offset: rv.beq(Reg.A0, Reg.ZERO, offset))
    code.call("dispatch")
    code.load_address(Reg.T0, data.mailbox)
    code.emit(
        rv.sd(Reg.A0, Reg.T0, MAILBOX_STATUS),
        rv.sd(Reg.A1, Reg.T0, MAILBOX_DETAIL),
        # The answer first, then the mailbox: who sees it empty sees the answer.
        rv.FENCE_WRITES,
        rv.sd(Reg.ZERO, Reg.T0, MAILBOX_COMMAND),
    )
    code.label("served")
    code.emit(*(rv.ld(register, Reg.SP, 8 * i) for i, register in enumerate(_SAVED)))
    code.emit(rv.addi(Reg.SP, Reg.SP, _FRAME), rv.MRET)


def _halt(code: Assembler) -> None:
    """Stop: no interrupt comes in any more."""
    code.function("halt")
    code.emit(rv.csrci(Csr.MSTATUS, _MSTATUS_MIE), rv.WFI)
    code.jump("halt")


def _dispatch(code: Assembler, data: DataAddresses) -> None:
    """Jump to the function of the command at a0 through the table."""
    code.function("dispatch")
    code.emit(rv.lhu(Reg.T0, Reg.A0, 0))
    code.load_immediate(Reg.T1, TABLE_ENTRIES)
    code.emit_to("op_unknown", lambda offset: rv.bgeu(Reg.T0, Reg.T1, offset))
    code.load_address(Reg.T2, data.control_table)
    code.emit(
        rv.slli(Reg.T0, Reg.T0, 3),
        rv.add(Reg.T2, Reg.T2, Reg.T0),
        rv.ld(Reg.T2, Reg.T2, 0),
        rv.jalr(Reg.ZERO, Reg.T2, 0),
    )


def _operations(code: Assembler) -> None:
    """Write one function for each opcode, one for unknown ones, one for those not done here."""
    for opcode in ControlOpcode:
        code.function(operation_name(opcode))
        if opcode is ControlOpcode.NOP:
            _return(code, Status.OK, 0)
        else:
            code.load_immediate(Reg.A1, opcode)
            code.jump("op_unsupported")
    code.function("op_unknown")
    code.emit(rv.lhu(Reg.A1, Reg.A0, 0))
    _return(code, Status.UNKNOWN_OPCODE)
    code.function("op_unsupported")
    _return(code, Status.UNSUPPORTED)


def _return(code: Assembler, status: Status, detail: int | None = None) -> None:
    """Return `status`, and `detail` unless a1 holds it already."""
    if detail is not None:
        code.load_immediate(Reg.A1, detail)
    code.load_immediate(Reg.A0, status)
    code.emit(rv.jalr(Reg.ZERO, Reg.RA, 0))
