"""Loading the compiled part into this process, once."""

from __future__ import annotations

import functools
import os
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from firmware.link.compiled.build import NAME, VARIABLE, BuildError, build, module_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from firmware.link.notify import Notice
    from firmware.link.waiting import WordWait


class CompiledSlot(Protocol):
    """A slot of 0 or 1 in shared memory (see `hostdriver.core.slotmemory.DirectSlot`)."""

    def signal(self) -> bool:
        """Store 1 and tell who waits; False: it was given up."""
        ...

    def clear(self) -> bool:
        """Store 0, and no status; False: it was given up."""
        ...

    def is_set(self) -> bool:
        """Return whether it holds 1 and was not given up."""
        ...

    def wait(self, nanoseconds: int, /) -> int:
        """Wait until it holds 1: return -1, or the nanoseconds that were waited in vain."""
        ...

    def waiters(self) -> int:
        """Return how many threads wait."""
        ...

    def close(self) -> None:
        """Give it up: waits end in vain."""
        ...


class MakeSlot(Protocol):
    """The class of compiled slots."""

    def __call__(
        self,
        memory: memoryview,
        offsets: tuple[int, int, int, int],
        is_alive: Callable[[], bool],
        nudge: Callable[[], None],
        patience: tuple[int, int, int],
        /,
    ) -> CompiledSlot:
        """Make a slot.

        Args:
            memory: the shared memory; it stays mapped until the slot is closed.
            offsets: where in it the value stands, the status that ends a wait, the count of
                sleepers, and the count of queues of devices that wait.
            is_alive: asked after each nap whether waiting is still of use.
            nudge: called after a signal that queues wait for.
            patience: nanoseconds of the longest spin (0: never) and of the longest nap, and the
                most waits that sleep at once after spins in vain.

        Raises:
            ValueError: words outside of the memory.
        """
        ...


class MakeWaiter(Protocol):
    """The class of compiled waiters."""

    def __call__(
        self,
        memory: memoryview,
        alive: Callable[[], object],
        hint: int,
        patience: tuple[int, int, int],
        /,
    ) -> CompiledWaiter:
        """Make a waiter for words of some memory.

        Args:
            memory: the memory; it is asked for at each wait, and raises once it was given up.
            alive: called after each nap; raises when waiting has become useless.
            hint: offset of the u32 that says whether waiters may spin; -1: they may.
            patience: as that of slots (see `MakeSlot`).
        """
        ...


@runtime_checkable
class CompiledWaiter(Protocol):
    """A waiter (see `firmware.link.waiting.Waiter`)."""

    def wait(self, wait: WordWait, timeout_seconds: float | None = None) -> bool:
        """Wait until a word has reached its target, or the status ends the wait."""
        ...

    def spin(self, wait: WordWait) -> bool:
        """Return whether the word reaches its target while it is looked at for a moment."""
        ...

    def counts(self) -> tuple[int, int, int, int]:
        """Return the four numbers of `firmware.link.waiting.WaitStatistics`."""
        ...


class MakeRinger(Protocol):
    """The class of what rings doorbells."""

    def __call__(
        self,
        memory: memoryview,
        bell: Callable[[], None],
        offsets: tuple[int, int, int],
        always: bool,  # noqa: FBT001 - by place, as all arguments of compiled classes
        /,
    ) -> CompiledRinger:
        """Make one for a segment.

        Args:
            memory: the segment; it is asked for at each ring, and raises once it was given up.
            bell: rings the device's bell.
            offsets: where the doorbell words stand, where the device says that it sleeps, and
                where in a ring's header its event index stands.
            always: whether the bell rings each time.
        """
        ...


class CompiledRinger(Protocol):
    """Rings doorbells (see `firmware.link.notify.Doorbells`)."""

    def ring(self, doorbell: int, ring_offset: int, old: int, new: int, /) -> bool:
        """Tell the device that the tail of a ring moved; return whether the bell was rung."""
        ...


class MakeTeller(Protocol):
    """The class of what tells clients of stores."""

    def __call__(
        self,
        memory: memoryview,
        bell: Callable[[], None],
        always: bool,  # noqa: FBT001 - by place, as all arguments of compiled classes
        /,
    ) -> CompiledTeller:
        """Make one for a segment.

        Args:
            memory: the segment; it is asked for at each call, and raises once it was given up.
            bell: rings the client's interrupt.
            always: whether it rings each time.
        """
        ...


class CompiledTeller(Protocol):
    """Tells a client of stores (see `firmware.link.notify.Notifier`)."""

    def notify(self, notices: Iterable[Notice], /) -> bool:
        """Tell of stores that were all made before; return whether the interrupt was rung."""
        ...


class Look(Protocol):
    """Looks at memory that others store to."""

    def __call__(self, pages: list[tuple[memoryview, bytes]], nanoseconds: int, /) -> bool:
        """Return whether any memory holds other bytes than those beside it, within so long.

        It keeps the interpreter's lock for 10 us and gives it up for the rest.
        """
        ...


class CompiledCopy(Protocol):
    """Copies large memory."""

    def __call__(
        self, into: memoryview, destination: int, out_of: memoryview, source: int, size: int, /
    ) -> None:
        """Copy `size` bytes between offsets, as memmove does, without the interpreter's lock.

        Raises:
            ValueError: bytes outside of a memory.
        """
        ...


class Compiled(Protocol):
    """The module."""

    Slot: MakeSlot
    Waiter: MakeWaiter
    Ringer: MakeRinger
    Teller: MakeTeller
    look: Look
    copy: CompiledCopy


def compiled() -> Compiled | None:
    """Return the module, built now if nobody has; None if it cannot be, or the environment says so.

    Building takes half a second. Whoever must not wait for that asks `compiled_already`.
    """
    return _load() if os.environ.get(VARIABLE, "1") != "0" else None


def compiled_already() -> Compiled | None:
    """Return the module if it was built by whoever; emulators build it when they start."""
    return compiled() if module_path().exists() else None


def prepare() -> None:
    """Build the module unless it is there, for whoever comes later."""
    compiled()


def compiled_slots() -> MakeSlot | None:
    """Return the class of compiled slots, if there is one (see `compiled`)."""
    module = compiled()
    return None if module is None else module.Slot


@functools.cache
def _load() -> Compiled | None:
    """Build and load, once; what failed is not tried again in this process."""
    try:
        return load_from(build())
    except (BuildError, ImportError, OSError):
        return None


def load_from(path: Path) -> Compiled:
    """Return the module in a file.

    Raises:
        ImportError: it is no module of this interpreter.
    """
    spec = spec_from_file_location(NAME, path, loader=ExtensionFileLoader(NAME, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Compiled", module)
