"""A process with a fake device, by profile."""

import pytest

from hostdriver.core.state import DriverState
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
