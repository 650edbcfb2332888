"""Queues and lists that are asked for what they cannot do, and what they tell of themselves."""

import pytest

from hostdriver import levelzero as ze
from tests.harness.levelzero import fails


def test_a_closed_list_takes_no_commands_until_it_is_reset(
    commands: ze.CommandList, memory: int
) -> None:
    commands.close()

    with fails("INVALID_ARGUMENT", "closed"):
        commands.append_memory_fill(memory, b"x", 1)
    with fails("INVALID_ARGUMENT", "closed already"):
        commands.close()
    commands.reset()
    commands.append_memory_fill(memory, b"x", 1)


def test_an_open_list_is_not_executed(queue: ze.CommandQueue, commands: ze.CommandList) -> None:
    with fails("INVALID_ARGUMENT", "not closed"):
        queue.execute_command_lists([commands])


def test_lists_run_on_their_own_group_only(
    context: ze.Context, device: ze.Device, queue: ze.CommandQueue, immediate: ze.CommandList
) -> None:
    copies = context.command_list_create(device, ze.CommandListDesc(1))
    copies.close()

    with fails("INVALID_COMMAND_LIST_TYPE", "group 1"):
        queue.execute_command_lists([copies])
    with fails("INVALID_COMMAND_LIST_TYPE", "immediate"):
        queue.execute_command_lists([immediate])
    other = context.command_queue_create(device, ze.CommandQueueDesc(ordinal=1, index=1))
    other.execute_command_lists([copies])
    other.synchronize()
    assert (other.get_ordinal(), other.get_index(), copies.get_ordinal()) == (1, 1, 1)
    other.destroy()
    copies.destroy()


def test_destroyed_handles_are_refused(context: ze.Context, device: ze.Device) -> None:
    queue, commands = context.command_queue_create(device), context.command_list_create(device)
    immediate = context.command_list_create_immediate(device)
    for handle in (queue, commands, immediate):
        handle.destroy()

    for call in (
        queue.destroy,
        queue.synchronize,
        commands.destroy,
        commands.close,
        commands.append_barrier,
        immediate.destroy,
        immediate.append_barrier,
        immediate.host_synchronize,
    ):
        with fails("INVALID_ARGUMENT", "destroyed"):
            call()


def test_queries_tell_what_a_list_was_made_with(context: ze.Context, device: ze.Device) -> None:
    desc = ze.CommandQueueDesc(
        ordinal=1,
        index=1,
        flags=ze.CommandQueueFlags.IN_ORDER,
        mode=ze.CommandQueueMode.ASYNCHRONOUS,
        priority=ze.CommandQueuePriority.PRIORITY_HIGH,
    )
    immediate = context.command_list_create_immediate(device, desc)
    flags = ze.CommandListFlags.IN_ORDER | ze.CommandListFlags.RELAXED_ORDERING
    commands = context.command_list_create(device, ze.CommandListDesc(0, flags))

    assert immediate.get_device_handle() is commands.get_device_handle() is device
    assert immediate.get_context_handle() is commands.get_context_handle() is context
    assert (immediate.get_ordinal(), commands.get_ordinal()) == (1, 0)
    assert (immediate.immediate_get_index(), immediate.immediate_get_flags()) == (1, 2)
    assert (immediate.immediate_get_mode(), immediate.immediate_get_priority()) == (2, 2)
    assert commands.get_flags() == flags
    with fails("INVALID_ARGUMENT", "not immediate"):
        commands.immediate_get_index()
    with fails("INVALID_ARGUMENT", "not immediate"):
        commands.host_synchronize()
    immediate.destroy()
    commands.destroy()


def test_what_is_not_offered_says_so(commands: ze.CommandList) -> None:
    for call in (
        commands.create_clone_exp,
        commands.get_next_command_id_exp,
        commands.get_next_command_id_with_kernels_exp,
        commands.is_mutable_exp,
        commands.update_mutable_commands_exp,
        commands.update_mutable_command_signal_event_exp,
        commands.update_mutable_command_wait_events_exp,
        commands.update_mutable_command_kernels_exp,
    ):
        with fails("UNSUPPORTED_FEATURE", "not offered"):
            call()


@pytest.mark.parametrize(
    ("desc", "result"),
    [
        (None, "INVALID_NULL_POINTER"),
        (ze.CommandQueueDesc(flags=ze.CommandQueueFlags(8)), "INVALID_ENUMERATION"),
        (ze.CommandQueueDesc(mode=3), "INVALID_ENUMERATION"),  # type: ignore[arg-type]
        (ze.CommandQueueDesc(priority=3), "INVALID_ENUMERATION"),  # type: ignore[arg-type]
        (ze.CommandQueueDesc(ordinal=2), "INVALID_ARGUMENT"),
        (ze.CommandQueueDesc(index=1), "INVALID_ARGUMENT"),
    ],
)
def test_wrong_descriptors_of_queues_and_immediate_lists_are_refused(
    context: ze.Context, device: ze.Device, desc: ze.CommandQueueDesc | None, result: str
) -> None:
    for make in (context.command_queue_create, context.command_list_create_immediate):
        with fails(result, ""):
            make(device, desc)


@pytest.mark.parametrize(
    ("desc", "result"),
    [
        (None, "INVALID_NULL_POINTER"),
        (ze.CommandListDesc(0, ze.CommandListFlags(64)), "INVALID_ENUMERATION"),
        (ze.CommandListDesc(0, ze.CommandListFlags.EXP_CLONEABLE), "UNSUPPORTED_ENUMERATION"),
        (ze.CommandListDesc(2), "INVALID_ARGUMENT"),
    ],
)
def test_wrong_descriptors_of_lists_are_refused(
    context: ze.Context, device: ze.Device, desc: ze.CommandListDesc | None, result: str
) -> None:
    with fails(result, ""):
        context.command_list_create(device, desc)


def test_null_handles_are_refused(context: ze.Context, queue: ze.CommandQueue) -> None:
    for make in (
        context.command_queue_create,
        context.command_list_create,
        context.command_list_create_immediate,
    ):
        with fails("INVALID_NULL_HANDLE", "hDevice"):
            make(None)
    with fails("INVALID_NULL_HANDLE", "phCommandLists"):
        queue.execute_command_lists([None])
    with fails("INVALID_NULL_POINTER", "phCommandLists"):
        queue.execute_command_lists(None)
    with fails("INVALID_SIZE", "numCommandLists"):
        queue.execute_command_lists([])


@pytest.mark.parametrize("offset", [(1 << 64) - 8, 1 << 64, -(1 << 60)])
def test_times_are_stored_at_no_address_that_does_not_exist(
    context: ze.Context, commands: ze.CommandList, memory: int, offset: int
) -> None:
    pool = context.event_pool_create(ze.EventPoolDesc(1, ze.EventPoolFlags.KERNEL_TIMESTAMP))
    event = pool.event_create()

    with fails("INVALID_ARGUMENT", "leads to no address"):
        commands.append_query_kernel_timestamps([event], memory, [offset])

    event.destroy()
    pool.destroy()
