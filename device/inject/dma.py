"""DMA: copies and fills that stop in the middle, go elsewhere, or take their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import msgspec

from device.core.engine.steps import Later
from device.core.errors import EngineFault
from device.core.paging import walk
from device.inject.rounds import ticks
from device.inject.transfers import Transfer, begin, size_of
from firmware.abi.faults import FaultReason
from firmware.abi.ids import PAGE_SIZE, Access
from firmware.abi.work import Copy, CopyRegion, Fill, WorkFlags
from firmware.inject.actions import Delay, Lose, Partial, WrongPage

if TYPE_CHECKING:
    from device.core.engine import WorkQueue
    from device.core.engine.steps import Job
    from device.inject.commands import InjectedCommands, Run
    from device.inject.rounds import InjectedRounds
    from firmware.abi.work import WorkCommand
    from firmware.inject import Hit

LOOK_TICKS: Final = 1_000_000
"""How often a transfer that is delayed looks whether its rule has gone."""
_U64: Final = (1 << 64) - 1
_TO_CLIENT: Final = int(WorkFlags.CLIENT_DESTINATION)


@final
class DmaTap:
    """Reaches `dma.transfer` at each COPY, FILL and COPY_REGION, before its first byte is moved.

    It is decided for the whole command, so also for one that is moved in chunks by worker threads.
    """

    points = frozenset({"dma.transfer"})

    def __init__(self, rounds: InjectedRounds, commands: InjectedCommands) -> None:
        self._rounds = rounds
        self._commands = commands
        self._memory = rounds.inside.blocks.memory
        self._is_in = False

    def install(self) -> None:
        """Come in front of the executor, which then runs every command by itself."""
        self._commands.enter(self)
        self._is_in = True

    def remove(self) -> None:
        """Go out; delayed transfers go on when they look next."""
        self._commands.leave(self)
        self._is_in = False

    def execute(self, queue: WorkQueue, command: WorkCommand, run: Run) -> Job | None:
        """Run a command, or what a rule makes of it (see `Makes`)."""
        if not isinstance(command, Copy | Fill | CopyRegion):
            return run(command)
        hit = self._ask(queue, command)
        match None if hit is None else hit.action:
            case Partial(size=size):
                return self._in_part(queue, command, run, size, fails=True)
            case Lose(size=size):
                return self._in_part(queue, command, run, size, fails=False)
            case WrongPage(pages=pages):
                elsewhere = command.destination + pages * PAGE_SIZE & _U64
                moved = msgspec.structs.replace(command, destination=elsewhere)
                return run(moved)
            case Delay(seconds=seconds) if hit is not None:
                return self._later(command, run, hit, ticks(seconds))
            case _:
                return run(command)

    def _ask(self, queue: WorkQueue, command: Transfer) -> Hit | None:
        rounds = self._rounds
        site = rounds.site(
            rounds.state.clients.get(queue.client.client_id),
            ring=f"work{queue.queue_id}",
            opcode=command.OPCODE.name,
            address=command.destination,
            size=size_of(command),
        )
        return rounds.ask("dma.transfer", site)

    def _in_part(
        self, queue: WorkQueue, command: Transfer, run: Run, size: int, *, fails: bool
    ) -> Job | None:
        """Move the first bytes only; all of a transfer that has no more."""
        if size >= size_of(command):
            return run(command)
        parts, end = begin(command, max(0, size))
        return self._run(queue, command, run, parts, end, fails=fails)

    def _run(
        self,
        queue: WorkQueue,
        command: Transfer,
        run: Run,
        parts: list[Transfer],
        end: int,
        *,
        fails: bool,
    ) -> Job:
        for part in parts:
            job = run(part)
            if job is not None:
                yield from job
        if fails:
            raise self._fault(queue, command, end)

    def _fault(self, queue: WorkQueue, command: Transfer, va: int) -> EngineFault:
        if not int(command.flags) & _TO_CLIENT:
            found = walk(self._memory, queue.space.tables.root, va)
            if found.fault is None:
                return EngineFault(FaultReason.TRANSFER, va, Access.WRITE, found.level, found.entry)
        return EngineFault(FaultReason.TRANSFER, va, Access.WRITE)

    def _later(self, command: Transfer, run: Run, hit: Hit, wait: int) -> Job:
        """Wait, unless the rule goes meanwhile, then run the command as it is."""
        while wait > 0 and self._is_in and self._rounds.injector.has(hit.rule):
            yield Later(min(wait, LOOK_TICKS))
            wait -= LOOK_TICKS
        job = run(command)
        if job is not None:
            yield from job
