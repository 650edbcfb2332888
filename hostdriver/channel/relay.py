"""What drivers in processes of their own record, put into the emulator's stream."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING, Final, final

from firmware.abi.trace import TraceHeader, TraceRecord

if TYPE_CHECKING:
    from hostdriver.channel.recorder import Recorder

_PART: Final = 1 << 18
"""Bytes that are taken at a time, so that one program does not hold up the devices."""


@final
class Relay:
    """Takes the stream of one driver, whole records of it.

    Owner: `DriverProcesses`. The driver numbers its one program in its own way; here it has the
    number that is next. A record that breaks off, because its driver was killed, is dropped.
    """

    __slots__ = ("_at_end", "_data", "_descriptor", "_number", "_recorder", "_skipped")

    def __init__(self, recorder: Recorder, descriptor: int) -> None:
        """Read from the end of a pipe, which belongs to the relay."""
        os.set_blocking(descriptor, False)
        self._recorder = recorder
        self._descriptor = descriptor
        self._number = recorder.next_program()
        self._data = bytearray()
        self._skipped = 0
        self._at_end = False

    def fileno(self) -> int:
        """Return what becomes readable when there is something to take."""
        return self._descriptor

    def take(self) -> bool:
        """Take what is there, or part of it; return whether more may come."""
        try:
            data = os.read(self._descriptor, _PART)
        except BlockingIOError:
            return True
        self._at_end = not data
        self._data += data
        self._pass_on()
        self._recorder.flush()
        return not self._at_end

    def drain(self, seconds: float) -> bool:
        """Take all up to the end of the stream; return False when that does not come in time."""
        end = time.monotonic() + seconds
        while not self._at_end:
            left = end - time.monotonic()
            if left < 0 or not select.select([self._descriptor], [], [], left)[0]:
                return False
            self.take()
        return True

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._descriptor)

    def _pass_on(self) -> None:
        """Put whole records into the stream; of the driver's own header there is one here."""
        at = 0
        if not self._skipped and len(self._data) >= TraceHeader.SIZE:
            at = self._skipped = TraceHeader.SIZE
        while self._skipped and len(self._data) - at >= TraceRecord.SIZE:
            record = TraceRecord.unpack(self._data, at)
            if not isinstance(record, TraceRecord):
                # A driver that writes nonsense is not heard any more.
                self._data.clear()
                return
            end = at + TraceRecord.SIZE + record.size
            if end > len(self._data):
                break
            payload = bytes(self._data[at + TraceRecord.SIZE : end])
            self._recorder.pass_on(record, self._number, payload)
            at = end
        del self._data[:at]
