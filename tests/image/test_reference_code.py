"""The reference image's code does what it says: it is executed here, instruction by instruction."""

import pytest

from firmware.abi.control import CONTROL_COMMANDS, ControlOpcode, Nop
from firmware.abi.registers import AbiVersion
from firmware.abi.status import Status
from firmware.image import FirmwareImage, load, reference_image
from firmware.image._program import (
    MAILBOX_COMMAND,
    MAILBOX_DETAIL,
    MAILBOX_STATUS,
    MAILBOX_VERSION,
)
from tests.harness.rv64 import MEPC, MIE, MSTATUS, MTVEC, Hart

COMMAND_AT = 0x9000_0000
UNKNOWN = [code for code in range(0x60) if code not in set(ControlOpcode)]


def address_of(image: FirmwareImage, name: str) -> int:
    symbol = image.symbols.named(name)
    assert symbol is not None
    return symbol.address


class Machine:
    """A hart with the image in memory that is full of ones where the image says nothing."""

    def __init__(self) -> None:
        self.image = load(reference_image())
        memory = {
            segment.address: bytearray(segment.data.ljust(segment.memory_size, b"\xff"))
            for segment in self.image.segments
        }
        memory[COMMAND_AT] = bytearray(64)
        self.hart = Hart(self.image.entry, memory)
        self.hart.run_until_asleep()
        self.mailbox = address_of(self.image, "mailbox")

    def execute(self, command: bytes) -> tuple[int, int]:
        """Put a command into the mailbox, interrupt, and return status and detail."""
        self.hart.memory[COMMAND_AT][:] = command
        self.hart.store(self.mailbox + MAILBOX_COMMAND, COMMAND_AT)
        self.hart.interrupt()
        self.hart.run_until_asleep()
        assert self.hart.load(self.mailbox + MAILBOX_COMMAND, 8) == 0
        status = self.hart.load(self.mailbox + MAILBOX_STATUS, 8)
        return status, self.hart.load(self.mailbox + MAILBOX_DETAIL, 8)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_reset_clears_the_stack_sets_the_trap_vector_and_sleeps(machine: Machine) -> None:
    hart, image = machine.hart, machine.image
    stack = image.symbols.named("stack")
    assert stack is not None

    assert image.symbolise(hart.pc) == "idle+0x4"
    assert hart.x[2] == stack.address + stack.size
    assert all(hart.load(stack.address + at, 8) == 0 for at in range(0, stack.size, 8))
    assert hart.csr[MTVEC] == address_of(image, "trap")
    assert hart.csr[MIE] == 1 << 11
    assert hart.csr[MSTATUS] == 1 << 3


def test_mailbox_tells_the_abi_version(machine: Machine) -> None:
    version = AbiVersion(machine.hart.load(machine.mailbox + MAILBOX_VERSION, 8))

    assert (version.major, version.minor) == (
        machine.image.note.abi_major,
        machine.image.note.abi_minor,
    )


def test_nop_succeeds(machine: Machine) -> None:
    assert machine.execute(Nop(request=1).pack()) == (Status.OK, 0)


@pytest.mark.parametrize("opcode", sorted(set(CONTROL_COMMANDS) - {ControlOpcode.NOP}))
def test_operations_that_the_code_does_not_do_are_refused(opcode: int, machine: Machine) -> None:
    command = opcode.to_bytes(2, "little").ljust(64, b"\0")

    assert machine.execute(command) == (Status.UNSUPPORTED, opcode)


@pytest.mark.parametrize("opcode", [*UNKNOWN, 0x100, 0x7FFF, 0xFFFF])
def test_unknown_opcodes_are_refused(opcode: int, machine: Machine) -> None:
    command = opcode.to_bytes(2, "little").ljust(64, b"\xff")

    assert machine.execute(command) == (Status.UNKNOWN_OPCODE, opcode)


def test_a_trap_restores_every_register_and_goes_on_where_it_was(machine: Machine) -> None:
    hart = machine.hart
    for register in set(range(1, 32)) - {2}:
        hart.x[register] = register << 32 | 0xABCD
    before, place = list(hart.x), hart.pc

    machine.execute(Nop(request=7).pack())

    assert hart.x == before
    assert hart.csr[MEPC] == place


def test_an_interrupt_without_a_command_changes_nothing(machine: Machine) -> None:
    hart = machine.hart
    before = list(hart.x), bytes(hart.memory[machine.mailbox])[:0x20]

    hart.interrupt()
    hart.run_until_asleep()

    assert (list(hart.x), bytes(hart.memory[machine.mailbox])[:0x20]) == before


def test_an_exception_halts_with_interrupts_off(machine: Machine) -> None:
    hart = machine.hart

    hart.interrupt(cause=2)
    hart.run_until_asleep()

    assert machine.image.symbolise(hart.pc).startswith("halt")
    assert hart.csr[MSTATUS] == 0
    hart.run_until_asleep()
    assert machine.image.symbolise(hart.pc).startswith("halt")
