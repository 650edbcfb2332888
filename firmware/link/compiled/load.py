"""Loading the compiled part into this process, once."""

from __future__ import annotations

import functools
import os
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Protocol, cast

from firmware.link.compiled.build import NAME, VARIABLE, BuildError, build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


class _Module(Protocol):
    Slot: MakeSlot


def compiled_slots() -> MakeSlot | None:
    """Return the class of compiled slots; None where there is none, or the environment says so."""
    return _load() if os.environ.get(VARIABLE, "1") != "0" else None


@functools.cache
def _load() -> MakeSlot | None:
    """Build and load, once; what failed is not tried again in this process."""
    try:
        return load_from(build())
    except (BuildError, ImportError, OSError):
        return None


def load_from(path: Path) -> MakeSlot:
    """Return the class of compiled slots in a module.

    Raises:
        ImportError: it is no module of this interpreter.
    """
    spec = spec_from_file_location(NAME, path, loader=ExtensionFileLoader(NAME, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("_Module", module).Slot
