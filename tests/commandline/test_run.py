"""`emuzero run`: exit codes, environment, and an emulator that ends with its program."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


RUN = [sys.executable, "-m", "hostdriver.cli", "run"]
SHOW = "import os; print(os.environ['EMUZERO_SOCKET']); print(os.environ['ZE_ENABLE_ALT_DRIVERS'])"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *arguments], capture_output=True, text=True, check=False)


def test_a_program_finds_driver_and_emulator_in_its_environment() -> None:
    program = f"{SHOW}; from hostdriver import levelzero as ze; print(len(ze.connect().devices))"

    done = run("--devices", "2", "--vram", "64MiB", "--", sys.executable, "-c", program)

    socket, library, devices = done.stdout.split()
    assert done.returncode == 0
    assert devices == "2"
    assert library.endswith("libze_emuzero.so.1")
    assert not socket.startswith("/run/user")


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["/nosuch/program"], 127),
        (["/"], 126),
    ],
    ids=["status", "signal", "missing", "folder"],
)
@pytest.mark.slow
def test_the_exit_code_is_the_programs(program: list[str], code: int) -> None:
    assert run("--vram", "64MiB", "--", *program).returncode == code


@pytest.mark.slow
def test_a_specification_says_how_many_devices_there_are(tmp_path: Path) -> None:
    spec = tmp_path / "two.toml"
    spec.write_text("devices = 2\nvram_size = 67108864\n")
    program = "from hostdriver import levelzero as ze; print(len(ze.connect().devices))"

    done = run("--spec", str(spec), "--", sys.executable, "-c", program)

    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.slow
def test_a_specification_that_is_wrong_is_told_before_the_program_runs() -> None:
    done = run("--spec", "/nosuch.toml", "--", "echo", "ran")

    assert done.returncode == 2
    assert "ran" not in done.stdout
    assert "/nosuch.toml" in done.stderr


def test_a_program_inherits_descriptors_and_gets_none_of_the_command() -> None:
    ours, theirs = os.pipe()
    program = f"import os; os.write({theirs}, b'here'); print(*os.listdir('/proc/self/fd'))"

    shown = subprocess.run(
        [*RUN, "--vram", "64MiB", "--", sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        pass_fds=[theirs],
    ).stdout
    os.close(theirs)

    with os.fdopen(ours, "rb") as heard:
        assert heard.read() == b"here"
    # The last is the folder's own.
    assert len({int(number) for number in shown.split()} - {0, 1, 2, theirs}) == 1


WAITS = """
import os, signal, sys, time
def end(number, _):
    print("got", signal.Signals(number).name, flush=True)
    sys.exit(5)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), end)
print("terminal", os.isatty(0), *os.get_terminal_size(), flush=True) if os.isatty(0) else None
print("ready", flush=True)
signal.pause()
"""


def take_terminal() -> None:
    """Make standard input the terminal that controls this process, as a terminal's shell has it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(terminal: int, text: bytes) -> bytes:
    """Return what a terminal shows up to some text."""
    found = b""
    while text not in found:
        found += os.read(terminal, 4096)
    return found


@contextmanager
def in_terminal(*program: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Run a program in a terminal of 33 rows and 77 columns; yield the command and our end."""
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 33, 77, 0, 0))
    with subprocess.Popen(
        [*RUN, "--vram", "64MiB", "--", *program],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=take_terminal,  # noqa: PLW1509 - it holds no lock
    ) as process:
        os.close(theirs)
        try:
            yield process, terminal
        finally:
            process.kill()
            os.close(terminal)


def test_a_program_has_the_terminal_with_its_size_and_its_ctrl_c() -> None:
    with in_terminal(sys.executable, "-c", WAITS, "SIGINT") as (process, terminal):
        shown = read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        read_until(terminal, b"got SIGINT")
        code = process.wait(60)

    assert b"terminal True 77 33" in shown
    assert code == 5


def test_ctrl_c_that_the_program_does_not_take_ends_it() -> None:
    with in_terminal("sh", "-c", "echo ready; exec sleep 1000") as (process, terminal):
        read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        code = process.wait(60)

    assert code == 128 + signal.SIGINT


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_signals_reach_the_program(name: str) -> None:
    with subprocess.Popen(
        [*RUN, "--vram", "64MiB", "--", sys.executable, "-c", WAITS, name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, name))
        assert process.stdout.readline() == f"got {name}\n"
        assert process.wait(60) == 5


def test_the_emulator_ends_with_its_program_and_leaves_no_socket() -> None:
    program = "import os; print(os.environ['EMUZERO_SOCKET'])"

    socket = run("--vram", "64MiB", "--", sys.executable, "-c", program).stdout.strip()

    assert socket.endswith("/emulator.sock")
    assert not os.path.lexists(os.path.dirname(socket))  # noqa: PTH120 - a text
