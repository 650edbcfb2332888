"""Drivers of Python programs follow the rules of their emulators, each process by itself.

One lock is held while an injector is asked or changed. Wrappers may come and go at any time: each
question and each call looks once who answers it.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from firmware.link.errors import LinkError
from hostdriver.inject.calls import Calls, call_taps
from hostdriver.inject.connecting import meet
from hostdriver.inject.drivers import QuestionTap
from hostdriver.inject.follower import PATIENCE_SECONDS, Changes, Follower
from hostdriver.inject.joining import local
from hostdriver.inject.programs import QUESTION_POINTS
from hostdriver.inject.system import CONNECT

if TYPE_CHECKING:
    from firmware.inject import Hit, Tap
    from hostdriver.runtime.runner import Runner

TELL_SECONDS: Final = 0.1
"""How often counts are told; hits are at once."""
_LOG: Final = logging.getLogger(__name__)


@final
class Following:
    """The drivers of this process at one emulator (see `joining.Following`).

    Owner: this module, under its lock. Invariant: there is a thread exactly while there are drivers
    and the talk is whole.
    """

    def __init__(self, path: Path, name: str) -> None:
        """Take the rules of the emulator at `path`.

        Raises:
            LinkError, OSError: it cannot be talked to; nothing is left open.
        """
        self._lock = _here.lock
        self._follower = Follower(path, name, os.getpid())
        try:
            self._changes = Changes(path, name, self._follower.number, waits_seconds=TELL_SECONDS)
        except BaseException:
            self._follower.abandon()
            raise
        self._taps: dict[Runner, Tap] = {}
        self._attempts: set[object] = set()
        self._calls = Calls(
            self._follower.injector, name, self._lock, self._taps.__contains__, self._halt
        )
        self._thread = threading.Thread(target=self._listen, name="emuzero rules", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self.abandon()
            raise
        for tap in call_taps(self._calls, QUESTION_POINTS):
            self._follower.board.add(tap)

    def join(self, runner: Runner) -> None:
        """Let rules reach one more driver, until its runner is closed."""
        tap = QuestionTap(runner, self._calls)
        self._taps[runner] = tap
        self._follower.board.add(tap)
        runner.closing.append(partial(self._leave, runner))

    def tell(self) -> None:
        """Tell what happened (see `joining.Following`)."""
        with self._lock:
            self._follower.tell()

    def catch_up(self) -> None:
        """Take the rules as they are now (see `joining.Following`)."""
        with self._lock:
            self._follower.catch_up()

    def abandon(self) -> None:
        """Close a child's copies after fork, where no thread is."""
        self._changes.talk.close()
        self._follower.abandon()

    def _halt(self, hit: Hit, seconds: float) -> None:
        with self._lock:
            self._follower.halt(hit, seconds)

    def expect(self, attempt: object) -> None:
        """Stay for an attach that is under way, until it has ended (see `end`)."""
        self._attempts.add(attempt)

    def connecting(self, path: Path) -> None:
        """Let a connection be made, late or not at all.

        Raises:
            LinkError: it fails.
        """
        with self._lock:
            is_wanted = self._follower.injector.wants((CONNECT,))
        if is_wanted and (hit := self._calls.ask(CONNECT, self._calls.site())) is not None:
            meet(hit, path, self._calls.process, self._calls.hold)

    def end(self, attempt: object) -> None:
        """Forget an attach that has come to nothing, or whose driver is closed."""
        self._attempts.discard(attempt)
        self._end_unless_needed()

    def _leave(self, runner: Runner) -> None:
        with self._lock:
            self._follower.tell()
            self._follower.board.discard(self._taps.pop(runner))
        self._end_unless_needed()

    def _end_unless_needed(self) -> None:
        with self._lock:
            if self._taps or self._attempts or self._follower.is_closed:
                return
            _here.forget(self)
            self._follower.close()
            if self._changes.is_open:
                # The thread wakes, sees that all is over, and closes its talk.
                self._changes.talk.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_SECONDS)

    def _listen(self) -> None:
        """Take changed rules as they come; in a thread."""
        try:
            self._changes.ask(self._follower.generation)
            while not self._follower.is_lost:
                orders = self._changes.take()
                with self._lock:
                    if orders is None:
                        self._follower.tell()
                        continue
                    self._follower.take(orders)
                    generation = self._follower.generation
                self._changes.ask(generation)
        except (LinkError, OSError) as problem:
            with self._lock:
                self._follower.lose(problem)
        finally:
            # Whoever ends all this may be about to wake this thread by the same talk.
            with self._lock:
                self._changes.talk.close()


@final
class _Here:
    """Whom drivers of this process follow, by socket.

    Invariant: all that is here belongs to process `_pid`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._pid = os.getpid()
        self._by_socket: dict[str, Following] = {}

    def follow(self, runner: Runner) -> None:
        """Let rules reach a driver."""
        if self._pid != os.getpid():
            # A fork that Python does not know of.
            self.restart()
        with self.lock:
            self._found(runner.socket, runner.name).join(runner)

    def expect(self, attempt: object, socket: str, name: str) -> Following:
        """Return whom an attach follows, from before its first connection."""
        if self._pid != os.getpid():
            self.restart()
        with self.lock:
            found = self._found(socket, name)
            found.expect(attempt)
            return found

    def _found(self, socket: str, name: str) -> Following:
        found = self._by_socket.get(socket)
        if found is None:
            found = self._by_socket[socket] = Following(Path(socket), name)
            local.append(found)
        return found

    def forget(self, following: Following) -> None:
        """Forget one that has ended."""
        self._by_socket = {
            name: other for name, other in self._by_socket.items() if other is not following
        }
        if following in local:
            local.remove(following)

    def restart(self) -> None:
        """Begin anew in a child, in which only one thread is."""
        # Another thread of the parent may have held it.
        self.lock = threading.RLock()
        before, self._by_socket, self._pid = self._by_socket, {}, os.getpid()
        local.clear()
        for following in before.values():
            following.abandon()

    def tell(self) -> None:
        """Tell all that happened: the process ends."""
        if self._pid == os.getpid():
            for following in tuple(self._by_socket.values()):
                following.tell()


_here: Final = _Here()


@final
class FollowingAttempt:
    """An attach whose connections follow rules (see `hostdriver.runtime.attach.Attempt`).

    Owner: the attach. An emulator that does not listen yet, or takes no talk, has no rules for it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._following: Following | None = None

    def connecting(self) -> None:
        """Follow, and let a connection be made (see `Attempt`)."""
        if self._following is None:
            try:
                self._following = _here.expect(self, str(self._path), self._name)
            except (LinkError, OSError, RuntimeError):
                # If it stays so, `follow` tells.
                return
        self._following.connecting(self._path)

    def ended(self) -> None:
        """Follow no more (see `Attempt`)."""
        if self._following is not None:
            self._following.end(self)
            self._following = None


def follow(runner: Runner) -> None:
    """Let the rules of its emulator reach a driver of this process until its runner is closed.

    Without a talk it goes on without rules; one warning tells why.
    """
    try:
        _here.follow(runner)
    except (LinkError, OSError, RuntimeError) as problem:
        _LOG.warning("emuzero: process %d follows no rules: %s", os.getpid(), problem)


os.register_at_fork(after_in_child=_here.restart)
atexit.register(_here.tell)
