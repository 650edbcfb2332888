"""What executing a list costs, counted: encoded once, and one doorbell tells of all commands."""

from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.core.commandlists import CommandList
from hostdriver.core.streamquestions import Offer
from hostdriver.testing.pair import Pair

COUNT = 200


@pytest.fixture(name="offers")
def make_offers(driver: ze.Driver) -> Iterator[list[Offer]]:
    """Return what is offered to rings from now on."""
    runner = driver._process.current().runner
    offers: list[Offer] = []
    runner.observer = lambda question, _: (
        offers.append(question) if isinstance(question, Offer) else None
    )
    yield offers
    runner.observer = None


def test_an_execution_is_one_doorbell_and_the_very_bytes_that_were_recorded(
    context: ze.Context,
    spec_pair: Pair,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    memory: int,
    offers: list[Offer],
) -> None:
    for number in range(COUNT):
        commands.append_memory_fill(memory + number, bytes([number]), 1)
    commands.close()
    assert isinstance(commands.target, CommandList)
    recorded = commands.target.recorded
    assert recorded is not None
    assert len(recorded) == 64 * COUNT

    for turn in range(1, 4):
        before = spec_pair.statistics()
        queue.execute_command_lists([commands])
        queue.synchronize()
        after = spec_pair.statistics()

        assert after.doorbells - before.doorbells == 1
        assert after.work_commands - before.work_commands == COUNT
        assert len(offers) == turn
        part = offers[-1].commands
        assert isinstance(part, memoryview)
        assert part.obj is recorded

    assert commands.target.recorded is recorded
    assert context.memory_read(memory, COUNT) == bytes(range(COUNT))


def test_several_lists_and_a_fence_are_one_doorbell(
    spec_pair: Pair,
    context: ze.Context,
    device: ze.Device,
    queue: ze.CommandQueue,
    memory: int,
    offers: list[Offer],
) -> None:
    lists = [context.command_list_create(device) for _ in range(4)]
    for number, made in enumerate(lists):
        made.append_memory_fill(memory + number, b"x", 1)
        made.close()
    fence = queue.fence_create()
    before = spec_pair.statistics()

    queue.execute_command_lists(lists, fence)
    fence.host_synchronize()

    after = spec_pair.statistics()
    assert after.doorbells - before.doorbells == len(offers) == 1
    assert after.work_commands - before.work_commands == len(lists) + 1
    queue.synchronize()
    fence.destroy()
    for made in lists:
        made.destroy()


def test_an_append_to_an_immediate_list_is_one_doorbell(
    spec_pair: Pair, immediate: ze.CommandList, memory: int, offers: list[Offer]
) -> None:
    before = spec_pair.statistics()

    for _ in range(5):
        immediate.append_memory_fill(memory, b"x", 64)
    immediate.host_synchronize()

    after = spec_pair.statistics()
    assert after.doorbells - before.doorbells == len(offers) == 5
