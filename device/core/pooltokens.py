"""The tokens by which fence pools are opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from device.core.engine.pools import FencePool


@final
class PoolTokens:
    """The tokens of fence pools, known to all devices of an emulator.

    Owner: the emulator. Invariant: a token is here exactly while a client that is attached has
    exported a pool under it; it holds the pool.
    """

    __slots__ = ("_live",)

    def __init__(self) -> None:
        self._live: dict[bytes, FencePool] = {}

    def add(self, token: bytes, pool: FencePool) -> None:
        """Let a pool be opened."""
        pool.hold()
        self._live[token] = pool

    def find(self, token: bytes) -> FencePool | None:
        """Return the pool that a token opens."""
        return self._live.get(token)

    def remove(self, token: bytes) -> None:
        """Let a pool be opened by this token no more."""
        self._live.pop(token).drop()
