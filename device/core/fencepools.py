"""FENCE_POOL_*: fence slots that several processes, and all devices of an emulator, see."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, final

from device.core.engine.pools import SEGMENT_POOL, FencePool
from device.core.errors import DeviceError, InvariantError
from device.core.ports import HostMemoryError
from firmware.abi.handshake import DescriptorNote
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.segment import FenceSlot
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.clients import Client
    from device.core.configuration import Configuration
    from device.core.engine import Scheduler
    from device.core.pooltokens import PoolTokens
    from device.core.ports import SharedFile, SystemMemory, Tokens


@final
class FencePools:
    """Makes, shares and closes the fence pools of one device's clients.

    Owner: the device. Invariants: a pool lives while a client, of any device, has it, a token opens
    it, or a queue that waited in it has not gone on; numbers of pools are never used twice. It
    keeps nothing itself: what a client has stands with the client, and goes with it.
    """

    __slots__ = (
        "_configuration",
        "_live",
        "_numbers",
        "_scheduler",
        "_tokens",
        "system_memory",
    )

    def __init__(
        self,
        tokens: Tokens,
        live: PoolTokens,
        memory: SystemMemory,
        scheduler: Scheduler,
        configuration: Configuration,
    ) -> None:
        self._tokens = tokens
        self._live = live
        self.system_memory = memory
        """Makes memory files; something may come in between."""
        self._scheduler = scheduler
        self._configuration = configuration
        self._numbers = count(SEGMENT_POOL + 1)

    def create(self, client: Client, request: int, slot_count: int) -> tuple[int, FencePool]:
        """Make a pool and send its file to the client; return its number and the pool.

        Raises:
            DeviceError: BAD_RANGE, LIMIT, OUT_OF_HOST_MEMORY; nothing was made.
        """
        self._check_room(client)
        most = self._configuration.spec.vram_size // FenceSlot.SIZE
        if not 0 < slot_count <= most:
            raise DeviceError(Status.BAD_RANGE, slot_count, most)
        size = -(-slot_count * FenceSlot.SIZE // PAGE_SIZE) * PAGE_SIZE
        try:
            file = self.system_memory.create(size)
        except HostMemoryError as error:
            raise DeviceError(Status.OUT_OF_HOST_MEMORY, size) from error
        pool = FencePool.in_file(file, slot_count)
        return self._give(client, request, pool, file), pool

    def open(self, client: Client, request: int, token: bytes) -> tuple[int, FencePool]:
        """Give a client the pool that a token opens; return its number and the pool.

        Raises:
            DeviceError: BAD_TOKEN, LIMIT, OUT_OF_HOST_MEMORY.
        """
        self._check_room(client)
        pool = self._live.find(token)
        if pool is None or pool.file is None:
            raise DeviceError(Status.BAD_TOKEN)
        pool.hold()
        return self._give(client, request, pool, pool.file), pool

    def close(self, client: Client, number: int) -> None:
        """Take a pool from a client; what it exported of it opens no more.

        Raises:
            DeviceError: BAD_OBJECT; IN_USE while a queue of the client waits for a slot of it, and
                this is the client's last number for the pool.
        """
        pool = self._find(client, number)
        is_last = sum(other is pool for other in client.engine.pools.values()) == 1
        if is_last and self._scheduler.waits_in(pool, client.client_id):
            raise DeviceError(Status.IN_USE, number)
        self._let_go(client, number)

    def export(self, client: Client, number: int) -> bytes:
        """Return a new token that opens a pool.

        Raises:
            DeviceError: BAD_OBJECT; LIMIT.
        """
        pool = self._find(client, number)
        limit = self._configuration.spec.max_objects
        if len(client.pool_tokens) >= limit:
            raise DeviceError(Status.LIMIT, limit)
        token = self._tokens.token()
        self._live.add(token, pool)
        client.pool_tokens[token] = number
        return token

    def revoke(self, client: Client, token: bytes) -> None:
        """Take a token back.

        Raises:
            DeviceError: BAD_TOKEN when it is not a live one of this client.
        """
        if client.pool_tokens.pop(token, None) is None:
            raise DeviceError(Status.BAD_TOKEN)
        self._live.remove(token)

    def end_all(self, client: Client) -> None:
        """Take every pool from a client whose session ends; its queues have ended before."""
        for number in [number for number in client.engine.pools if number != SEGMENT_POOL]:
            self._let_go(client, number)

    def check(self, client: Client) -> None:
        """Raise InvariantError when a client's pools and tokens contradict each other."""
        for token, number in client.pool_tokens.items():
            if self._live.find(token) is not client.engine.pools.get(number):
                raise InvariantError(f"client {client.client_id}: a token opens no pool {number}")
        for number, pool in client.engine.pools.items():
            if pool.holders < 1:
                raise InvariantError(f"client {client.client_id}: pool {number} has no holder")

    def _check_room(self, client: Client) -> None:
        held = len(client.objects) + len(client.imports) + len(client.engine.pools)
        limit = self._configuration.spec.max_objects
        if held >= limit:
            raise DeviceError(Status.LIMIT, limit)

    def _give(self, client: Client, request: int, pool: FencePool, file: SharedFile) -> int:
        """Send a pool's file and enter the pool, which is held for this; return its number."""
        number = next(self._numbers)
        note = DescriptorNote(request=request, count=1, object_id=number, size_bytes=file.size)
        if not client.port.send_descriptors(note, [file]):
            pool.drop()
            raise DeviceError(Status.OUT_OF_HOST_MEMORY, file.size)
        client.engine.pools[number] = pool
        return number

    def _find(self, client: Client, number: int) -> FencePool:
        pool = client.engine.pools.get(number)
        if pool is None or number == SEGMENT_POOL:
            raise DeviceError(Status.BAD_OBJECT, number)
        return pool

    def _let_go(self, client: Client, number: int) -> None:
        for token in [token for token, of in client.pool_tokens.items() if of == number]:
            self.revoke(client, token)
        client.engine.pools.pop(number).drop()
