"""Starting an emulator on demand: once, in the background, nobody's child."""

import contextlib
import os
import resource
import sys
import threading
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from firmware.link.errors import AttachError, NoResources
from firmware.link.locks import locked
from hostdriver import levelzero as ze
from hostdriver.runtime import ondemand
from tests.harness import background


def command(function: str, path: Path) -> list[str]:
    return [sys.executable, "-m", "tests.harness.background", function, str(path)]


@pytest.fixture(name="path")
def make_path(tmp_path: Path) -> Path:
    return tmp_path / "emulator.sock"


def start(path: Path) -> None:
    ondemand.start_command(path, command("listen", path))


def test_emulator_runs_in_the_background(path: Path) -> None:
    start(path)

    assert ondemand.listens(path)
    # It has noted its facts once it is told to end, perhaps not yet when it listens.
    background.end(path)
    parent, session, folder, descriptors = path.with_suffix(".facts").read_text().split()
    assert int(parent) != os.getpid()
    assert int(session) != os.getsid(0)
    assert folder == "/"
    # Its standard streams, the pipe, the socket, and the folder that it lists.
    assert int(descriptors) <= 6
    assert not ondemand.listens(path)


def test_what_it_says_is_logged(path: Path) -> None:
    start(path)
    background.end(path)

    assert ondemand.log_of(path).read_text() == "listening\n"


def test_emulator_that_ends_at_once_is_told_with_its_log(path: Path) -> None:
    with pytest.raises(AttachError, match="ended before it listened; its log: no room for"):
        ondemand.start_command(path, command("fail", path))


def test_command_that_does_not_exist_is_told(path: Path) -> None:
    with pytest.raises(AttachError, match="not found"):
        ondemand.start_command(path, ["/no/such/program"])


@contextlib.contextmanager
def no_descriptors() -> Generator[None]:
    """Let this process open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_nothing_is_started_and_that_is_told(path: Path) -> None:
    with no_descriptors(), pytest.raises(AttachError, match="Too many open files"):
        start(path)

    assert not ondemand.log_of(path).exists()


def test_who_has_no_descriptor_left_starts_no_second_emulator(path: Path) -> None:
    started: list[Path] = []

    with no_descriptors(), pytest.raises(NoResources, match="Too many open files"):
        ondemand.ensure_listener(path, started.append)

    assert not started


@pytest.mark.parametrize("is_named", [True, False])
def test_connecting_without_descriptors_is_one_error(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path.parent))
    monkeypatch.delenv("EMUZERO_SOCKET", raising=False)

    with no_descriptors(), pytest.raises(ze.ZeError, match="Too many open files"):
        ze.connect(path if is_named else None)


def test_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none" / "emulator.sock"

    with pytest.raises(AttachError, match="no emulator could be started"):
        start(path)
    with pytest.raises(AttachError, match="no emulator can be started"):
        ondemand.ensure_listener(path, start)


def test_emulator_that_never_listens_is_given_up(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ondemand, "PATIENCE_SECONDS", 0)

    # `cat` waits for the end of a pipe that the test holds.
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    script = f"exec cat /proc/{os.getpid()}/fd/{reader}"
    with pytest.raises(AttachError, match="does not listen after 0 s"):
        ondemand.start_command(path, ["/bin/sh", "-c", script])
    os.close(writer)
    os.close(reader)


def stopped_starter(path: Path) -> contextlib.ExitStack:
    """Return somebody who has the lock under which emulators are started, and never gives it."""
    held = contextlib.ExitStack()
    held.enter_context(locked(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT))
    return held


def test_who_waits_for_a_start_that_never_ends_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ondemand, "locked", partial(locked, patience_seconds=0.05))
    with stopped_starter(path), pytest.raises(AttachError, match="it may be stopped"):
        ondemand.ensure_listener(path, start)


def test_who_waits_for_a_start_goes_on_when_somebody_listens(path: Path) -> None:
    """Also when the one who started it never gives the lock back."""
    with stopped_starter(path):
        waiting = threading.Thread(target=ondemand.ensure_listener, args=(path, start))
        waiting.start()
        start(path)
        waiting.join(timeout=20)

        assert not waiting.is_alive()
    background.end(path)


def test_many_who_want_one_start_one(path: Path) -> None:
    started: list[Path] = []

    def once(where: Path) -> None:
        started.append(where)
        start(where)

    threads = [
        threading.Thread(target=ondemand.ensure_listener, args=(path, once)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert started == [path]
    background.end(path)


def test_command_of_the_emulator_names_socket_and_manner(path: Path) -> None:
    words = ondemand.emulator_command(path)

    assert words[0] == sys.executable
    assert words[1:] == ["-m", "hostdriver.cli", "serve", "--on-demand", "--socket", str(path)]


def test_log_that_is_missing_is_told(path: Path) -> None:
    assert "No such file" in ondemand.end_of_log(path)
    ondemand.log_of(path).touch()
    assert ondemand.end_of_log(path) == "(empty)"


def test_emulator_that_somebody_else_just_started_is_enough(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([False, True])

    def listens(_: Path) -> bool:
        return next(looks)

    monkeypatch.setattr(ondemand, "listens", listens)
    started: list[Path] = []

    ondemand.ensure_listener(path, started.append)

    assert started == []
