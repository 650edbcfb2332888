"""Children of the demo: every wait ends, and every failure tells its cause."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.cli.demo.children import Child, ChildFailed

if TYPE_CHECKING:
    from collections.abc import Generator

SHORT = 0.3
LONG = 30


@contextmanager
def child(script: str, name: str = "exporter") -> Generator[Child]:
    made = Child(name, ["-c", script])
    try:
        yield made
    finally:
        made.end()


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_lines_are_heard_one_by_one() -> None:
    with child("print('one\\ntwo', flush=True); input()") as talking:
        assert talking.hear(LONG) == b"one"
        assert talking.hear(LONG) == b"two"


def test_what_it_is_told_arrives_and_the_end_of_it_too() -> None:
    with child("import sys; print(len(sys.stdin.buffer.read()))") as reading:
        reading.tell(b"x" * 1_000_000, LONG)
        reading.end_input()
        reading.end_input()

        assert reading.hear(LONG) == b"1000000"
        reading.finish(LONG)


def test_one_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with child("input()") as silent, pytest.raises(ChildFailed, match="exporter does not answer"):
        silent.hear(SHORT)


def test_one_that_reads_nothing_is_not_waited_for_for_ever() -> None:
    with (
        child("import time; time.sleep(600)") as deaf,
        pytest.raises(ChildFailed, match="does not answer"),
    ):
        deaf.tell(b"x" * 1_000_000, SHORT)


def test_one_that_ends_early_is_quoted() -> None:
    with (
        child("import sys; print('no memory', file=sys.stderr); sys.exit(1)") as failing,
        pytest.raises(ChildFailed, match=r"ended early \(exit code 1\): no memory"),
    ):
        failing.hear(LONG)


def test_one_that_has_ended_cannot_be_told_anything() -> None:
    with child("print('done')") as ended:
        ended.hear(LONG)
        ended.finish(LONG)

        with pytest.raises(ChildFailed, match="ended early"):
            ended.tell(b"x", LONG)


def test_a_bug_is_shown_whole(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        child("raise RuntimeError('oh')") as broken,
        pytest.raises(ChildFailed, match="RuntimeError: oh"),
    ):
        broken.hear(LONG)

    assert "Traceback" in capfd.readouterr().err


def test_the_end_of_another_ends_the_wait_and_is_the_cause() -> None:
    with (
        child("input()") as waiting,
        child("import sys; sys.exit('lost')", "device") as device,
        pytest.raises(ChildFailed, match=r"the device ended early .*: lost"),
    ):
        waiting.hear(LONG, [device])


def test_one_that_fails_after_all_is_noticed() -> None:
    with child("import sys; sys.exit(3)") as failing, pytest.raises(ChildFailed, match="code 3"):
        failing.finish(LONG)


def test_one_that_goes_on_is_noticed() -> None:
    with child("input()") as going, pytest.raises(ChildFailed, match="does not end"):
        going.finish(SHORT)


def test_one_that_ignores_signals_is_gone_all_the_same() -> None:
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('ready', flush=True); time.sleep(600)"
    )
    with child(script) as stubborn:
        stubborn.hear(LONG)
        begin = time.monotonic()
        stubborn.end()

        assert not is_running(stubborn.pid)
        assert time.monotonic() - begin < LONG


def test_ctrl_c_does_not_reach_it() -> None:
    with child("print('ready', flush=True); input()") as made:
        made.hear(LONG)

        assert os.getpgid(made.pid) != os.getpgid(0)
        assert os.getsid(made.pid) == made.pid
        os.kill(made.pid, signal.SIGKILL)


def test_modules_of_the_current_folder_do_not_take_the_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise RuntimeError('shadowed')")
    monkeypatch.chdir(tmp_path)

    with child("import msgspec, hostdriver.cli.demo.events; print('good')") as made:
        assert made.hear(LONG) == b"good"


def test_nothing_is_left_open() -> None:
    def open_count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_count()

    for _ in range(3):
        with child("input()"):
            pass

    assert open_count() == before


def test_what_a_child_started_ends_with_it() -> None:
    script = (
        "import os, signal, time\npid = os.fork()\nif pid: print(pid, flush=True)\ntime.sleep(60)\n"
    )
    with child(script) as parent:
        grandchild = int(parent.hear(LONG))

    status = Path(f"/proc/{grandchild}/status")
    deadline = time.monotonic() + LONG
    while status.exists() and "\nState:\tZ" not in status.read_text():
        assert time.monotonic() < deadline
