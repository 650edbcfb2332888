"""A process with a fake device, and real devices and drivers in one process; by profile."""

from collections.abc import Iterator

import pytest

from hostdriver.core.state import DriverState
from hostdriver.testing.pair import Pair, pair
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


@pytest.fixture(name="spec_pair", scope="module")
def make_spec_pair() -> Iterator[Pair]:
    with pair() as made:
        yield made


@pytest.fixture(name="intel_pair", scope="module")
def make_intel_pair() -> Iterator[Pair]:
    with pair(profile="intel") as made:
        yield made
