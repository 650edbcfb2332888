"""Host memory that one device made, as the other devices of the process know it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from firmware.abi.control import ObjectFlags, ObjectKind, SegmentRegister, SegmentUnregister
from firmware.abi.replies import Done, ObjectCreated
from hostdriver.core.allocations import PeerObject
from hostdriver.core.calls import call, exchange, expect
from hostdriver.core.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.core.state import DriverState


async def register_file(
    device: int, descriptor: int, size: int, flags: ObjectFlags = ObjectFlags.NONE
) -> int:
    """Make a memory file known to a device; return the number of the object.

    Raises:
        Refusal: the device refused.
        ZeError: the device is lost.
    """
    command = SegmentRegister(
        request=0,
        kind=ObjectKind.CLIENT_DESCRIPTOR,
        flags=flags,
        address=0,
        size_bytes=size,
    )
    answer = await exchange(device, command, descriptors=(descriptor,))
    return expect(answer.reply, ObjectCreated).object_id


async def make_known(
    state: DriverState, owner: int, descriptor: int, size: int
) -> tuple[PeerObject, ...]:
    """Make a memory file known to every device but its owner; to all of them or to none.

    Raises:
        Refusal: a device refused.
        ZeError: a device is lost.
    """
    undo = Undo()
    peers: list[PeerObject] = []
    try:
        for device in state.devices:
            if device.index != owner:
                number = await register_file(device.index, descriptor, size)
                peers.append(PeerObject(device.index, number))
                undo.add(partial(_unregister, peers[-1]))
    except Exception:
        await undo.run()
        raise
    return tuple(peers)


async def make_unknown(peers: Sequence[PeerObject]) -> None:
    """Let the devices forget a memory file that is mapped nowhere.

    A device that is lost has forgotten it already.
    """
    undo = Undo()
    for peer in peers:
        undo.add(partial(_unregister, peer))
    await undo.run()


async def _unregister(peer: PeerObject) -> None:
    await call(peer.device, SegmentUnregister(request=0, object_id=peer.object_id), Done)
