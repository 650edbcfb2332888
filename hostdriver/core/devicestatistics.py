"""What a device counts, asked for over its control ring."""

from __future__ import annotations

from firmware.abi.control import GetStatistics, Subject
from firmware.abi.replies import Statistics
from firmware.abi.statistics import DeviceStatistics
from hostdriver.core.calls import exchange, expect
from hostdriver.core.failures import unknown


async def device_statistics(device: int) -> DeviceStatistics:
    """Return the counters of a device as they are now.

    Raises:
        Refusal: the device refused.
        ZeError: the device is lost, or answered with something else.
    """
    room = DeviceStatistics.SIZE
    command = GetStatistics(request=0, subject=Subject.DEVICE, payload_offset=0, payload_size=room)
    answer = await exchange(device, command, room=room)
    reply = expect(answer.reply, Statistics)
    found = DeviceStatistics.unpack(answer.payload)
    if reply.count != 1 or not isinstance(found, DeviceStatistics):
        raise unknown(f"device {device} answered {reply.count} statistics records: {found}")
    return found
