"""Actions on firmware and the device as a whole."""

from __future__ import annotations

from typing import ClassVar

from firmware.inject.actions.base import Action


class ReplyStatus(Action, frozen=True, kw_only=True):
    """A reply with another status."""

    WORD: ClassVar[str] = "status"
    MAIN: ClassVar[str] = "status"
    TEXT: ClassVar[str] = "the command is refused with this status, and not carried out"
    status: str = "OUT_OF_DEVICE_MEMORY"
    """A name of `firmware.abi.status.Status`."""


class Crash(Action, frozen=True, kw_only=True):
    """Firmware that crashes."""

    WORD: ClassVar[str] = "crash"
    TEXT: ClassVar[str] = "the firmware crashes: the device resets, sessions are lost"


class Hang(Action, frozen=True, kw_only=True):
    """Something that does not go on until a reset."""

    WORD: ClassVar[str] = "hang"
    TEXT: ClassVar[str] = "it does nothing until the rule is removed, or a reset"


class Wedge(Action, frozen=True, kw_only=True):
    """A device that halts for good."""

    WORD: ClassVar[str] = "wedge"
    TEXT: ClassVar[str] = (
        "the device halts: sessions are lost, nobody attaches and no reset helps while the rule is"
        " there"
    )


class Reset(Action, frozen=True, kw_only=True):
    """A reset."""

    WORD: ClassVar[str] = "reset"
    TEXT: ClassVar[str] = "it is reset: what it held is lost, what comes later works"


class Remove(Action, frozen=True, kw_only=True):
    """A device that is pulled out."""

    WORD: ClassVar[str] = "remove"
    TEXT: ClassVar[str] = (
        "the device is pulled out: connections are closed, nobody attaches and no reset helps while"
        " the rule is there"
    )


class DeviceLost(Action, frozen=True, kw_only=True):
    """A device that is lost until a reset."""

    WORD: ClassVar[str] = "lost"
    TEXT: ClassVar[str] = (
        "sessions are lost, and commands of new ones are answered DEVICE_LOST until a reset, or the"
        " rule is removed"
    )


class BadImage(Action, frozen=True, kw_only=True):
    """A firmware image that is refused."""

    WORD: ClassVar[str] = "bad_image"
    MAIN: ClassVar[str] = "error"
    TEXT: ClassVar[str] = (
        "the image is refused for this reason; the device stays in its boot state until the rule is"
        " removed"
    )
    error: str = "BAD_NOTE"
    """A name of `firmware.abi.registers.BootError`."""
