"""The command itself: help, errors and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from hostdriver.cli.exits import BadInput, CommandError, Exit, NoEmulator
from hostdriver.cli.main import COMMANDS, emuzero, run
from tests.harness.commandline import command_line, environment, start
from tests.harness.commandline import emuzero as run_emuzero

if TYPE_CHECKING:
    from pathlib import Path


def test_help_names_every_command_and_shows_examples() -> None:
    shown = CliRunner().invoke(emuzero, ["--help"])

    assert shown.exit_code == 0
    assert all(name in shown.output for name in COMMANDS)
    assert "emuzero status --watch" in shown.output
    assert "130  ended by Ctrl-C" in shown.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    shown = CliRunner().invoke(emuzero, [name, "-h"])

    assert shown.exit_code == 0
    assert shown.output.startswith("Usage: ")


@pytest.mark.parametrize("name", ["demo", "serve", "status"])
def test_help_of_a_command_documents_its_exit_codes(name: str) -> None:
    shown = CliRunner().invoke(emuzero, [name, "--help"])

    assert "Exit codes:" in shown.output


def test_version_is_told() -> None:
    shown = CliRunner().invoke(emuzero, ["--version"])

    assert shown.exit_code == 0
    assert shown.output.startswith("emuzero ")


@pytest.mark.parametrize("arguments", [["nonsense"], ["status", "--nonsense"], ["--nonsense"]])
def test_a_wrong_command_line_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == Exit.USAGE

    assert "Error: " in capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(CommandError, 1), (BadInput, 2), (NoEmulator, 3)])
def test_an_error_is_one_line_and_an_exit_code(error: type[CommandError], code: int) -> None:
    raised = error("first line\nsecond  line")

    assert raised.exit_code == code
    assert raised.format_message() == "first line second line"


def test_commands_are_imported_when_they_are_called() -> None:
    script = (
        "import sys; from hostdriver.cli.main import run; run(['--help']);"
        "print([m for m in ('trio', 'numpy', 'construct', 'rich', 'device') if m in sys.modules])"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )

    assert shown.stdout.endswith("[]\n")


def test_run_status_and_demo_do_without_the_device() -> None:
    script = (
        "import sys, hostdriver.cli.run;"
        "import hostdriver.cli.status.command, hostdriver.cli.demo.command;"
        "print([name for name in ('device', 'numpy', 'trio') if name in sys.modules])"
    )

    shown = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )

    assert shown.stdout == "[]\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_prints_what_the_shell_runs(shell: str) -> None:
    shown = CliRunner().invoke(emuzero, ["completion", shell])

    assert shown.exit_code == 0
    assert "_EMUZERO_COMPLETE" in shown.output
    assert "emuzero completion" in shown.output.splitlines()[0]


def test_a_shell_gets_commands_and_options_completed() -> None:
    def complete(words: str, number: int) -> list[str]:
        shown = run_emuzero(
            env={
                "_EMUZERO_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(number),
            }
        )
        return shown.stdout.splitlines()

    assert complete("emuzero s", 1) == ["plain,sweep", "plain,serve", "plain,status"]
    assert complete("emuzero status --w", 2) == ["plain,--watch"]
    assert complete("emuzero --ver", 1) == ["plain,--version"]
    for program in ("run ./pro", "run -- ./pro", "run ./program its/file", "trace -- ./pro"):
        words = f"emuzero {program}"
        assert complete(words, program.count(" ") + 1) == [f"file,{words.rsplit(maxsplit=1)[-1]}"]
    assert complete("emuzero trace --filter zeMemPutI", 3) == ["plain,zeMemPutIpcHandle"]


def test_a_reader_that_leaves_is_no_error_worth_words() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            command_line("completion", "fish"),
            stdout=write,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    finally:
        os.close(write)

    assert ended.stderr == b""
    assert ended.returncode == Exit.FAILED


def test_ctrl_c_ends_quietly_with_130(tmp_path: Path) -> None:
    # A listener that never answers keeps the command waiting.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()
        process = start("status", "--socket", tmp_path / "s")
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)

    assert process.returncode == Exit.INTERRUPTED
    assert errors.strip() == ""


def test_commands_are_click_commands() -> None:
    context = click.Context(emuzero)

    commands = [emuzero.get_command(context, name) for name in COMMANDS]

    assert all(isinstance(command, click.Command) for command in commands)
