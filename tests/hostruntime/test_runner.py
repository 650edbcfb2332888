"""The blocking runner: every question answered, no two coroutines in between, orderly ends."""

import signal
import threading
from typing import Any

import pytest

from firmware.abi.control import ControlCommand, Nop, QueueCreate
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import Done, Reply
from firmware.link.sealed import create_sealed
from hostdriver.core import questions as q
from hostdriver.core.calls import call
from hostdriver.core.results import ZeError, ZeResult
from hostdriver.runtime import runner as runner_module
from hostdriver.runtime.address_space import AddressSpace
from hostdriver.runtime.runner import Runner
from hostdriver.runtime.session import Session
from tests.harness.fake_firmware import (
    CREATE,
    WORD,
    created,
    done,
    inline_firmware,
    served_firmware,
)
from tests.harness.fake_session import fault

MIB = 1 << 20


def answer(command: ControlCommand) -> Reply:
    return created(command) if isinstance(command, QueueCreate) else done(command)


def small_space() -> AddressSpace:
    return AddressSpace(largest=4 * MIB, smallest=4 * MIB)


def test_questions_about_the_process_are_answered() -> None:
    file = create_sealed("test", MIB)
    runner = Runner([], small_space())
    assert runner.space.arena is not None
    va, _ = runner.space.arena

    async def use_memory() -> bytes:
        outside = await q.Reserve(MIB, 0, PAGE_SIZE)
        assert outside is not None
        await q.Release(outside, MIB)
        assert await q.MapDescriptor(file, 0, va, MIB) is None
        await q.CloseDescriptor(file)
        await q.StoreBytes(va, memoryview(b"hello"))
        into = bytearray(5)
        await q.LoadBytes(va, memoryview(into))
        await q.ProtectNone(va, MIB)
        return bytes(into)

    assert runner.run(use_memory()) == b"hello"
    runner.close()


def test_questions_about_tickets_are_answered() -> None:
    runner = Runner([], small_space())

    async def use_tickets() -> None:
        ticket = await q.MakeTicket(b"t" * 64)
        assert isinstance(ticket, q.TicketFile)
        assert await q.ReadTicket(ticket.descriptor, 64) == ticket
        await q.DropTicket(ticket)
        assert await q.ReadTicket(ticket.descriptor, 64) is None

    runner.run(use_tickets())
    runner.close()


def test_questions_about_the_device_are_answered() -> None:
    with inline_firmware(answer) as (device, host):
        ring = device.make_ring()
        runner = Runner([Session(host)], small_space())

        async def use_device() -> q.Waited:
            await call(0, Nop(request=0), Done)
            await q.Control(0, CREATE)
            seqno = await q.Submit(0, 1, (bytes(64),))
            device.complete(seqno)
            device.fault(fault(1))
            assert await q.Faults(0, 1) == (fault(1),)
            await q.Pause()
            return await q.WaitWord(0, WORD, seqno)

        assert runner.run(use_device()) == q.Waited(1, 0)
        assert ring.available() == 1
        runner.close()


def test_error_of_an_operation_is_its_own() -> None:
    runner = Runner([], small_space())

    async def fail() -> None:
        await q.Pause()
        raise ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_SIZE, "it is wrong")

    with pytest.raises(ZeError, match="it is wrong"):
        runner.run(fail())
    runner.close()


def test_coroutine_may_handle_an_answer_that_failed() -> None:
    runner = Runner([], small_space())

    async def handle() -> str:
        try:
            await q.Release(0x1000, 4096)
        except ValueError as error:
            await q.Pause()
            return str(error)
        return ""

    assert "not reserved" in runner.run(handle())
    runner.close()


def test_threads_never_meet_between_two_questions() -> None:
    runner = Runner([], small_space())
    inside = 0
    most = 0

    async def meet() -> None:
        nonlocal inside, most
        for _ in range(50):
            inside += 1
            most = max(most, inside)
            sum(range(500))
            inside -= 1
            await q.ReadTicket(-1, 1)

    threads = [threading.Thread(target=lambda: runner.run(meet())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (most, inside) == (1, 0)
    runner.close()


def test_waiting_thread_is_in_nobodys_way() -> None:
    with served_firmware(answer) as (device, host):
        device.make_ring()
        runner = Runner([Session(host)], small_space())
        results: list[q.Waited] = []

        async def wait() -> q.Waited:
            return await q.WaitWord(0, WORD, 5)

        thread = threading.Thread(target=lambda: results.append(runner.run(wait())))
        thread.start()
        for _ in range(20):
            assert runner.run(call(0, Nop(request=0), Done)).opcode == 0
        device.complete(5)
        thread.join()

        assert results == [q.Waited(5, 0)]
        runner.close()


def test_close_ends_what_other_threads_wait_for() -> None:
    with served_firmware(answer) as (device, host):
        device.make_ring()
        runner = Runner([Session(host)], small_space())
        ended: list[str] = []
        started = threading.Event()

        async def wait() -> None:
            started.set()
            await q.WaitWord(0, WORD, 5)

        def run() -> None:
            try:
                runner.run(wait())
            except ZeError as error:
                ended.append(error.result.name)

        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        started.wait()
        runner.close()
        runner.close()
        for thread in threads:
            thread.join()

    assert ended == ["ZE_RESULT_ERROR_DEVICE_LOST"] * 3
    assert runner.space.arena is None


def test_address_space_stays_while_a_thread_does_not_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner_module, "LEAVE_SECONDS", 0)
    session = StuckSession()
    stuck: Any = session
    runner = Runner([stuck], small_space())

    async def ask() -> None:
        await q.Faults(0, 1)

    def run() -> None:
        with pytest.raises(ZeError, match="closed"):
            runner.run(ask())

    thread = threading.Thread(target=run)
    thread.start()
    session.entered.wait()
    runner.close()

    assert runner.space.arena is not None
    session.leave.set()
    thread.join()
    runner.space.close()


def test_closed_driver_answers_nothing() -> None:
    runner = Runner([], small_space())
    runner.close()

    async def ask() -> None:
        await q.Pause()

    with pytest.raises(ZeError, match="the driver was closed"):
        runner.run(ask())


class StuckSession:
    """A session out of which a thread only comes when the test says so."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()

    def take_faults(self, queue: int) -> tuple[()]:
        self.entered.set()
        self.leave.wait()
        return ()

    def hang_up(self, reason: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class InterruptedSession:
    """A session whose reply comes only after so many interrupts."""

    def __init__(self, interrupts: int) -> None:
        self.interrupts = interrupts
        self.posted = 0

    def post(self, command: ControlCommand, payload: bytes, room: int, *_: object) -> int:
        self.posted += 1
        return self.posted

    def collect(self, command: ControlCommand, pending: int) -> q.Answer:
        while self.interrupts:
            self.interrupts -= 1
            signal.raise_signal(signal.SIGINT)
        return q.Answer(done(command))

    def hang_up(self, reason: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(("interrupts", "finished"), [(0, True), (1, True), (2, False)])
def test_interrupt_is_raised_when_the_command_is_answered(interrupts: int, finished: bool) -> None:
    session: Any = InterruptedSession(interrupts)
    runner = Runner([session], small_space())
    steps: list[str] = []

    async def two_steps() -> str:
        await call(0, Nop(request=0), Done)
        steps.append("first")
        await call(0, Nop(request=0), Done)
        steps.append("second")
        return "done"

    if interrupts:
        with pytest.raises(KeyboardInterrupt):
            runner.run(two_steps())
    else:
        assert runner.run(two_steps()) == "done"
    assert steps == (["first", "second"] if finished else [])
    assert runner.run(call(0, Nop(request=0), Done)).opcode == 0
    runner.close()


def test_observer_hears_questions_and_answers() -> None:
    runner = Runner([], small_space())
    heard: list[tuple[type, object]] = []
    runner.observer = lambda question, answer: heard.append((type(question), answer))

    async def ask() -> None:
        await q.ReadTicket(-1, 1)
        await q.Pause()

    runner.run(ask())

    assert heard == [(q.ReadTicket, None), (q.Pause, None)]
    runner.close()


def test_abandoned_runner_leaves_address_space_alone() -> None:
    with inline_firmware(answer) as (_, host):
        runner = Runner([Session(host)], small_space())
        runner.abandon()

        assert runner.space.arena is not None
        runner.space.close()
