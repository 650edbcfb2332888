"""Functions of the program in lists: called in their order, once for each execution."""

import threading
from collections.abc import Iterator

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair
from tests.harness.levelzero import fails

SIZE = 64


@pytest.fixture(name="pool")
def make_pool(context: ze.Context) -> Iterator[ze.EventPool]:
    made = context.event_pool_create(ze.EventPoolDesc(4, ze.EventPoolFlags(5)))
    yield made
    made.destroy()


@pytest.fixture(name="host")
def make_host(context: ze.Context) -> Iterator[int]:
    pointer = context.mem_alloc_host(SIZE)
    context.memory_fill(pointer, b"\0", SIZE)
    yield pointer
    context.mem_free(pointer)


def test_a_function_sees_what_is_before_it_and_what_is_behind_sees_what_it_did(
    context: ze.Context, immediate: ze.CommandList, memory: int, host: int
) -> None:
    view = context.host_view(host, SIZE)
    seen: list[bytes] = []

    def change(data: object) -> None:
        seen.append(bytes(view[:4]))
        view[:4] = bytes(data) if isinstance(data, list) else b"none"

    immediate.append_memory_fill(host, b"a", SIZE)
    immediate.append_host_function(change, [1, 2, 3, 4])
    immediate.append_memory_copy(memory, host, SIZE)
    immediate.append_memory_fill(host, b"z", SIZE)
    immediate.append_host_function(change)
    immediate.host_synchronize()

    assert seen == [b"aaaa", b"zzzz"]
    assert context.memory_read(memory, 5) == b"\1\2\3\4a"
    assert bytes(view[:5]) == b"nonez"


def test_a_list_calls_its_functions_once_for_each_execution_wherever_it_runs(
    context: ze.Context,
    device: ze.Device,
    queue: ze.CommandQueue,
    commands: ze.CommandList,
    immediate: ze.CommandList,
) -> None:
    called: list[object] = []
    other = context.command_queue_create(device)
    commands.append_host_function(called.append, "first")
    commands.append_barrier()
    commands.append_host_function(called.append, "second")
    commands.close()
    assert called == []

    queue.execute_command_lists([commands, commands])
    queue.synchronize()
    assert called == ["first", "second"] * 2
    other.execute_command_lists([commands])
    other.synchronize()
    immediate.append_host_function(called.append, "before")
    immediate.immediate_append_command_lists([commands])
    immediate.host_synchronize()
    assert called[4:] == ["first", "second", "before", "first", "second"]

    commands.reset()
    commands.append_host_function(called.append, "anew")
    commands.close()
    called.clear()
    queue.execute_command_lists([commands])
    queue.synchronize()
    assert called == ["anew"]
    other.destroy()


def test_a_function_waits_for_its_events_and_signals_when_it_has_returned(
    pool: ze.EventPool, immediate: ze.CommandList
) -> None:
    go, done = (pool.event_create(ze.EventDesc(index)) for index in range(2))
    signalled: list[bool] = []

    immediate.append_host_function(
        lambda _: signalled.append(done.is_signalled()), None, done, [go]
    )
    with pytest.raises(ze.ZeError) as caught:
        immediate.host_synchronize(0)
    assert caught.value.result is ze.ZeResult.ZE_RESULT_NOT_READY
    assert signalled == []
    go.host_signal()
    done.host_synchronize()

    assert signalled == [False]
    assert done.is_signalled()
    times = done.query_kernel_timestamp()
    assert times.global_.kernel_start < times.global_.kernel_end
    immediate.host_synchronize()
    for event in (go, done):
        event.destroy()


def test_functions_of_different_lists_wait_for_each_other(
    context: ze.Context, device: ze.Device, pool: ze.EventPool, immediate: ze.CommandList
) -> None:
    other = context.command_list_create_immediate(device)
    first, second = (pool.event_create(ze.EventDesc(index)) for index in range(2))
    called: list[object] = []

    immediate.append_host_function(called.append, 3, wait_events=[second])
    other.append_host_function(called.append, 1, first)
    other.append_host_function(called.append, 2, second, [first])
    immediate.host_synchronize()

    assert called == [1, 2, 3]
    other.host_synchronize()
    for made in (first, second, other):
        made.destroy()


def test_a_synchronous_list_returns_when_the_function_has_returned(
    context: ze.Context, device: ze.Device
) -> None:
    called: list[object] = []
    mode = ze.CommandQueueMode.SYNCHRONOUS
    commands = context.command_list_create_immediate(device, ze.CommandQueueDesc(mode=mode))

    commands.append_host_function(called.append, 1)

    assert called == [1]
    commands.destroy()


def test_functions_come_in_order_however_many_stand_in_the_ring(
    immediate: ze.CommandList, spec_pair: Pair
) -> None:
    called: list[object] = []

    with spec_pair.hold():
        for number in range(1000):
            immediate.append_host_function(called.append, number)
    immediate.host_synchronize()

    assert called == list(range(1000))


def test_a_function_that_raises_is_told_of_and_the_list_goes_on(
    immediate: ze.CommandList, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    called: list[object] = []

    immediate.append_host_function(lambda _: 1 // 0)
    immediate.append_host_function(called.append, "behind")
    immediate.host_synchronize()

    assert called == ["behind"]
    assert [args.exc_type for args in told] == [ZeroDivisionError]


def test_a_function_may_use_the_driver(context: ze.Context, immediate: ze.CommandList) -> None:
    made: list[int] = []

    immediate.append_host_function(lambda _: made.append(context.mem_alloc_host(SIZE)))
    immediate.host_synchronize()

    context.mem_free(made[0])


def test_what_cannot_be_appended_says_why(
    context: ze.Context, commands: ze.CommandList, pool: ze.EventPool
) -> None:
    gone = pool.event_create(ze.EventDesc(0))
    gone.destroy()
    called: list[object] = []

    with fails("INVALID_NULL_POINTER", "pfnHostFunction"):
        commands.append_host_function(None)
    with fails("INVALID_NULL_HANDLE", "hEvent"):
        commands.append_host_function(called.append, wait_events=[None])
    with fails("INVALID_ARGUMENT", "destroyed"):
        commands.append_host_function(called.append, signal_event=gone)
    commands.close()
    with fails("INVALID_ARGUMENT", "closed"):
        commands.append_host_function(called.append)
    assert called == []


def test_a_list_with_a_function_that_has_not_returned_is_in_use(
    immediate: ze.CommandList, pool: ze.EventPool
) -> None:
    go = pool.event_create(ze.EventDesc(0))

    immediate.append_host_function(lambda _: None, wait_events=[go])
    with fails("HANDLE_OBJECT_IN_USE"):
        immediate.destroy()
    go.host_signal()
    immediate.host_synchronize()
    go.destroy()


@pytest.mark.parametrize("profile", ["spec", "intel"])
def test_functions_behind_a_fault_are_not_called_and_nobody_waits_for_them(profile: str) -> None:
    with pair(profile="spec" if profile == "spec" else "intel") as world:
        (device,) = world.driver.devices
        called: list[object] = []
        with world.driver.create_context() as context:
            pool = context.event_pool_create(ze.EventPoolDesc(count=2))
            go, done = (pool.event_create(ze.EventDesc(index)) for index in range(2))
            hole = context.virtual_mem_reserve(1 << 20)
            commands = context.command_list_create_immediate(device)
            commands.append_host_function(called.append, "before", None, [go])
            commands.append_memory_fill(hole, b"x", 1)
            commands.append_host_function(called.append, "behind", done)
            go.host_signal()

            with fails("DEVICE_LOST", "will not be signalled"):
                done.host_synchronize()
            with fails("DEVICE_LOST", "nothing is mapped there"):
                commands.host_synchronize()
            with fails("DEVICE_LOST"):
                commands.append_host_function(called.append, "late")
            assert called == ["before"]

            context.virtual_mem_free(hole, 1 << 20)
            for made in (commands, go, done, pool):
                made.destroy()
        world.assert_nothing_left()


def test_a_driver_that_closes_calls_nothing_any_more() -> None:
    called: list[object] = []
    with pair() as world:
        (device,) = world.driver.devices
        context = world.driver.create_context()
        pool = context.event_pool_create(ze.EventPoolDesc(count=1))
        go = pool.event_create(ze.EventDesc(0))
        commands = context.command_list_create_immediate(device)
        commands.append_host_function(called.append, wait_events=[go])
    assert called == []
