"""Hypothesis profiles: `default` is quick, `ci` repeatable, `nightly` long; chance; signals."""

import random
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.harness.chance import SEED, again, new_seed

# A loaded machine is no fault of the code: neither deadlines nor slow generation fail a test.
# Every profile says all that it means, since the library's own defaults differ under CI.
settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("default"), max_examples=200, derandomize=True)
settings.register_profile("nightly", settings.get_profile("default"), max_examples=5_000)
settings.load_profile("default")

# A shell lets what it starts in the background ignore SIGINT, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Return a generator with a seed of its own in each run; a failure tells how to repeat it."""
    seed = new_seed()
    request.node.stash[SEED] = seed
    return random.Random(seed)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and SEED in item.stash:
        report.sections.append(("Repeat it", again(item.nodeid, item.stash[SEED])))
    return report
