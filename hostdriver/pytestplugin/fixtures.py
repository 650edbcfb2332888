"""The fixtures. Each imports what it needs when a test asks for it, so that no other test pays."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from hostdriver.pytestplugin.outcome import EVIDENCE, PART, has_failed, injects
from hostdriver.pytestplugin.seed import seed_of
from hostdriver.pytestplugin.settings import settings_of, wanted_by

if TYPE_CHECKING:
    from collections.abc import Generator

    from hostdriver import levelzero as ze
    from hostdriver.pytestplugin.emulator import PrivateEmulator
    from hostdriver.pytestplugin.injection import Injection
    from hostdriver.pytestplugin.pool import Pool
    from hostdriver.pytestplugin.processes import Processes
    from hostdriver.pytestplugin.program import ProgramRunner
    from hostdriver.pytestplugin.sweep import Fault


@pytest.fixture(scope="session")
def emuzero_pool() -> Generator[Pool]:
    """Keep what starts emulators, and those that tests share; for the other fixtures."""
    from hostdriver.pytestplugin.pool import Pool

    with contextlib.closing(Pool()) as pool:
        yield pool


@pytest.fixture(scope="session")
def emuzero_session_device(
    emuzero_pool: Pool, request: pytest.FixtureRequest
) -> Generator[PrivateEmulator]:
    """Run one emulator for the whole session, as the options say; for fixtures of your session.

    At the end nothing may be left in it.
    """
    from hostdriver.pytestplugin.leaks import check_leaks, snapshot

    wanted = replace(settings_of(request.config), scope="test")
    with emuzero_pool.lent(wanted) as emulator:
        before = snapshot(emulator)
        yield emulator
        if wanted.leaks and emulator.is_alive:
            check_leaks(before, emulator, "session")


@pytest.fixture
def emuzero_device(
    emuzero_pool: Pool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Generator[PrivateEmulator]:
    """Run an emulator for the test; `EMUZERO_SOCKET` names it meanwhile.

    Drivers of a test that has rules follow them: its own, and those of programs that it starts.
    The test fails when the emulator dies, or when something is left behind here or there.
    """
    from hostdriver.pytestplugin.evidence import Evidence
    from hostdriver.pytestplugin.leaks import check_leaks, snapshot

    item: pytest.Item = request.node
    wanted = wanted_by(item)
    with emuzero_pool.lent(wanted) as emulator:
        monkeypatch.setenv("EMUZERO_SOCKET", str(emulator.socket))
        if injects(item):
            _follow(monkeypatch)
        evidence = item.stash[EVIDENCE] = Evidence(emulator, seed_of(item.config))
        before = snapshot(emulator)
        yield emulator
        emulator.calm()
        with evidence.gathered_on_failure():
            if not has_failed(item):
                emulator.check_alive()
                if wanted.leaks and emulator.is_alive:
                    check_leaks(before, emulator)


@pytest.fixture
def emuzero_driver(
    emuzero_device: PrivateEmulator, request: pytest.FixtureRequest
) -> Generator[ze.Driver]:
    """Connect a driver to the test's emulator.

    The test fails when it made something with the driver and did not give it back.
    """
    from hostdriver import levelzero as ze
    from hostdriver.pytestplugin.leftovers import check_driver

    with ze.connect(emuzero_device.socket, start=None) as driver:
        yield driver
        emuzero_device.calm()
        item: pytest.Item = request.node
        if emuzero_device.wanted.leaks and not has_failed(item):
            with item.stash[EVIDENCE].gathered_on_failure():
                check_driver(driver)


@pytest.fixture
def emuzero_context(
    emuzero_driver: ze.Driver, emuzero_device: PrivateEmulator
) -> Generator[ze.Context]:
    """Make a context of all devices of the test's driver."""
    from hostdriver import levelzero as ze

    context = emuzero_driver.create_context()
    yield context
    emuzero_device.calm()
    # Of work that is not done the driver's fixture tells.
    with contextlib.suppress(ze.ZeError):
        if not context.destroyed:
            context.destroy()


@pytest.fixture
def emuzero_run(emuzero_device: PrivateEmulator) -> ProgramRunner:
    """Return what runs Level Zero programs under the test's emulator."""
    from hostdriver.pytestplugin.program import ProgramRunner

    return ProgramRunner(emuzero_device)


@pytest.fixture
def emuzero_processes(
    emuzero_device: PrivateEmulator, request: pytest.FixtureRequest
) -> Generator[Processes]:
    """Return what runs functions, scripts and programs in child processes, step by step.

    The test fails when one of them still runs at its end.
    """
    from hostdriver.pytestplugin.processes import Processes as Made

    item: pytest.Item = request.node
    evidence = item.stash[EVIDENCE]
    with contextlib.closing(Made(emuzero_device)) as processes:
        evidence.add(processes.sections)
        yield processes
        if not has_failed(item):
            with evidence.gathered_on_failure():
                processes.check_ended()


@pytest.fixture
def emuzero_inject(
    emuzero_device: PrivateEmulator,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Generator[Injection]:
    """Return what adds rules of fault injection to the test's emulator; they go with the test."""
    from hostdriver.pytestplugin import injection

    # Where it was asked for while the test runs, drivers that come now follow.
    _follow(monkeypatch)
    item: pytest.Item = request.node
    seed = seed_of(item.config)
    item.stash[EVIDENCE].add(partial(injection.fault_sections, emuzero_device))
    with contextlib.closing(injection.Injection(emuzero_device, seed)) as made:
        yield made


@pytest.fixture
def emuzero_fault(request: pytest.FixtureRequest) -> Fault | None:
    """Return what fails in this run of a test that is marked `emuzero_fail_nth`.

    None in the first run, in which nothing fails, and in tests without the marker.
    """
    item: pytest.Item = request.node
    return item.stash[PART].fault if PART in item.stash else None


def _follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drivers follow rules, here and in children, unless the environment has a word on it."""
    from hostdriver.inject.joining import FOLLOW_VARIABLE

    if FOLLOW_VARIABLE not in os.environ:
        monkeypatch.setenv(FOLLOW_VARIABLE, "1")


__all__ = [
    "emuzero_context",
    "emuzero_device",
    "emuzero_driver",
    "emuzero_fault",
    "emuzero_inject",
    "emuzero_pool",
    "emuzero_processes",
    "emuzero_run",
    "emuzero_session_device",
]
