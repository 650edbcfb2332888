"""Clients killed at random points: nothing is lost, nobody else notices."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.children import child
from tests.harness.commands import copy
from tests.harness.emulator_process import emulator_process
from tests.harness.process_client import RawClient
from tests.harness.victim import GIFT, IN_FLIGHT, PAGE, READY, STEPS, TOKEN, Page

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.harness.children import Child
    from tests.harness.process_client import RawQueue

KILLS = 200
WINDOW = 1 << 36
STAGE = 1 << 37


class Survivor:
    """Another client that goes on working, and keeps open what victims exported."""

    def __init__(self, path: Path) -> None:
        self.client = RawClient(path, "survivor")
        self.vmid = self.client.space()
        self.queue: RawQueue = self.client.queue(self.vmid)
        object_id, self.stage = self.client.system(GIFT)
        self.client.map(self.vmid, STAGE, GIFT, object_id)

    def read(self) -> bytes:
        """Return what the open window holds, read through this client's page tables."""
        assert self.queue.run(copy(WINDOW, STAGE, GIFT))
        return bytes(self.stage.view)

    def close(self) -> None:
        self.stage.close()
        self.client.close()


def hunt(page: Page, chance: random.Random, pid: int) -> bool:
    """Kill a victim after a random number of steps; return whether a command was in flight."""
    goal = chance.randrange(25)
    while page.words[STEPS] < goal:
        pass
    # A few loads more, so that the kill falls anywhere within a step.
    for _ in range(chance.randrange(400)):
        page.words[STEPS]
    os.kill(pid, signal.SIGKILL)
    return bool(page.words[IN_FLIGHT])


def reap(breeder: Child) -> None:
    breeder.say("reap")
    assert breeder.hear() == str(-signal.SIGKILL)


@pytest.mark.case("D09")
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_hundred_clients_killed_at_random_points_cost_nothing(
    tmp_path: Path, chance: random.Random
) -> None:
    page_path = tmp_path / "page"
    page_path.write_bytes(bytes(PAGE))
    page = Page(page_path)
    in_flight = 0

    with (
        emulator_process(tmp_path) as emulator,
        child("tests.harness.victim", "breed", emulator.path, page_path) as breeder,
        contextlib.closing(Survivor(emulator.path)) as survivor,
    ):
        start = emulator.audit()
        for round_number in range(KILLS):
            page.clear()
            victim_seed = chance.randrange(1 << 32)
            breeder.say(str(victim_seed))
            pid = int(breeder.hear())
            while not page.words[READY]:
                pass
            token = bytes(page.memory[TOKEN])
            opened = None
            if round_number % 2:
                opened = survivor.client.open(survivor.vmid, token, WINDOW, GIFT, 0)
            in_flight += hunt(page, chance, pid)
            reap(breeder)
            after = emulator.audit()
            assert after.clients == start.clients, f"round {round_number}, victim {victim_seed}"
            if opened is not None:
                expected = bytes([victim_seed & 0xFF]) * GIFT
                assert survivor.read() == expected
                survivor.client.close_import(opened.import_id)
                after = emulator.audit()
            assert after.free_bytes == start.free_bytes, f"round {round_number}: {victim_seed}"
            assert after.objects == start.objects
            assert after.exports == after.imports == 0
            assert after.queues == start.queues
            assert after.descriptors == start.descriptors
            assert after.mappings == start.mappings
        sys.stdout.write(f"{in_flight} of {KILLS} kills hit a command in flight\n")

    assert in_flight >= KILLS // 2
