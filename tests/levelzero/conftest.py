"""A process with a fake device, and real devices and drivers in one process; by profile."""

from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import Pair, pair
from tests.harness.events import SMALL
from tests.harness.fake_session import FakeSession


@pytest.fixture(name="session")
def make_session() -> FakeSession:
    return FakeSession()


@pytest.fixture(name="state")
def make_state(session: FakeSession) -> DriverState:
    return session.state()


@pytest.fixture(name="intel")
def make_intel_state(session: FakeSession) -> DriverState:
    return session.state(profile=1)


@pytest.fixture(name="world")
def make_world() -> Iterator[Pair]:
    """Return a pair of the test's own."""
    with pair(SMALL) as made:
        yield made


@pytest.fixture(name="driver")
def get_driver(world: Pair) -> ze.Driver:
    return world.driver


@pytest.fixture(name="spec", scope="module")
def make_spec_pair() -> Iterator[Pair]:
    with pair() as made:
        yield made


@pytest.fixture(name="intel_pair", scope="module")
def make_intel_pair() -> Iterator[Pair]:
    with pair(profile="intel") as made:
        yield made


@pytest.fixture(name="strict")
def make_strict(spec: Pair) -> Iterator[ze.Context]:
    """Return a context with profile `spec`."""
    with spec.driver.create_context() as made:
        yield made
    spec.assert_nothing_left()


@pytest.fixture(name="loose")
def make_loose(intel_pair: Pair) -> Iterator[ze.Context]:
    """Return a context with profile `intel`."""
    with intel_pair.driver.create_context() as made:
        yield made
    intel_pair.assert_nothing_left()
