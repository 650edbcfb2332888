"""Control commands on fence pools: fence slots in memory that several processes and devices see.

A pool is a sealed memory file of `FenceSlot` records that the device makes; its descriptor travels
on the socket with the reply. Each client has its own numbers for pools: what it made and what it
opened. Tokens are known to all devices of an emulator.
"""

from typing import Final

from firmware.abi._record import wire
from firmware.abi._wire import U32, raw
from firmware.abi.control_kinds import ControlCommand, ControlOpcode
from firmware.abi.ids import CONTROL_MESSAGE_SIZE

SIZE: Final = CONTROL_MESSAGE_SIZE


class FencePoolCreate(ControlCommand, size=SIZE, opcode=ControlOpcode.FENCE_POOL_CREATE):
    """Make a pool of zeroed slots."""

    slot_count: int = wire(U32, "Slots, at least one.")


class FencePoolClose(ControlCommand, size=SIZE, opcode=ControlOpcode.FENCE_POOL_CLOSE):
    """Give a pool up, made or opened; what this client exported of it opens no more.

    IN_USE while a queue of this client waits for one of its slots. The memory lives on while other
    clients have the pool.
    """

    pool: int = wire(U32, "Fence pool.")


class FencePoolExport(ControlCommand, size=SIZE, opcode=ControlOpcode.FENCE_POOL_EXPORT):
    """Give a pool a new random token by which any client of the emulator can open it."""

    pool: int = wire(U32, "Fence pool.")


class FencePoolOpen(ControlCommand, size=SIZE, opcode=ControlOpcode.FENCE_POOL_OPEN):
    """Open a pool; every open gives a number of its own."""

    token: bytes = wire(raw(16), "Token of the pool.")


class FencePoolRevoke(ControlCommand, size=SIZE, opcode=ControlOpcode.FENCE_POOL_REVOKE):
    """Take a token back: it opens no more; who has the pool keeps it."""

    token: bytes = wire(raw(16), "Token of the pool; must be this client's.")
