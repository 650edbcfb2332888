"""Freeing by policy on real devices: work that was submitted runs, the bytes go then."""

import pytest

from firmware.abi.control import QueueCreate, QueueKind, Release, ReleaseMode
from firmware.abi.extensions import Extension
from firmware.abi.replies import QueueCreated
from firmware.abi.work import FenceWait, FenceWrite, Fill, WorkCommand, WorkFlags
from hostdriver import levelzero as ze
from hostdriver.api import allocation, freeing
from hostdriver.api.memory_structures import MemoryFreeExtDesc
from hostdriver.core.calls import call
from hostdriver.core.questions import Submit
from hostdriver.core.state import DriverState
from hostdriver.testing.pair import Pair
from hostdriver.testing.waiting import Stuck
from tests.harness.fake_session import FakeSession, Steps, released
from tests.harness.levelzero import fails

PAGE = 64 << 10
NONE = WorkFlags.NONE
Policy = ze.DriverMemoryFreePolicyExtFlags
BLOCKING = MemoryFreeExtDesc(Policy.BLOCKING_FREE)
DEFERRED = MemoryFreeExtDesc(Policy.DEFER_FREE)
AT_ONCE = MemoryFreeExtDesc()


class HeldWork:
    """A queue whose commands run when `open` is called."""

    def __init__(self, driver: ze.Driver, slot: int = 0) -> None:
        self.driver = driver
        self.slot = slot
        self.queue = driver.run(self._queue).queue_id
        self.other = driver.run(self._queue).queue_id
        self._submit(self.queue, FenceWait(flags=NONE, tag=0, pool=0, slot=slot, value=1))

    def fill(self, va: int, value: bytes) -> None:
        pattern = value.ljust(16, b"\0")
        fill = Fill(
            flags=NONE, tag=0, destination=va, size_bytes=4096, pattern=pattern, pattern_size=1
        )
        self._submit(self.queue, fill)

    def open(self) -> None:
        self._submit(self.other, FenceWrite(flags=NONE, tag=0, pool=0, slot=self.slot, value=1))

    async def _queue(self, state: DriverState) -> QueueCreated:
        vmid = state.devices[0].vmid
        command = QueueCreate(request=0, vmid=vmid, kind=QueueKind.COPY, entry_count=16, priority=0)
        return await call(0, command, QueueCreated)

    def _submit(self, queue: int, command: WorkCommand) -> None:
        async def submit(_: DriverState) -> int:
            return await Submit(0, queue, (command.pack(),))

        self.driver.run(submit)


def allocate(context: ze.Context, kind: str, size: int = PAGE) -> int:
    if kind == "device":
        return context.mem_alloc_device(context.driver.devices[0], size)
    return context.mem_alloc_host(size) if kind == "host" else context.mem_alloc_shared(size)


anywhere = pytest.mark.parametrize("kind", ["device", "host", "shared"])


@anywhere
@pytest.mark.sentence("FREE-01", "FREE-02", "FREE-03", "FREE-10")
@pytest.mark.parametrize("desc", [AT_ONCE, BLOCKING, DEFERRED], ids=["0", "blocking", "deferred"])
def test_idle_memory_is_free_when_the_call_returns(
    world: Pair, context: ze.Context, kind: str, desc: MemoryFreeExtDesc
) -> None:
    before = world.statistics()
    pointer = allocate(context, kind)

    context.mem_free_ext(desc, pointer)

    after = world.statistics()
    assert after.free_bytes == before.free_bytes
    assert after.object_count == before.object_count
    assert context.mem_get_alloc_properties(pointer).type is ze.MemoryType.UNKNOWN
    with fails("INVALID_ARGUMENT"):
        context.mem_free_ext(desc, pointer)
    world.assert_nothing_left()


@anywhere
@pytest.mark.sentence("FREE-04", "FREE-06")
@pytest.mark.decision("C26", "C26b")
@pytest.mark.parametrize("desc", [None, AT_ONCE, DEFERRED], ids=["free", "0", "deferred"])
def test_memory_of_submitted_work_goes_when_that_is_done(
    world: Pair, context: ze.Context, kind: str, desc: MemoryFreeExtDesc | None
) -> None:
    pointer, other = allocate(context, kind), allocate(context, kind)
    assert context.memory_read(other, 1) == b"\0"  # the driver's own memory has its place now
    held = world.statistics()
    work = HeldWork(world.driver)
    work.fill(pointer, b"a")
    work.fill(other, b"b")

    if desc is None:
        context.mem_free(pointer)
    else:
        context.mem_free_ext(desc, pointer)

    assert context.mem_get_alloc_properties(pointer).type is ze.MemoryType.UNKNOWN
    with fails("ADDRESS_NOT_FOUND"):
        context.mem_get_address_range(pointer)
    assert world.statistics().object_count == held.object_count
    work.open()
    assert context.memory_read(other, 2) == b"bb"  # the queue did not fault
    assert world.statistics().object_count == held.object_count - 1
    again = allocate(context, kind)
    assert again
    world.check()


@anywhere
def test_address_of_memory_in_use_is_not_given_out_again(
    world: Pair, context: ze.Context, kind: str
) -> None:
    pointer = allocate(context, kind)
    work = HeldWork(world.driver)
    work.fill(pointer, b"a")
    context.mem_free(pointer)

    others = [allocate(context, kind) for _ in range(4)]

    assert pointer not in others
    work.open()
    allocate(context, kind)
    assert pointer in [allocate(context, kind) for _ in range(4)]


@anywhere
@pytest.mark.sentence("FREE-05")
@pytest.mark.decision("C26b")
def test_blocking_free_waits_for_the_work_that_names_the_memory_and_for_no_other(
    world: Pair, context: ze.Context, kind: str
) -> None:
    used, unused = allocate(context, kind), allocate(context, kind)
    work = HeldWork(world.driver)
    work.fill(used, b"a")

    context.mem_free_ext(BLOCKING, unused)
    with pytest.raises(Stuck):
        context.mem_free_ext(BLOCKING, used)

    work.open()
    world.check()


@pytest.mark.error("MemFreeExt", "NP", "IE", "UE", "IA")
@pytest.mark.sentence("FREE-07")
@pytest.mark.decision("C33", profile="both")
def test_errors_of_free_ext_in_their_order(
    session: FakeSession, state: DriverState, intel: DriverState
) -> None:
    off = session.state(extensions=int(Extension(0)))
    both = MemoryFreeExtDesc(Policy(3))
    cases: list[tuple[DriverState, MemoryFreeExtDesc | None, int | None, str]] = [
        (off, None, None, "INVALID_NULL_POINTER"),
        (off, MemoryFreeExtDesc(Policy(4)), None, "INVALID_NULL_POINTER"),
        (off, MemoryFreeExtDesc(Policy(4)), 5, "UNSUPPORTED_FEATURE"),
        (state, MemoryFreeExtDesc(Policy(4)), 5, "INVALID_ENUMERATION"),
        (state, both, 5, "UNSUPPORTED_ENUMERATION"),
        (state, AT_ONCE, 5, "INVALID_ARGUMENT"),
        (intel, both, 5, "INVALID_ARGUMENT"),
    ]
    for where, desc, pointer, name in cases:
        with fails(name):
            session.run(freeing.free_ext(where, desc, pointer))


@pytest.mark.parametrize(
    ("policy", "mode"),
    [(0, ReleaseMode.BEHIND_WORK), (1, ReleaseMode.WAIT), (2, ReleaseMode.BEHIND_WORK)],
)
def test_policy_is_what_the_device_is_asked_for(
    session: FakeSession, state: DriverState, policy: int, mode: ReleaseMode
) -> None:
    pointer = session.run(allocation.allocate_device(state, ze.DeviceMemAllocDesc(), 1, 0, 0))

    session.run(freeing.free_ext(state, MemoryFreeExtDesc(Policy(policy)), pointer))

    assert [command.mode for command in session.commands(Release)] == [mode]


def test_both_policies_are_as_at_once_with_profile_intel(
    session: FakeSession, intel: DriverState
) -> None:
    pointer = session.run(allocation.allocate_device(intel, ze.DeviceMemAllocDesc(), 1, 0, 0))

    session.run(freeing.free_ext(intel, MemoryFreeExtDesc(Policy(3)), pointer))

    assert [command.mode for command in session.commands(Release)] == [ReleaseMode.BEHIND_WORK]


@pytest.mark.sentence("FREE-09")
def test_of_two_threads_that_free_one_pointer_one_is_told(
    session: FakeSession, state: DriverState
) -> None:
    pointer = session.run(allocation.allocate_device(state, ze.DeviceMemAllocDesc(), 1, 0, 0))
    first = Steps[None](session, freeing.free(state, pointer))
    first.until(Release)

    with fails("INVALID_ARGUMENT", "another thread"):
        session.run(freeing.free(state, pointer))

    first.finish()
    assert len(session.commands(Release)) == 1
    assert not len(state.allocations)


def test_addresses_come_back_when_a_later_reply_tells_so(
    session: FakeSession, state: DriverState
) -> None:
    desc = ze.DeviceMemAllocDesc()
    pointer = session.run(allocation.allocate_device(state, desc, 1, 0, 0))
    session.script(Release, released(number=1))
    session.run(freeing.free(state, pointer))
    assert len(state.deferred) == 1

    session.run(allocation.allocate_device(state, desc, 1, 0, 0))
    assert len(state.deferred) == 1
    session.released = 1
    session.run(allocation.allocate_device(state, desc, 1, 0, 0))
    assert session.run(allocation.allocate_device(state, desc, 1, 0, 0)) == pointer
    assert state.deferred == []
