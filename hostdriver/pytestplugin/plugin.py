"""The plugin as pytest loads it: options, the marker, and what reports of tests say.

Every run of pytest in the environment imports this module. It imports pytest and nothing large: a
run that uses none of the fixtures does not notice it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.pytestplugin.fixtures import (
    emuzero_context,
    emuzero_device,
    emuzero_driver,
    emuzero_pool,
    emuzero_processes,
    emuzero_run,
    emuzero_session_device,
)
from hostdriver.pytestplugin.outcome import EVIDENCE, FAILED
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
    parser.addini("emuzero_artefacts", what, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and choose the seed."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(devices, vram, spec, profile, driver, scope, trace, leaks): what the emulator"
        " of the test is, and how the test is looked after (emuzero, docs/pytest.md)",
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Let a test fail during which its emulator died, unless it has failed by itself."""
    yield
    if (evidence := item.stash.get(EVIDENCE, None)) is not None:
        evidence.emulator.check_alive()


def _attach(item: pytest.Item, report: pytest.TestReport, evidence: Evidence) -> None:
    report.sections += [(f"emuzero: {title}", text) for title, text in evidence.sections()]
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
]
