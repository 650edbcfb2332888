"""What all tests share: profiles of hypothesis, chance, signals, an emulator and its driver.

`default` is quick, `ci` repeatable, `nightly` long.
"""

import random
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from hostdriver import levelzero as ze
from tests.harness.chance import SEED, again, new_seed
from tests.harness.emulator_process import EmulatorProcess, emulator_process

# A loaded machine is no fault of the code: neither deadlines nor slow generation fail a test.
# Every profile says all that it means, since the library's own defaults differ under CI.
settings.register_profile(
    "default",
    max_examples=12,
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


@pytest.fixture(name="emulator", scope="session")
def make_emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatorProcess]:
    """Run one device process for all tests: none may leave anything behind."""
    with emulator_process(tmp_path_factory.mktemp("emulator")) as running:
        yield running


@pytest.fixture(name="driver")
def make_driver(emulator: EmulatorProcess) -> Generator[ze.Driver]:
    with ze.connect(emulator.path, start=None) as driver:
        yield driver


@pytest.fixture(name="context")
def make_context(driver: ze.Driver) -> ze.Context:
    return driver.create_context()


@pytest.fixture(name="device")
def get_device(driver: ze.Driver) -> ze.Device:
    return driver.devices[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and SEED in item.stash:
        report.sections.append(("Repeat it", again(item.nodeid, item.stash[SEED])))
    return report
