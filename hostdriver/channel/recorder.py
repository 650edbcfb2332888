"""The stream of records in which an emulator tells what its programs do."""

from __future__ import annotations

import hashlib
import os
import time
from typing import TYPE_CHECKING, Final, final

import msgspec

from firmware.abi.channel import Watching
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR
from firmware.abi.trace import TRACE_VERSION, TraceHeader, TraceKind, TraceRecord
from hostdriver.channel.specs import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_HELD: Final = 1 << 16
"""Bytes that are held back until a turn of the emulator ends."""


def fingerprint() -> bytes:
    """Return what says which table of functions a stream was written with."""
    return hashlib.sha256(TABLE.read_bytes()).digest()[:16]


@final
class Recorder:
    """Writes records to a descriptor.

    Owner: the host of all programs. The descriptor blocks: an emulator whose stream nobody reads
    stands still until somebody does. When the reader is gone nothing is written any more.
    """

    __slots__ = ("_clock", "_descriptor", "_held", "_held_bytes", "_programs", "watching")

    def __init__(
        self,
        descriptor: int,
        watching: Watching,
        *,
        clock: Callable[[], int] = time.monotonic_ns,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """Begin a stream; the descriptor belongs to the recorder."""
        self.watching = watching
        """What programs are to tell."""
        self._clock = clock
        self._descriptor = descriptor
        self._programs = 0
        self._held: list[bytes] = []
        self._held_bytes = 0
        header = TraceHeader(
            version=TRACE_VERSION,
            abi_major=ABI_MAJOR,
            abi_minor=ABI_MINOR,
            began=clock(),
            wall_clock=wall_clock(),
            interface=fingerprint(),
        )
        self._hold(header.pack())

    @property
    def is_tracing(self) -> bool:
        """Whether every call is recorded."""
        return Watching.TRACE in self.watching

    def next_program(self) -> int:
        """Return the number of a new program."""
        self._programs += 1
        return self._programs

    def put(  # noqa: PLR0913 - one for each field
        self,
        kind: TraceKind,
        program: int,
        payload: bytes,
        *,
        thread: int = 0,
        call: int = 0,
        time: int | None = None,
        what: int = 0,
        more: int = 0,
    ) -> None:
        """Write a record; `time` in nanoseconds is now by default, and never later."""
        now = self._clock()
        record = TraceRecord(
            size=len(payload),
            kind=kind,
            program=program,
            thread=thread,
            call=call,
            time=now if time is None else min(time, now),
            what=what,
            more=more,
        )
        self._hold(record.pack() + payload)

    def pass_on(self, record: TraceRecord, program: int, payload: bytes) -> None:
        """Write a record that another recorder made of a program, which has this number here."""
        self._hold(msgspec.structs.replace(record, program=program).pack() + payload)

    def flush(self) -> None:
        """Write what was held back."""
        data, self._held, self._held_bytes = b"".join(self._held), [], 0
        view = memoryview(data)
        while view and self._descriptor >= 0:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError:
                # The reader has left, or its disk is full: programs go on without it.
                self._close()

    def close(self) -> None:
        """Write what is left and end the stream; a second call does nothing."""
        self.flush()
        self._close()

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes >= _MOST_HELD:
            self.flush()

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
