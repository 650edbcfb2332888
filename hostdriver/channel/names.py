"""Handles of one program: numbers in the library, objects here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, final

from hostdriver.core.failures import invalid_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from hostdriver.channel.seen import DeviceRecord
    from hostdriver.channel.streamrows import StreamRows

ThingT = TypeVar("ThingT")
DEFAULT_CONTEXT: Final = 1


@final
class ContextRecord:
    """A context: a name under which memory is used."""

    __slots__ = ("devices", "faulted", "is_default")

    def __init__(self, devices: tuple[int, ...], *, is_default: bool = False) -> None:
        self.devices = devices
        """Numbers, at the emulator, of the devices that it was made for."""
        self.is_default = is_default
        """Whether it is the driver's own, which nobody destroys."""
        self.faulted = ""
        """Why work of it failed once, in words; empty while none did."""


@final
class Names:
    """Objects by handle type and number.

    Owner: a program's session. Invariant: a number is never used again, so that a stale handle
    names nothing.
    """

    __slots__ = ("_last", "_numbers", "_objects", "devices", "rows")

    def __init__(self, rows: StreamRows) -> None:
        self.rows = rows
        """Where the program's library sees what queues have to do."""
        self.devices: dict[int, DeviceRecord] = {}
        """Devices that the program sees, by number; set when it begins."""
        self._numbers: dict[int | None, int] = {}
        self._last = DEFAULT_CONTEXT
        self._objects: dict[tuple[type[object], int], object] = {}

    def begin(self, devices: dict[int, DeviceRecord]) -> None:
        """Take the program's devices, and make the context that is always there."""
        self.devices = devices
        # The lowest number of each device counts.
        for number in sorted(devices, reverse=True):
            self._numbers[devices[number].device] = number
        record = ContextRecord(self.all_devices(), is_default=True)
        self._objects[ContextRecord, DEFAULT_CONTEXT] = record

    def all_devices(self) -> tuple[int, ...]:
        """Return the numbers, at the emulator, of all devices that the program sees."""
        return tuple(sorted({record.device for record in self.devices.values()}))

    def add(self, thing: object) -> int:
        """Return the number of a new object."""
        self._last += 1
        self._objects[type(thing), self._last] = thing
        return self._last

    def find(self, kind: type[ThingT], number: int | None) -> ThingT | None:
        """Return an object; None for the null handle.

        Raises:
            ZeError: it is none that lives.
        """
        if number is None:
            return None
        found = self._objects.get((kind, number))
        if not isinstance(found, kind):
            raise invalid_argument(f"handle {number} of {kind.__name__} is none that lives")
        return found

    def need(self, kind: type[ThingT], number: int | None) -> ThingT:
        """Return an object that is not null.

        Raises:
            ZeError: it is null, or none that lives.
        """
        found = self.find(kind, number)
        if found is None:
            raise invalid_argument(f"a handle of {kind.__name__} is null")
        return found

    def objects(self) -> list[tuple[int, object]]:
        """Return every object with its number."""
        return [(number, thing) for (_, number), thing in self._objects.items()]

    def drop(self, kind: type[object], number: int | None) -> None:
        """Forget an object."""
        if number is not None:
            self._objects.pop((kind, number), None)

    def drop_those(self, kind: type[ThingT], is_gone: Callable[[ThingT], bool]) -> None:
        """Forget all objects of a kind that are gone."""
        self._objects = {
            key: thing
            for key, thing in self._objects.items()
            if not (isinstance(thing, kind) and is_gone(thing))
        }

    def drop_context(self, number: int | None) -> None:
        """Destroy a context.

        Raises:
            ZeError: it is none that lives, or the driver's own.
        """
        if self.need(ContextRecord, number).is_default:
            raise invalid_argument("the default context belongs to the driver")
        self.drop(ContextRecord, number)

    def device(self, number: int | None) -> int | None:
        """Return the index, at the emulator, of a device or of a sub-device's device."""
        return None if number is None else self.record(number).device

    def number_of(self, index: int | None) -> int:
        """Return the number of the handle that stands for a device; 0: none that is seen."""
        return self._numbers.get(index, 0)

    def card_of(self, index: int) -> int:
        """Return the number of the handle that stands best for a whole device; 0: none is seen."""
        found = [number for number, record in self.devices.items() if record.device == index]
        whole = [number for number in found if self.devices[number].sub_device is None]
        return min(whole or found, default=0)

    def cards(self) -> list[int]:
        """Return the numbers of one handle for each device, whether its parts are seen or not."""
        return [self.card_of(index) for index in self.all_devices()]

    def record(self, number: int | None) -> DeviceRecord:
        """Return what is known of a device.

        Raises:
            ZeError: there is no such device.
        """
        found = None if number is None else self.devices.get(number)
        if found is None:
            raise invalid_argument(f"there is no device {number}")
        return found
