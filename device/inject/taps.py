"""All taps of one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from device.inject.clientpages import ClientPagesTap
from device.inject.commands import InjectedCommands
from device.inject.dma import DmaTap
from device.inject.doorbells import DoorbellsTap
from device.inject.entries import EntryTap
from device.inject.invalidations import InvalidateTap
from device.inject.memory import AccessTap, AllocateTap
from device.inject.microcontroller import BootTap, FirmwareTap
from device.inject.published import PublishedTap
from device.inject.queues import QueuesTap
from device.inject.replies import RepliesTap
from device.inject.rings import RingsTap
from device.inject.rounds import InjectedRounds
from device.inject.signals import SignalsTap
from device.inject.storms import StormsTap
from device.inject.system import MemoryFileTap, PortTap
from device.inject.walks import WalkTap
from device.inject.whole import WholeDeviceTap

if TYPE_CHECKING:
    from device.core.device import Device
    from firmware.inject import Injector, Tap


def device_taps(device: Device, injector: Injector) -> tuple[Tap, ...]:
    """Return the taps of a device for the points inside of it.

    They share the places where they come in; a board puts each in while a rule wants its points.
    After rules have changed the shell has to let the device work once: what a rule held back is let
    go in the next round.
    """
    rounds = InjectedRounds(device, injector)
    commands = InjectedCommands(rounds)
    return (
        WholeDeviceTap(rounds),
        EntryTap(rounds),
        WalkTap(rounds),
        InvalidateTap(rounds),
        DmaTap(rounds, commands),
        AllocateTap(rounds),
        AccessTap(rounds),
        BootTap(rounds),
        FirmwareTap(rounds),
        DoorbellsTap(rounds),
        RingsTap(rounds, commands),
        RepliesTap(rounds),
        QueuesTap(rounds),
        PublishedTap(rounds, commands),
        SignalsTap(rounds),
        StormsTap(rounds),
        MemoryFileTap(rounds),
        PortTap(rounds),
        ClientPagesTap(rounds),
    )
