"""Both ends of a link, shared or in process: the same parts, the same use.

The three parts in which the two kinds differ are the segment's memory, the bells and the carrier of
descriptors. Rings, doorbell words, fence slots and records are the same bytes and the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from firmware.link.compiled import compiled_already
from firmware.link.errors import ContractError
from firmware.link.layout import check_superblock
from firmware.link.notify import Doorbells, Notifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware.abi.handshake import Welcome
    from firmware.abi.segment import Superblock
    from firmware.link.bells import Bell
    from firmware.link.carrier import Carrier
    from firmware.link.peer import Liveness, Peer
    from firmware.link.segment import Segment
    from firmware.link.waiting import Waiter


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceEnd:
    """The device's end of a link to one client.

    Owner: the shell, which closes it when the client is detached.
    """

    segment: Segment
    doorbell: Bell
    """Rung by the client."""
    interrupt: Bell
    """Rung by the device."""
    carrier: Carrier
    peer: Peer

    def notifier(self, *, event_index: bool = True) -> Notifier:
        """Return what tells the client of stores; see `Notifier` for one without event indices."""
        module = compiled_already()
        teller = None if module is None else module.Teller
        return Notifier(self.segment, self.interrupt, event_index=event_index, teller=teller)

    def close(self) -> None:
        """Close everything; a second call does nothing."""
        self.carrier.close()
        self.peer.close()
        self.doorbell.close()
        self.interrupt.close()
        self.segment.close()


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostEnd:
    """The driver's end of a link to a device.

    Owner: a session, which closes it. A child after fork closes its copy and attaches anew.
    """

    welcome: Welcome
    superblock: Superblock
    segment: Segment
    doorbell: Bell
    """Rung by the driver, through `doorbells`."""
    interrupt: Bell
    """Rung by the device."""
    carrier: Carrier
    peer: Peer
    liveness: Liveness
    vigil: Callable[[], None]
    """To be called between the naps of a wait (see `firmware.link.vigil`); raises LinkLost."""
    waiter: Waiter
    doorbells: Doorbells
    waiter_of: Callable[[Segment], Waiter]
    """Makes what waits on the words of another memory that several processes share."""

    def abandon(self) -> None:
        """Close a child's copy after fork; threads of the parent may have been inside."""
        self.carrier.renew()
        self.close()

    def close(self) -> None:
        """Close everything; a second call does nothing."""
        self.carrier.close()
        self.peer.close()
        self.doorbell.close()
        self.interrupt.close()
        self.segment.close()


def check_segment(segment: Segment, welcome: Welcome) -> Superblock:
    """Return the superblock of a segment that came with a welcome.

    Raises:
        ContractError: it is malformed, or tells other things than the welcome.
    """
    block = check_superblock(segment.view, segment.size)
    told = (block.abi_major, block.abi_minor, block.features, block.client_id)
    agreed = (welcome.abi_major, welcome.abi_minor, welcome.features, welcome.client_id)
    if told != agreed:
        raise ContractError(f"the superblock tells {told}, the welcome {agreed}")
    return block
