"""Points of the operating system: what driver and device ask of it."""

from __future__ import annotations

from typing import Final

from firmware.inject.actions import Action, Close, Delay, Drop, Errno
from firmware.inject.point import Layer, Point, Side

_OF_DRIVER: Final = ("pid", "process", "call", "thread", "driver", "address", "size")
_OF_DEVICE: Final = ("device", "size")
_OF_CLIENT: Final = ("device", "pid", "process", "size")


def _driver(name: str, text: str, errno: str) -> Point:
    return Point(
        f"os.driver.{name}", Layer.OS, Side.DRIVER, text, (Errno,), Errno(error=errno), _OF_DRIVER
    )


def _device(
    name: str,
    text: str,
    errno: str,
    actions: tuple[type[Action], ...] = (Errno,),
    selectors: tuple[str, ...] = _OF_CLIENT,
) -> Point:
    return Point(
        f"os.device.{name}", Layer.OS, Side.DEVICE, text, actions, Errno(error=errno), selectors
    )


POINTS: Final = (
    _driver("reserve", "the driver reserves addresses (mmap without access)", "ENOMEM"),
    _driver("map", "the driver maps a memory file into the program (mmap)", "ENOMEM"),
    _driver("protect", "the driver takes pages out of use (mprotect)", "ENOMEM"),
    _driver("duplicate", "the driver takes a descriptor of another process (pidfd_getfd)", "EPERM"),
    _driver("dup", "the driver gives the program a descriptor of its own (dup)", "EMFILE"),
    _driver("ticket", "the driver makes the descriptor of a handle (memfd_create)", "EMFILE"),
    _driver("send", "the driver sends a descriptor to device or program (sendmsg)", "ETOOMANYREFS"),
    _driver("receive", "driver or program take a descriptor from their socket (recvmsg)", "EMFILE"),
    Point(
        "os.driver.connect",
        Layer.OS,
        Side.DRIVER,
        "a driver in a process of its own connects to the emulator (connect), once for each device;"
        " it has no `call`",
        (Errno, Close, Delay),
        Errno(error="ECONNREFUSED"),
        _OF_DRIVER,
    ),
    _device(
        "memory_file",
        "the device makes a memory file (memfd_create, mmap)",
        "EMFILE",
        selectors=_OF_DEVICE,
    ),
    _device("map", "the device maps a descriptor that a client sent (mmap)", "ENOMEM"),
    _device(
        "send",
        "the device sends descriptors to a client (sendmsg)",
        "EMSGSIZE",
        (Errno, Close, Drop),
    ),
    _device("pages", "the device uses a client's memory (process_vm_readv, _writev)", "EPERM"),
    _device(
        "accept", "the device takes a connection (accept)", "EMFILE", (Errno, Close, Delay), ()
    ),
)
"""Points of the operating system."""
