"""Commands that are killed: nothing of theirs goes on, and nothing is left in the file system."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firmware.link.peer import ProcessPeer
from firmware.link.runtime_dir import connect_socket
from tests.harness.inner_pytest import plugin_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE_SECONDS = 60
PROGRAM = """
import os, sys
with open(sys.argv[1], "w") as told:
    print(os.getpid(), os.environ["EMUZERO_SOCKET"], file=told)
os.read(os.pipe()[0], 1)
"""
TESTS = """
import sys
def test_it_waits(emuzero_run):
    emuzero_run([sys.executable, "-c", PROGRAM, FIFO], timeout=600)
"""
COMMAND = (sys.executable, "-m", "hostdriver.cli")


class Begun:
    """A command whose program runs, and never ends by itself."""

    def __init__(self, command: Sequence[str], fifo: Path, folder: Path) -> None:
        self.command = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        pid, socket = fifo.read_text().split()
        self.program = os.pidfd_open(int(pid))
        self.socket = connect_socket(Path(socket))
        peer = ProcessPeer(self.socket)
        # Its parent is the command, or what begins processes for pytest.
        parent = Path(f"/proc/{peer.pid}/stat").read_text().rpartition(")")[2].split()[1]
        self.emulator = peer
        self.starter = os.pidfd_open(int(parent))

    def kill(self, number: int) -> None:
        self.command.send_signal(number)
        self.command.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.command.kill()
        self.command.wait()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.program, signal.SIGKILL)
        os.close(self.program)
        os.close(self.starter)
        self.emulator.close()


def ends(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], PATIENCE_SECONDS)[0])


def command_of(what: str, fifo: Path, folder: Path) -> Sequence[str]:
    program = (sys.executable, "-c", PROGRAM, str(fifo))
    if what != "pytest":
        return (*COMMAND, what, "--", *program)
    text = TESTS.replace("PROGRAM", repr(PROGRAM)).replace("FIFO", repr(str(fifo)))
    (folder / "test_waits.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin_arguments())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("what", ["sweep", "pytest", "run"])
def test_what_a_killed_command_began_ends_with_it(
    what: str, number: signal.Signals, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    begun = Begun(command_of(what, fifo, folder), fifo, folder)
    try:
        begun.kill(number)
        if what == "run":
            # Signals are the program's; what is killed alone leaves it without an emulator.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(begun.program, signal.SIGKILL)
        assert ends(begun.program)
        assert ends(begun.emulator.filenos()[0])
        assert ends(begun.starter)
        left = [str(path) for path in folder.glob("emuzero-*")]
        assert left == []
    finally:
        begun.close()
