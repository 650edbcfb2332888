"""Both links pass the same suite; what each does in its own way follows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from firmware.abi.rings import COMPLETED
from firmware.link.errors import Stalled
from tests.harness.link_conformance import LinkConformance, completion
from tests.harness.link_pairs import PLAN, LinkPair, in_process_pair, shared_pair

if TYPE_CHECKING:
    from collections.abc import Generator


class TestSharedLink(LinkConformance):
    @pytest.fixture
    def pair(self) -> Generator[LinkPair]:
        with shared_pair() as pair:
            yield pair

    def test_the_two_ends_have_mappings_of_their_own(self, pair: LinkPair) -> None:
        assert pair.device.segment.address != pair.host.segment.address

    def test_bells_and_peers_have_descriptors_to_sleep_on(self, pair: LinkPair) -> None:
        assert pair.device.doorbell.fileno() is not None
        assert len(pair.device.peer.filenos()) == 2


class TestInProcessLink(LinkConformance):
    @pytest.fixture
    def pair(self) -> Generator[LinkPair]:
        with in_process_pair() as pair:
            yield pair

    def test_a_wait_steps_the_device_until_the_word_is_there(self, pair: LinkPair) -> None:
        store = pair.device.segment.words.store64
        for value in (1, 2, 3):
            pair.steps.append(partial(store, PLAN.ring_pool_offset + COMPLETED, value))

        assert pair.host.waiter.wait(completion(2), timeout_seconds=60)

        assert len(pair.steps) == 1

    def test_a_wait_that_nothing_can_end_is_an_error_and_no_hang(self, pair: LinkPair) -> None:
        with pytest.raises(Stalled, match="the device has nothing to do"):
            pair.host.waiter.wait(completion(1))

    def test_nobody_can_sleep_on_it(self, pair: LinkPair) -> None:
        assert pair.device.doorbell.fileno() is None
        assert pair.host.peer.filenos() == ()
