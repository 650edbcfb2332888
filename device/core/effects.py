"""Effects: what the core asks its shell to do.

The core is a pure state machine; `Device.work` returns these values and the shell carries them out
in the order of the list. Every store that an effect tells of was made before the effect exists.
"""

from __future__ import annotations

from typing import TypeAlias, final

import msgspec

from device.core.memory import Chunk
from device.core.ports import SharedFile
from firmware.abi.status import Status


@final
class Notify(msgspec.Struct, frozen=True, gc=False):
    """A word of a client's segment was stored: wake who sleeps on it.

    The shell makes one store-load fence for a list of notices, then looks at the sleepers and the
    event index of each, so that neither side can miss the other (INV-RING-2).
    """

    client_id: int
    word: int
    """Byte offset in the segment of the index or value that was stored; the futex word."""
    sleepers: int
    """Byte offset of the u32 that counts host threads asleep on `word`."""
    event: int = 0
    """Byte offset of the peer's u32 event index; 0 for no event index, futex only."""
    old: int = 0
    """Index before the store (event index only)."""
    new: int = 0
    """Index after the store (event index only)."""
    force: bool = False
    """Raise the interrupt whatever the event index says."""


@final
class WakeSlot(msgspec.Struct, frozen=True, gc=False):
    """A word of a fence pool's file was stored: wake who sleeps on it, in any process.

    As with `Notify`, one store-load fence comes between the store and the look at the sleepers.
    """

    file: SharedFile
    word: int
    """Byte offset of the value that was stored; the futex word."""
    sleepers: int
    """Byte offset of the u32 that counts host threads asleep on `word`."""


@final
class RunChunk(msgspec.Struct, frozen=True):
    """Call `chunk.run()`, in a worker thread or at once, then `Device.chunk_done(chunk, now)`."""

    chunk: Chunk


@final
class WakeAt(msgspec.Struct, frozen=True, gc=False):
    """Call `Device.work` again at `tick` at the latest; the earliest of several counts."""

    tick: int
    """Device time in nanoseconds."""


@final
class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """End a client's session: it broke the contract, or the device lost it."""

    client_id: int
    status: Status


@final
class Halted(msgspec.Struct, frozen=True, gc=False):
    """The device stopped by an internal error; nothing runs any more."""

    reason: str


Effect: TypeAlias = Notify | WakeSlot | RunChunk | WakeAt | Disconnect | Halted
