"""Commands of lists beside copies and fills: events, times, hints, barriers, chained structures."""

from collections.abc import Callable, Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair
from tests.harness.levelzero import fails

TIMES = ze.EventPoolFlags.KERNEL_TIMESTAMP | ze.EventPoolFlags.HOST_VISIBLE
UNKNOWN = ze.UnknownDesc(0x3001B)


@pytest.fixture(name="events")
def make_events(context: ze.Context) -> Iterator[list[ze.Event]]:
    """Return events that keep times."""
    with context.event_pool_create(ze.EventPoolDesc(4, TIMES)) as pool:
        events = [pool.event_create(ze.EventDesc(index)) for index in range(4)]
        yield events
        for event in events:
            event.destroy()


def numbers(context: ze.Context, pointer: int, count: int) -> list[int]:
    found = context.memory_read(pointer, 8 * count)
    return [int.from_bytes(found[at : at + 8], "little") for at in range(0, 8 * count, 8)]


def test_the_device_writes_its_clock(
    context: ze.Context,
    spec_pair: Pair,
    immediate: ze.CommandList,
    memory: int,
    events: list[ze.Event],
) -> None:
    before = spec_pair.now

    immediate.append_write_global_timestamp(memory, events[0])
    immediate.append_write_global_timestamp(memory + 8, None, [events[0]])
    immediate.host_synchronize()

    first, second, behind = numbers(context, memory, 3)
    assert before < first <= second <= spec_pair.now
    assert behind == 0
    with fails("UNSUPPORTED_ALIGNMENT", "multiple of 8"):
        immediate.append_write_global_timestamp(memory + 4)
    with fails("INVALID_NULL_POINTER"):
        immediate.append_write_global_timestamp(None)


def test_the_device_writes_the_times_of_events_where_offsets_say(
    context: ze.Context, immediate: ze.CommandList, memory: int, events: list[ze.Event]
) -> None:
    for event in events[:2]:
        immediate.append_memory_fill(memory + 4096, b"x", 4096, event)
    done = events[2]

    immediate.append_query_kernel_timestamps(events[:2], memory, None, done, events[:2])
    immediate.append_query_kernel_timestamps(events[:2], memory + 64, [40, 0])
    immediate.host_synchronize()

    times = [event.query_kernel_timestamp() for event in events[:2]]
    flat = [[*found.global_, *found.context] for found in times]
    assert all(start < end for start, end in (found.context for found in times))
    assert numbers(context, memory, 8) == flat[0] + flat[1]
    assert numbers(context, memory + 64, 9) == [*flat[1], 0, *flat[0]]
    assert done.is_signalled()


def test_times_that_cannot_be_written_are_refused(
    context: ze.Context, immediate: ze.CommandList, memory: int, events: list[ze.Event]
) -> None:
    pool = context.event_pool_create(ze.EventPoolDesc(1))
    plain = pool.event_create()

    with fails("INVALID_SYNCHRONIZATION_OBJECT", "keeps no timestamps"):
        immediate.append_query_kernel_timestamps([plain], memory)
    with fails("INVALID_NULL_HANDLE"):
        immediate.append_query_kernel_timestamps([None], memory)
    with fails("INVALID_NULL_POINTER"):
        immediate.append_query_kernel_timestamps(events, None)
    with fails("INVALID_SIZE", "1 offsets for 2"):
        immediate.append_query_kernel_timestamps(events[:2], memory, [0])
    with fails("UNSUPPORTED_ALIGNMENT"):
        immediate.append_query_kernel_timestamps(events[:1], memory, [4])
    immediate.host_synchronize(0)
    plain.destroy()
    pool.destroy()


def test_a_list_resets_an_event_between_its_commands(
    queue: ze.CommandQueue, commands: ze.CommandList, events: list[ze.Event]
) -> None:
    event, other = events[:2]
    commands.append_signal_event(event)
    commands.append_wait_on_events([event])
    commands.append_event_reset(event)
    commands.append_signal_event(other)
    commands.close()

    for _ in range(2):
        queue.execute_command_lists([commands])
        queue.synchronize()
        assert (event.is_signalled(), other.is_signalled()) == (False, True)
        other.host_reset()


def test_memory_of_another_context_is_copied(
    context: ze.Context,
    spec_pair: Pair,
    device: ze.Device,
    immediate: ze.CommandList,
    memory: int,
    events: list[ze.Event],
) -> None:
    with spec_pair.driver.create_context() as other:
        source = other.mem_alloc_device(device, 4096)
        other.memory_write(source, b"theirs")

        immediate.append_memory_copy_from_context(memory, other, source, 6, events[0])
        events[0].host_synchronize()

        assert context.memory_read(memory, 6) == b"theirs"
        with fails("INVALID_NULL_HANDLE", "hContextSrc"):
            immediate.append_memory_copy_from_context(memory, None, source, 6)
        immediate.host_synchronize()
        other.mem_free(source)


def test_hints_and_barriers_change_no_byte(
    context: ze.Context, device: ze.Device, immediate: ze.CommandList, memory: int
) -> None:
    context.memory_fill(memory, b"stay", 4096)

    immediate.append_memory_prefetch(memory, 4096)
    immediate.append_memory_prefetch(memory, 0)
    for advice in ze.MemoryAdvice:
        immediate.append_mem_advise(device, memory, 4096, advice)
    immediate.append_memory_ranges_barrier([(memory, 64), (memory + 64, 4032)])
    immediate.append_barrier()
    immediate.host_synchronize()

    assert context.memory_read(memory, 4096) == b"stay" * 1024


def test_wrong_hints_and_barriers_are_refused(
    device: ze.Device, immediate: ze.CommandList, memory: int
) -> None:
    with fails("INVALID_ARGUMENT", "no memory of this driver"):
        immediate.append_memory_prefetch(id(memory), 8)
    with fails("INVALID_NULL_POINTER"):
        immediate.append_memory_prefetch(None, 8)
    with fails("INVALID_NULL_HANDLE", "hDevice"):
        immediate.append_mem_advise(None, memory, 8, 0)
    with fails("INVALID_ENUMERATION", "advice is 99"):
        immediate.append_mem_advise(device, memory, 8, 99)
    with fails("INVALID_NULL_POINTER", "pRanges"):
        immediate.append_memory_ranges_barrier(None)
    with fails("INVALID_NULL_POINTER", "pRanges"):
        immediate.append_memory_ranges_barrier([(None, 8)])
    with fails("INVALID_NULL_HANDLE", "hEvent"):
        immediate.append_signal_event(None)
    with fails("INVALID_NULL_HANDLE", "hEvent"):
        immediate.append_event_reset(None)
    with fails("INVALID_NULL_HANDLE", "hEvent"):
        immediate.append_wait_on_events([None])


@pytest.mark.decision("C18", profile="spec")
def test_forms_with_parameters_pass_over_what_they_do_not_know_and_say_so(
    context: ze.Context,
    spec_pair: Pair,
    immediate: ze.CommandList,
    commands: ze.CommandList,
    memory: int,
    events: list[ze.Event],
) -> None:
    commands.append_memory_fill(memory + 8, b"list", 4)
    commands.close()
    chain = [UNKNOWN]
    appends: list[Callable[[], None]] = [
        lambda: immediate.append_memory_fill(memory, b"fill", 4, p_next=chain),
        lambda: immediate.append_memory_copy(memory + 4, memory, 4, events[0], p_next=chain),
        lambda: immediate.append_wait_on_events([events[0]], p_next=chain),
        lambda: immediate.append_signal_event(events[1], p_next=chain),
        lambda: immediate.immediate_append_command_lists(
            [commands], events[2], [events[1]], p_next=chain
        ),
    ]
    for append in appends:
        append()
        assert "0x3001b" in spec_pair.driver.get_last_error_description().lower()

    immediate.host_synchronize()

    assert context.memory_read(memory, 12) == b"fillfilllist"
    assert events[2].is_signalled()


def test_engines_meet_in_the_middle_of_their_lists(
    context: ze.Context, device: ze.Device, memory: int, events: list[ze.Event]
) -> None:
    # Neither list can end before the other has begun: they run side by side.
    here, there = events[:2]
    queues = [context.command_queue_create(device, ze.CommandQueueDesc(ordinal=n)) for n in (0, 1)]
    lists = [context.command_list_create(device, ze.CommandListDesc(n)) for n in (0, 1)]
    lists[0].append_memory_fill(memory, b"0", 1, here)
    lists[0].append_memory_copy(memory + 2, memory + 1, 1, None, [there])
    lists[1].append_memory_fill(memory + 1, b"1", 1, there)
    lists[1].append_memory_copy(memory + 3, memory, 1, None, [here])

    for queue, commands in zip(queues, lists, strict=True):
        commands.close()
        queue.execute_command_lists([commands])
    for queue in queues:
        queue.synchronize()

    assert context.memory_read(memory, 4) == b"0110"
    for commands, queue in zip(lists, queues, strict=True):
        commands.destroy()
        queue.destroy()
