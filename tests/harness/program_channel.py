"""The library of a C program, played: slots, posted words, answers; it may lie."""

from __future__ import annotations

import mmap
import os
import socket
import time
from typing import TYPE_CHECKING, NamedTuple

from firmware.abi.channel import (
    CHANNEL_APPENDS_OFFSET,
    CHANNEL_BEGIN,
    CHANNEL_SLOT_SIZE,
    CHANNEL_SLOTS_OFFSET,
    AppendsHeader,
    ChannelHeader,
    MessageKind,
    QuestionKind,
    SlotHeader,
)
from firmware.abi.handshake import Purpose, Welcome
from firmware.link.descriptors import receive_packet, send_packet
from firmware.link.handshake import say_hello
from firmware.link.runtime_dir import connect_socket
from hostdriver.channel.items import Reader, Writer
from hostdriver.channel.specs import interface

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_SECONDS = 30.0
ARENA = 1 << 44, 1 << 40
_AT = {field.name: field.offset for field in (*ChannelHeader.FIELDS, *SlotHeader.FIELDS)}
_AT_TAIL = next(field.offset for field in AppendsHeader.FIELDS if field.name == "tail")
NUMBERS = {spec.name: number for number, spec in interface().functions.items()}
"""Functions by name."""


class SessionEnded(Exception):
    """The driver ended the program's session."""


class Heard(NamedTuple):
    """A message of the driver."""

    kind: int
    what: int
    data: bytes
    result: int
    text: str


def items(*parts: int | bytes) -> bytes:
    """Return a message of numbers and bytes."""
    writer = Writer()
    for part in parts:
        if isinstance(part, int):
            writer.number(part)
        else:
            writer.raw(part)
    return writer.message()


def structure(name: str) -> bytes:
    """Return a structure that has its tag and zeros."""
    spec = interface().structures[name]
    return spec.stype.to_bytes(4, "little").ljust(spec.size, b"\0")


class ProgramChannel:
    """A program's end of its channel.

    Addresses that it gives out are numbers alone: nothing is mapped.
    """

    def __init__(self, path: Path, *, arena: tuple[int, int] = ARENA) -> None:
        self._socket = connect_socket(path)
        send_packet(self._socket, say_hello("hostile", purpose=Purpose.PROGRAM).pack())
        packet = receive_packet(self._socket, Welcome.SIZE)
        count = len(packet.descriptors)
        self._numbers = [packet.descriptors.take() for _ in range(count)]
        self.memory = mmap.mmap(self._numbers[0], 0)
        self._next = 1 << 45
        self._turns: dict[int, int] = {}
        self._arena = arena

    def begin(self) -> Heard:
        """Say what the library says first."""
        return self.call(0, CHANNEL_BEGIN, items(*self._arena, 0))

    def post(self, slot: int, kind: int, what: int, data: bytes, size: int | None = None) -> None:
        """Put a message into a slot; `size` is what it says of itself."""
        start = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
        self.memory[start + SlotHeader.SIZE : start + SlotHeader.SIZE + len(data)] = data
        self._store(start + _AT["kind"], kind)
        self._store(start + _AT["what"], what)
        self._store(start + _AT["size"], len(data) if size is None else size)
        self._turns[slot] = self._turns.get(slot, 0) + 1
        self._store(_AT["posted"] + 4 * slot, self._turns[slot])
        os.write(self._numbers[1], (1).to_bytes(8, "little"))

    def hear(self, slot: int) -> Heard:
        """Return the driver's answer to what was posted last."""
        start = CHANNEL_SLOTS_OFFSET + slot * CHANNEL_SLOT_SIZE
        end = time.monotonic() + PATIENCE_SECONDS
        while self._load(start + _AT["turn"]) != self._turns[slot]:
            if self._load(_AT["lost"]):
                raise SessionEnded
            assert time.monotonic() < end, "the driver does not answer"
            os.sched_yield()
        size, text_size = self._load(start + _AT["size"]), self._load(start + _AT["text_size"])
        data = self.memory[start + SlotHeader.SIZE : start + SlotHeader.SIZE + size + text_size]
        kind, what = self._load(start + _AT["kind"]), self._load(start + _AT["what"])
        result = self._load(start + _AT["result"])
        return Heard(kind, what, data[:size], result, data[size:].decode())

    def call(self, slot: int, what: int, data: bytes, *, most_answers: int = 1000) -> Heard:
        """Call a function and answer what it asks; stop at the question behind `most_answers`."""
        self.post(slot, MessageKind.CALL, what, data)
        while (heard := self.hear(slot)).kind == MessageKind.QUESTION and most_answers:
            most_answers -= 1
            is_wait = heard.what in (QuestionKind.WAIT, QuestionKind.WAIT_SLOT)
            number = int.from_bytes(heard.data[-8:], "little") if is_wait else 0
            self.post(slot, MessageKind.ANSWER, number, self._answer(heard))
        return heard

    def record(self, data: bytes, tail: int) -> None:
        """Put bytes at the begin of the ring of appends, and say how many there are."""
        start = CHANNEL_APPENDS_OFFSET + AppendsHeader.SIZE
        self.memory[start : start + len(data)] = data
        at = CHANNEL_APPENDS_OFFSET + _AT_TAIL
        self.memory[at : at + 8] = tail.to_bytes(8, "little")

    def refuse_descriptors(self) -> None:
        """Take nothing more from the socket, which stays open."""
        self._socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        """Be gone, as a process is that was killed."""
        self.memory.close()
        for number in self._numbers:
            os.close(number)
        self._socket.close()

    def _answer(self, heard: Heard) -> bytes:
        match heard.what:
            case QuestionKind.RESERVE:
                start, self._next = self._next, self._next + (1 << 32)
                return items(start)
            case QuestionKind.MAP | QuestionKind.PROTECT_NONE:
                return items(0)
            case QuestionKind.MAKE_TICKET:
                return items(24)  # EMFILE: such a process can have no more descriptors
            case QuestionKind.WAIT:
                reader = Reader(heard.data)
                return items([reader.number() for _ in range(6)][4], 0)
            case _:
                return items()

    def _load(self, at: int) -> int:
        return int.from_bytes(self.memory[at : at + 4], "little")

    def _store(self, at: int, value: int) -> None:
        self.memory[at : at + 4] = (value & 0xFFFF_FFFF).to_bytes(4, "little")
