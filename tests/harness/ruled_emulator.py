"""A device process that takes rules of injection for the drivers of its C programs.

Lines besides those of `emulator_process`: `add RULE` answers the rule's name, `remove NAME` and
`count` answer "done", `fired NAME` how often it fired, `reached POINT` how often that was passed.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from device.core.spec import DeviceSpec
from device.shell.emulator import Emulator, EmulatorConfig
from firmware.inject import Board, Injector, parse_rule
from hostdriver.channel.host import Programs
from hostdriver.inject.programs import program_taps
from tests.harness.children import child, hear, say
from tests.harness.emulator_process import SMALL, EmulatorProcess, audit_of

if TYPE_CHECKING:
    from collections.abc import Generator


class RuledEmulator(EmulatorProcess):
    """A running device process, and the rules it has."""

    def add(self, rule: str) -> str:
        """Add a rule; return its name."""
        return self._ask(f"add {rule}")

    def remove(self, name: str) -> None:
        """Remove a rule."""
        assert self._ask(f"remove {name}") == "done"

    @contextmanager
    def rule(self, line: str) -> Generator[str]:
        """Have a rule meanwhile; it has to fire."""
        name = self.add(line)
        try:
            yield name
            assert self.fired(name)
        finally:
            self.remove(name)

    def fired(self, name: str) -> int:
        """Return how often a rule fired."""
        return int(self._ask(f"fired {name}"))

    def reached(self, point: str) -> int:
        """Return how often a point was passed while anybody counted."""
        return int(self._ask(f"reached {point}"))

    def count_all(self, *, wanted: bool = True) -> None:
        """Count all points, or only those with rules."""
        assert self._ask(f"count {'yes' if wanted else ''}") == "done"

    def wrappers(self) -> int:
        """Return how many wrappers are in."""
        return int(self._ask("wrappers"))

    def _ask(self, line: str) -> str:
        self.process.say(line)
        return self.process.hear()


@contextmanager
def ruled_emulator(folder: Path, *, device_count: int = 1) -> Generator[RuledEmulator]:
    """Run a device process whose socket is in `folder`."""
    path = folder / "device.sock"
    with child("tests.harness.ruled_emulator", "serve", path, device_count) as process:
        assert process.hear() == "ready"
        yield RuledEmulator(process, path)


class Rules:
    """The rules in the device process."""

    def __init__(self, programs: Programs) -> None:
        self._injector = Injector(time.monotonic, seed=7)
        self._board = Board(self._injector, program_taps(programs, self._injector))

    def answer(self, line: str) -> str:
        """Do what a line says; return the answer."""
        what, _, rest = line.partition(" ")
        match what:
            case "add":
                return self._update(self._injector.add(parse_rule(rest)))
            case "remove":
                self._injector.remove(rest)
                return self._update("done")
            case "count":
                self._injector.counts_all = bool(rest)
                return self._update("done")
            case "fired":
                return str(next(r.fired for r in self._injector.rules() if r.name == rest))
            case "wrappers":
                return str(self._board.installed)
            case _:
                points = self._injector.coverage().points
                return str(next(each.reached for each in points if each.point == rest))

    def _update(self, answer: str) -> str:
        self._board.update()
        return answer


def serve(path: str, device_count: str) -> None:
    """Be the device process."""
    spec = DeviceSpec.from_toml(f"vram_size = {SMALL}\n")
    config = EmulatorConfig(socket_path=Path(path), specs=(spec,) * int(device_count))
    trio.run(_serve, config)


async def _serve(config: EmulatorConfig) -> None:
    emulator = Emulator(config)
    programs = Programs(emulator.local, str(config.socket_path))
    emulator.serve_programs(programs)
    rules = Rules(programs)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_answer, emulator, rules, nursery.cancel_scope)
            await emulator.run(ready=lambda: say("ready"))
            nursery.cancel_scope.cancel()
    finally:
        emulator.close()


async def _answer(emulator: Emulator, rules: Rules, scope: trio.CancelScope) -> None:
    while True:
        await trio.lowlevel.wait_readable(sys.stdin.fileno())
        line = hear()
        if not line:
            scope.cancel()
            return
        await emulator.pump.settled()
        say(json.dumps(audit_of(emulator)) if line == "audit" else rules.answer(line))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
