"""A device process for tests, which tells on request whether anything was lost.

The child runs the real emulator (`device.shell`). A second task answers lines: `audit` runs every
`Device.check` and tells what the process holds, so that a test can compare before and after.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from device.core.spec import DeviceSpec
from device.shell.emulator import Emulator, EmulatorConfig
from hostdriver.channel.apart import DriverProcesses
from hostdriver.channel.host import Programs
from hostdriver.cli.emulator import NO_RULES, take_rules
from tests.harness.children import Child, child, hear, say
from tests.harness.socket_count import sent

if TYPE_CHECKING:
    from collections.abc import Generator

    from firmware.abi.statistics import DeviceStatistics

SMALL = 64 << 20
"""Device memory of most tests, in bytes."""


@dataclass(frozen=True)
class Audit:
    """What a device process holds."""

    free_bytes: int
    table_bytes: int
    objects: int
    spaces: int
    queues: int
    exports: int
    imports: int
    clients: int
    faults: int
    descriptors: int
    mappings: int

    @classmethod
    def of(cls, statistics: DeviceStatistics) -> Audit:
        return cls(
            free_bytes=statistics.free_bytes,
            table_bytes=statistics.table_bytes,
            objects=statistics.object_count,
            spaces=statistics.space_count,
            queues=statistics.queue_count,
            exports=statistics.export_count,
            imports=statistics.import_count,
            clients=statistics.client_count,
            faults=statistics.faults,
            descriptors=len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names only
            mappings=shared_mappings(),
        )


def shared_mappings() -> int:
    """Return how many memory files of the emulator this process has mapped."""
    return Path("/proc/self/maps").read_text().count("memfd:emuzero")


class EmulatorProcess:
    """A running device process."""

    def __init__(self, process: Child, path: Path) -> None:
        self.process = process
        self.path = path

    @property
    def pid(self) -> int:
        return self.process.pid

    def audit(self) -> Audit:
        """Run every invariant in the device process and return what it holds.

        Clients that died before this call are gone: the process looks for deaths first.
        """
        self.process.say("audit")
        answer = self.process.hear()
        assert answer.startswith("{"), answer
        return Audit(**json.loads(answer))

    def reset(self) -> None:
        """Have the first device reset itself, as after an error that it cannot survive."""
        self.process.say("reset")
        assert self.process.hear() == "reset"

    def sent(self) -> int:
        """Return how many messages the device process has sent on sockets."""
        self.process.say("sent")
        return int(self.process.hear())


@contextmanager
def emulator_process(
    folder: Path,
    *,
    vram_size: int = SMALL,
    device_count: int = 1,
    spec: str = "",
    image: bytes = b"",
    on_demand: bool = False,
    apart: bool = False,
) -> Generator[EmulatorProcess]:
    """Run a device process whose socket is in `folder`; `apart`: with drivers of their own."""
    path = folder / "device.sock"
    arguments = (path, vram_size, device_count, spec, image.hex(), "yes" if on_demand else "")
    ways = "yes" if apart else ""
    with child("tests.harness.emulator_process", "serve", *arguments, ways) as process:
        assert process.hear() == "ready"
        yield EmulatorProcess(process, path)


def serve(
    path: str,
    vram_size: str,
    device_count: str,
    spec: str,
    image: str,
    on_demand: str,
    apart: str,
) -> None:
    """Be the device process."""
    base = DeviceSpec.from_toml(spec + f"\nvram_size = {vram_size}\n")
    config = EmulatorConfig(
        socket_path=Path(path),
        specs=(base,) * int(device_count),
        image=bytes.fromhex(image) or None,
        on_demand=bool(on_demand),
    )
    trio.run(_serve, config, bool(apart))


async def _serve(config: EmulatorConfig, apart: bool) -> None:
    emulator = Emulator(config)
    path = str(config.socket_path)
    programs = None if apart else Programs(emulator.local, path)
    # A host without programs is false.
    host = DriverProcesses(emulator.local, path) if programs is None else programs
    emulator.serve_programs(host)
    take_rules(emulator, NO_RULES, programs)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_answer, emulator, nursery.cancel_scope)
            await emulator.run(ready=lambda: say("ready"))
            nursery.cancel_scope.cancel()
    finally:
        emulator.close()


async def _answer(emulator: Emulator, scope: trio.CancelScope) -> None:
    while True:
        await trio.lowlevel.wait_readable(sys.stdin.fileno())
        line = hear()
        if not line:
            scope.cancel()
            return
        if line == "reset":
            emulator.devices[0].reset(emulator.now())
        await emulator.pump.settled()
        if line == "reset":
            say("reset")
            continue
        say(sent() if line == "sent" else json.dumps(audit_of(emulator)))


def audit_of(emulator: Emulator) -> dict[str, int]:
    """Run every invariant; return what the process holds."""
    for device in emulator.devices:
        device.check()
    return vars(Audit.of(emulator.devices[0].statistics()))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
