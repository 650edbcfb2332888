"""An idle device process: processor time and wake-ups after work, with a client attached."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from scripts.benchmarks.report import Row
from scripts.benchmarks.stand import SMALL, VA, attached, copy, device_process, submit_and_wait

QUIET_SECONDS = 3.0
CALM_SECONDS = 0.3
"""Time in which a device may still tidy up after work."""
COMMANDS = 2_000
TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """What a process has used."""

    seconds: float
    switches: int


def usage(pid: int) -> Usage:
    """Return processor time and context switches of all threads of a process."""
    seconds, switches = 0.0, 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        # The second field is a name in parentheses; the 14th and 15th are user and system time.
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) * TICK_SECONDS
        for line in (thread / "status").read_text().splitlines():
            if "ctxt_switches" in line:
                switches += int(line.split()[1])
    return Usage(seconds, switches)


def run() -> list[Row]:
    """Measure; return a row a figure."""
    with device_process() as device, attached(device) as client:
        vmid = client.space()
        client.map(vmid, VA, 1 << 20, client.vram(1 << 20))
        queue = client.queue(vmid)
        command = copy(VA, VA + (1 << 19), SMALL)
        for _ in range(COMMANDS):
            submit_and_wait(queue, command)
        time.sleep(CALM_SECONDS)
        before = usage(device.pid)
        time.sleep(QUIET_SECONDS)
        after = usage(device.pid)
    return [
        Row(
            what="processor time of an idle device",
            value=(after.seconds - before.seconds) / QUIET_SECONDS * 100,
            unit="%",
            limit=TICK_SECONDS / QUIET_SECONDS * 100,
            limit_is="the smallest that the system counts",
            bar=1,
        ),
        Row(
            what="context switches of an idle device, a second",
            value=(after.switches - before.switches) / QUIET_SECONDS,
            unit="1/s",
            limit=1.0,
            limit_is="one wake-up a second",
            bar=1,
        ),
    ]
