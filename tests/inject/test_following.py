"""Rules reach drivers in processes of their own: Python programs, and `--driver process`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from firmware.inject import Site
from firmware.link.errors import AttachError
from hostdriver import levelzero as ze
from hostdriver.inject import follower
from hostdriver.inject.faces import methods
from hostdriver.inject.follower import Follower
from hostdriver.inject.joining import FOLLOW_VARIABLE, local
from hostdriver.inject.remote import Faults
from tests.harness.children import child, hear, say
from tests.harness.commandline import emuzero, serving
from tests.harness.emulator_process import emulator_process
from tests.harness.scripted import scripted

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator
    from pathlib import Path

    from tests.harness.emulator_process import EmulatorProcess

PATIENCE_SECONDS = 30
REFUSES = "api.zeMemAllocDevice refuse nth=2 name=second"
UNMAPS = "os.driver.map errno=ENOMEM nth=1 name=unmapped"
PROGRAM = """
import os
from hostdriver import levelzero as ze

def outcome(call):
    try:
        call()
    except ze.ZeError as error:
        return error.result.name
    return "worked"

with ze.connect(start=None) as driver, driver.create_context() as context:
    print(os.getpid())
    for _ in range(3):
        print(outcome(lambda: context.mem_alloc_device(driver.devices[0], 4096)))
    for _ in range(2):
        print(outcome(lambda: context.mem_alloc_host(4096)))
"""


@pytest.fixture(name="follows")
def make_follower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")


@pytest.fixture(name="faults")
def make_faults(emulator: EmulatorProcess) -> Generator[Faults]:
    with Faults(emulator.path) as faults:
        yield faults
        faults.clear(forget=True)
        faults.count(on=False)


def run(
    report: Path, *options: str, program: tuple[str, ...], stdin: str = ""
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run a program under an emulator of its own; return how it ended, and the report."""
    done = emuzero(
        *("run", "--vram", "64MiB", "--faults-report", report, *options, "--", *program),
        stdin=stdin,
    )
    return done, json.loads(report.read_text())


def result_of(context: ze.Context, driver: ze.Driver) -> str:
    """Allocate device memory once; return how that ended."""
    try:
        context.mem_free(context.mem_alloc_device(driver.devices[0], 4096))
    except ze.ZeError as error:
        return error.result.name
    return "worked"


def until(result: str, context: ze.Context, driver: ze.Driver) -> None:
    """Allocate until it ends so: rules of another process come a moment later."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := result_of(context, driver)) != result:
        assert time.monotonic() < end, found


def test_rules_fire_in_a_python_program_and_the_points_that_it_reaches_are_counted(
    tmp_path: Path,
) -> None:
    done, report = run(
        *(tmp_path / "report.json", "--count-points", "--fault", REFUSES, "--fault", UNMAPS),
        program=(sys.executable, "-c", PROGRAM),
    )

    assert done.returncode == 0, done.stderr
    pid, *results = done.stdout.split()
    unmapped = "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"
    assert results[0] == "worked"
    assert results[1].startswith("ZE_RESULT_ERROR")
    assert results[2:] == ["worked", unmapped, "worked"]
    hits = [(hit["rule"], hit["by"], hit["site"]["pid"]) for hit in report["hits"]]
    assert hits == [("second", int(pid), int(pid)), ("unmapped", int(pid), int(pid))]
    assert "name=second   seen 3, fired 1" in done.stderr
    rows = {row["name"]: (row["seen"], row["fired"]) for row in report["rules"]}
    assert rows["second"] == (3, 1)
    points = {point["point"]: point["reached"] for point in report["coverage"]["points"]}
    assert points["api.zeMemAllocDevice"] == 3
    assert points["api.zeMemAllocHost"] == 2
    assert points["os.driver.map"] >= 2
    assert "api.zeMemFree" in report["coverage"]["never_reached"]


@pytest.mark.usefixtures("follows")
def test_a_rule_of_this_process_is_in_force_when_it_was_added_and_gone_when_removed(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    plain = [vars(kind)[name] for kind, name, *_ in methods()]
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        assert result_of(context, driver) == "worked"
        with faults.injected("api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST name=mine"):
            assert result_of(context, driver) == "ZE_RESULT_ERROR_DEVICE_LOST"
            assert result_of(context, driver) == "ZE_RESULT_ERROR_DEVICE_LOST"
            assert [(row.seen, row.fired) for row in faults.rules().rules] == [(2, 2)]
        assert [vars(kind)[name] for kind, name, *_ in methods()] == plain
        assert result_of(context, driver) == "worked"
        assert [hit.by for hit in faults.hits(rule="mine")] == [os.getpid()] * 2
    assert local == []


@pytest.mark.usefixtures("follows")
def test_a_rule_of_another_process_is_followed(emulator: EmulatorProcess) -> None:
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        with child("tests.inject.test_following", "rule_for", emulator.path) as other:
            assert other.hear() == "added"
            until("ZE_RESULT_ERROR_DEVICE_LOST", context, driver)
            other.kill()
        # It held its rule, which went with it.
        until("worked", context, driver)


@pytest.mark.usefixtures("follows")
def test_a_child_after_fork_follows_by_itself_and_the_parent_goes_on(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.add("api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST nth=2 name=each")
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        assert result_of(context, driver) == "worked"
        forked = os.fork()
        if not forked:
            # The first call attaches the child, which follows from then on.
            results = [result_of(context, driver) for _ in range(3)]
            os._exit(0 if results == ["worked", "worked", "ZE_RESULT_ERROR_DEVICE_LOST"] else 1)
        assert os.waitpid(forked, 0)[1] == 0
        assert result_of(context, driver) == "ZE_RESULT_ERROR_DEVICE_LOST"
        assert [hit.by for hit in faults.hits(rule="each")] == [forked, os.getpid()]


@pytest.mark.usefixtures("follows")
def test_closed_drivers_leave_no_descriptor(emulator: EmulatorProcess) -> None:
    with ze.connect(emulator.path, start=None):
        pass
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    with ze.connect(emulator.path, start=None), ze.connect(emulator.path, start=None):
        pass

    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_who_has_ended_follows_and_tells_no_more(emulator: EmulatorProcess, faults: Faults) -> None:
    faults.add("api.zeMemAllocDevice refuse name=mine")
    ended = Follower(emulator.path, "ended", os.getpid())
    assert ended.injector.has("mine")
    ended.close()

    ended.tell()
    ended.catch_up()
    ended.close()

    assert (ended.injector.rules(), ended.board.installed) == ((), 0)


def test_a_rule_for_one_of_several_drivers_reaches_it_alone_and_each_counts_for_itself(
    emulator: EmulatorProcess, faults: Faults
) -> None:
    faults.count()
    faults.add("api.zeMemFree refuse driver=2 name=second")
    names = ("numbered", "numbered", "numbered too")
    drivers = [Follower(emulator.path, name, os.getpid()) for name in names]
    for driver in drivers:
        driver.catch_up()
    assert [driver.number for driver in drivers] == [1, 2, 1]
    assert [driver.injector.has("second") for driver in drivers] == [False, True, False]
    hits = [driver.injector.ask("api.zeMemFree", Site()) is not None for driver in drivers]
    assert hits == [False, True, False]

    drivers[0].injector.ask("api.zeMemFree", Site())
    for driver in drivers:
        driver.close()

    assert [
        (row.process, row.driver, row.points["api.zeMemFree"])
        for row in faults.reached_by_drivers()
        if row.process.startswith("numbered")
    ] == [("numbered", 1, 2), ("numbered", 2, 1), ("numbered too", 1, 1)]
    assert [(row.seen, row.fired) for row in faults.rules().rules] == [(1, 1)]


def test_a_rule_is_in_force_at_once_where_the_first_answer_took_long(
    emulator: EmulatorProcess, faults: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late() -> float:
        monkeypatch.undo()
        return time.monotonic() + PATIENCE_SECONDS

    monkeypatch.setattr("hostdriver.inject.follower.time.monotonic", late)
    behind = Follower(emulator.path, "behind", os.getpid())
    faults.add("api.zeMemAllocDevice refuse name=mine")

    behind.catch_up()

    assert behind.injector.ask("api.zeMemAllocDevice", Site()) is not None
    behind.close()


def test_without_the_variable_no_driver_follows(emulator: EmulatorProcess, faults: Faults) -> None:
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        faults.add("api.zeMemAllocDevice refuse")
        assert result_of(context, driver) == "worked"


@pytest.mark.usefixtures("follows")
def test_the_end_of_the_emulator_ends_the_rules_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with emulator_process(tmp_path) as emulator:
        driver = ze.connect(emulator.path, start=None)
        (listening,) = (one for one in threading.enumerate() if one.name == "emuzero rules")
        with Faults(emulator.path) as faults:
            faults.add("api.zeContextCreate refuse=ZE_RESULT_ERROR_NOT_AVAILABLE", stay=True)
        with pytest.raises(ze.ZeError, match="by rule 'rule1'"):
            driver.create_context()
        emulator.process.kill()
        listening.join(PATIENCE_SECONDS)
        driver.create_context()
    driver.close()

    told = [record for record in caplog.records if "follows no rules any more" in record.message]
    assert len(told) == 1
    assert local == []


@pytest.mark.usefixtures("follows")
def test_a_driver_whose_talk_is_refused_goes_on_without_rules_and_warns_once(
    emulator: EmulatorProcess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path, name: str) -> None:
        raise AttachError(f"{name} is refused at {path}")

    monkeypatch.setattr(follower, "open_talk", refuse)
    with ze.connect(emulator.path, start=None) as driver, driver.create_context() as context:
        assert result_of(context, driver) == "worked"

    (told,) = [record for record in caplog.records if "follows no rules" in record.message]
    assert "is refused at" in told.message


@pytest.mark.slow
def test_rules_reach_the_driver_of_a_c_program_in_a_process_of_its_own(
    script: Path, tmp_path: Path
) -> None:
    done, report = run(
        *(tmp_path / "report.json", "--driver", "process"),
        *("--fault", "api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST nth=2 name=second"),
        program=(str(script),),
        stdin="start\ndevice 4096\ndevice 4096\ndevice 4096\n",
    )

    results = [int(line.split("|")[0], 0) for line in done.stdout.splitlines()]
    lost = ze.ZeResult.ZE_RESULT_ERROR_DEVICE_LOST
    assert results[1:] == [0, lost, 0], (done.stdout, done.stderr)
    (hit,) = report["hits"]
    assert (hit["rule"], hit["site"]["call"]) == ("second", "zeMemAllocDevice")
    # The driver is another process than the program.
    assert hit["by"] != hit["site"]["pid"]
    assert [row["fired"] for row in report["rules"]] == [1]


@pytest.mark.slow
@pytest.mark.usefixtures("follows")
def test_a_live_rule_is_followed_in_a_c_programs_driver_of_its_own(
    script: Path, tmp_path: Path
) -> None:
    with (
        serving(tmp_path, "--vram", "64MiB", "--driver", "process") as emulator,
        scripted(script, emulator.socket) as program,
        Faults(emulator.socket) as faults,
    ):
        program.get("start")
        pointer = program.get("host 4096")
        faults.add("api.zeMemFree refuse=ZE_RESULT_ERROR_DEVICE_LOST nth=1 name=late")
        end = time.monotonic() + PATIENCE_SECONDS
        while program.do(f"free {pointer}").result is ze.ZeResult.ZE_RESULT_SUCCESS:
            assert time.monotonic() < end
            pointer = program.get("host 4096")
        assert [hit.rule for hit in faults.hits()] == ["late"]
        faults.remove("late")
        program.get(f"free {pointer}")


def rule_for(path: str) -> None:
    """Hold a rule until killed; in a child."""
    with Faults(path) as faults:
        faults.add("api.zeMemAllocDevice refuse=ZE_RESULT_ERROR_DEVICE_LOST")
        say("added")
        hear()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
