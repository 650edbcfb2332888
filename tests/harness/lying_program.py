"""A program whose library tells its driver nonsense about calls; then it makes one that is true."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from firmware.abi.channel import (
    CHANNEL_COUNTS,
    CHANNEL_COUNTS_OFFSET,
    CHANNEL_NOTE,
    CHANNEL_SLOT_SIZE,
    CHANNEL_SLOTS_OFFSET,
    ArgumentNote,
    CallCounts,
    SlotHeader,
)
from hostdriver.cli.trace.vocabulary import functions
from tests.harness.program_channel import NUMBERS, ProgramChannel, items, structure

SLOT = 1
_MARK = {"thread", "began"}
ALLOCATE = NUMBERS["zeMemAllocHost"]
INIT = next(n for n, function in enumerate(functions()) if function.name == "zeInit")
ARGUMENTS = items(1, 1, structure("ze_host_mem_alloc_desc_t"), 0, 8192, 0, 1)


def main(lie: str) -> None:
    """Tell a lie: `counts`, `note` or `mark`."""
    with contextlib.closing(ProgramChannel(Path(os.environ["EMUZERO_SOCKET"]))) as program:
        program.begin()
        if lie == "counts":
            size = CHANNEL_COUNTS * CallCounts.SIZE
            program.memory[CHANNEL_COUNTS_OFFSET : CHANNEL_COUNTS_OFFSET + size] = b"\xff" * size
        elif lie == "note":
            assert program.call(SLOT, CHANNEL_NOTE, items(ALLOCATE, 1, 2, 99)).result == 0
            text = b"\x1b]0;mine\x07"
            error = items(INIT, 1, 2, 1, ArgumentNote.NUMBER, 0, len(text), text)
            assert program.call(SLOT, CHANNEL_NOTE, error).result == 0
            heard = program.call(SLOT, CHANNEL_NOTE, items((1 << 64) - 1))
            assert "a note of function 0xffffffffffffffff" in heard.text
        elif lie == "mark":
            start = CHANNEL_SLOTS_OFFSET + SLOT * CHANNEL_SLOT_SIZE
            at = min(field.offset for field in SlotHeader.FIELDS if field.name in _MARK)
            program.memory[start + at : start + SlotHeader.SIZE] = b"\xff" * (SlotHeader.SIZE - at)
        assert program.call(SLOT, ALLOCATE, ARGUMENTS).result == 0


if __name__ == "__main__":
    main(sys.argv[1])
