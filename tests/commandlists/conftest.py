"""Queues and lists on a real device in this process."""

from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair

MIB = 1 << 20


@pytest.fixture(name="spec_pair", scope="module")
def make_spec_pair() -> Iterator[Pair]:
    with pair() as made:
        yield made


@pytest.fixture(name="context")
def make_context(spec_pair: Pair) -> Iterator[ze.Context]:
    with spec_pair.driver.create_context() as made:
        yield made
    spec_pair.assert_nothing_left()


@pytest.fixture(name="driver")
def get_driver(spec_pair: Pair) -> ze.Driver:
    return spec_pair.driver


@pytest.fixture(name="memory")
def make_memory(context: ze.Context, device: ze.Device) -> Iterator[int]:
    """Return a pointer to a MiB of device memory."""
    pointer = context.mem_alloc_device(device, MIB)
    context.memory_fill(pointer, b"\0", MIB)
    yield pointer
    context.mem_free(pointer)


@pytest.fixture(name="queue")
def make_queue(context: ze.Context, device: ze.Device) -> Iterator[ze.CommandQueue]:
    made = context.command_queue_create(device)
    yield made
    made.destroy()


@pytest.fixture(name="commands")
def make_list(context: ze.Context, device: ze.Device) -> Iterator[ze.CommandList]:
    made = context.command_list_create(device)
    yield made
    made.destroy()


@pytest.fixture(name="immediate")
def make_immediate(context: ze.Context, device: ze.Device) -> Iterator[ze.CommandList]:
    made = context.command_list_create_immediate(device)
    yield made
    made.destroy()
