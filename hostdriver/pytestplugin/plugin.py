"""The plugin as pytest loads it: options, the marker, and what reports of tests say.

Every run of pytest in the environment imports this module. It imports pytest and nothing large: a
run that uses none of the fixtures does not notice it.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.pytestplugin.fixtures import (
    emuzero_context,
    emuzero_device,
    emuzero_driver,
    emuzero_fault,
    emuzero_inject,
    emuzero_pool,
    emuzero_processes,
    emuzero_run,
    emuzero_session_device,
)
from hostdriver.pytestplugin.outcome import EVIDENCE, FAIL_NTH, FAILED, PART
from hostdriver.pytestplugin.seed import add_seed, choose_seed, seed_of, tell_worker
from hostdriver.pytestplugin.settings import MARKER, add_settings, settings_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from hostdriver.pytestplugin.evidence import Evidence
    from hostdriver.pytestplugin.seed import Node


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_settings(parser)
    add_seed(parser)
    what = "folder for what is known of emulators whose tests failed"
    parser.getgroup("emuzero").addoption(
        "--emuzero-artefacts", dest="emuzero_artefacts", metavar="DIR", help=what
    )
    parser.getgroup("emuzero").addoption(
        "--emuzero-site",
        dest="emuzero_site",
        metavar="GLOB",
        help=f"only these sites of tests that are marked {FAIL_NTH}, such as 'memory.allocate#2'",
    )
    parser.addini("emuzero_artefacts", what, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and choose the seed."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(devices, vram, spec, profile, driver, scope, trace, leaks): what the emulator"
        " of the test is, and how the test is looked after (emuzero, docs/pytest.md)",
    )
    config.addinivalue_line(
        "markers",
        f"{FAIL_NTH}(*points_or_rules, at_most=100): run the test once more for each time that it"
        " reaches one of the points, which then fails (emuzero, docs/pytest.md)",
    )
    settings_of(config)
    choose_seed(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Node) -> None:
    """Tell a worker of xdist the seed."""
    tell_worker(node)


def pytest_report_header(config: pytest.Config) -> str:
    """Tell the seed."""
    return f"emuzero: --emuzero-seed={seed_of(config)}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note that a test has failed, and let its report tell of the emulator."""
    report = yield
    if report.failed:
        item.stash[FAILED] = True
        # The first failure tells all there is to tell.
        evidence = item.stash.get(EVIDENCE, None)
        if evidence is not None:
            del item.stash[EVIDENCE]
            _attach(item, report, evidence)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test that is marked so for each of its sites; leave all others to pytest."""
    if item.get_closest_marker(FAIL_NTH) is None or PART in item.stash:
        return None
    from hostdriver.pytestplugin.sweep import sweep

    sweep(item, nextitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a run that is none say why."""
    if PART in item.stash:
        item.stash[PART].prepare()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let a test fail during which its emulator died, unless it has failed by itself."""
    evidence = item.stash.get(EVIDENCE, None)
    part = item.stash.get(PART, None)
    if evidence is None:
        if part is not None:
            raise pytest.UsageError(f"{item.nodeid}: {FAIL_NTH} needs a fixture with an emulator")
        yield
        return
    with nullcontext() if part is None else part.running(evidence, seed_of(item.config)):
        yield
        evidence.emulator.check_alive()


def _attach(item: pytest.Item, report: pytest.TestReport, evidence: Evidence) -> None:
    report.sections += [(f"emuzero: {part.title}", part.text) for part in evidence.sections()]
    folder = item.config.getoption("emuzero_artefacts") or item.config.getini("emuzero_artefacts")
    if folder:
        from hostdriver.pytestplugin.evidence import folder_of

        place = Path(item.config.rootpath, str(folder), folder_of(item.nodeid))
        evidence.save(place)
        report.sections.append(("emuzero: files", str(place)))


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
    "pytest_addoption",
    "pytest_configure",
    "pytest_configure_node",
    "pytest_report_header",
    "pytest_runtest_call",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
]
