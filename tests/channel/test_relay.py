"""What drivers apart record: whole records in one stream, numbered anew."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import pytest

from firmware.abi.channel import Watching
from firmware.abi.trace import TraceKind, TraceRecord
from hostdriver.channel.recorder import Recorder
from hostdriver.channel.relay import Relay
from hostdriver.cli.trace.stream import Entry, read_entries, read_header

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stream:
    """An emulator's recorder, and what it has written."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        self.recorder = Recorder(writer, Watching.TRACE)

    def end(self) -> list[Entry]:
        self.recorder.close()
        with os.fdopen(self._reader, "rb") as reader:
            data = io.BytesIO(reader.read())
        read_header(data)
        return list(read_entries(data))


class Driver:
    """A driver apart: its recorder, and the relay at the other end."""

    def __init__(self, stream: Stream) -> None:
        reader, self.writer = os.pipe()
        self.relay = Relay(stream.recorder, reader)
        self.recorder = Recorder(os.dup(self.writer), Watching.TRACE)
        self.number = self.recorder.next_program()

    def put(self, kind: TraceKind, payload: bytes, what: int = 0) -> None:
        self.recorder.put(kind, self.number, payload, what=what)

    def close(self) -> None:
        self.recorder.close()
        os.close(self.writer)


@pytest.fixture(name="stream")
def make_stream() -> Iterator[Stream]:
    stream = Stream()
    yield stream
    stream.recorder.close()


def test_records_of_several_drivers_are_told_of_by_different_numbers(stream: Stream) -> None:
    first, second = Driver(stream), Driver(stream)
    for driver, name in ((first, b"one"), (second, b"two")):
        driver.put(TraceKind.PROGRAM, name, what=7)
        driver.recorder.flush()
    first.put(TraceKind.END, b"{}")
    for driver in (second, first):
        driver.close()
        assert driver.relay.drain(5)
        driver.relay.close()

    told = [(entry.record.program, entry.record.kind, entry.payload) for entry in stream.end()]

    assert told == [
        (2, TraceKind.PROGRAM, b"two"),
        (1, TraceKind.PROGRAM, b"one"),
        (1, TraceKind.END, b"{}"),
    ]


def test_a_record_is_passed_on_when_all_of_it_is_there(stream: Stream) -> None:
    source = Driver(stream)
    reader, writer = os.pipe()
    relay = Relay(stream.recorder, reader)
    source.put(TraceKind.CALL, bytes(range(100)), what=3)
    source.close()
    data = os.read(source.relay.fileno(), 1 << 16)
    for at in range(0, len(data), 7):
        os.write(writer, data[at : at + 7])
        assert relay.take()
    os.close(writer)

    assert not relay.take()
    relay.close()
    [entry] = stream.end()
    assert (entry.record.what, entry.payload) == (3, bytes(range(100)))


def test_what_a_killed_driver_left_half_is_dropped(stream: Stream) -> None:
    driver = Driver(stream)
    driver.put(TraceKind.PROGRAM, b"name")
    driver.recorder.flush()
    half = TraceRecord(
        size=100, kind=TraceKind.CALL, program=1, thread=0, call=1, time=0, what=0, more=0
    )
    os.write(driver.writer, half.pack() + b"half")
    driver.close()

    assert driver.relay.drain(5)
    assert [entry.payload for entry in stream.end()] == [b"name"]


def test_nonsense_is_not_passed_on(stream: Stream) -> None:
    driver = Driver(stream)
    driver.put(TraceKind.PROGRAM, b"name")
    driver.recorder.flush()
    os.write(driver.writer, b"\xff" * 200)
    driver.close()

    assert driver.relay.drain(5)
    assert [entry.payload for entry in stream.end()] == [b"name"]


def test_a_driver_that_says_nothing_more_is_not_waited_for(stream: Stream) -> None:
    driver = Driver(stream)

    assert driver.relay.take()
    assert not driver.relay.drain(0)
    driver.close()
    assert driver.relay.drain(5)
