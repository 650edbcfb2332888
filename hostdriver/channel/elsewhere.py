"""Questions about a program that its driver answers by itself, from outside of the program."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hostdriver.core.questions import Clock, CloseDescriptor, Duplicate, FindMissing
from hostdriver.runtime.address_space import find_missing
from hostdriver.runtime.tickets import duplicate_of

if TYPE_CHECKING:
    from typing import TypeAlias

    OutsideQuestion: TypeAlias = Clock | CloseDescriptor | Duplicate | FindMissing


def answer_outside(pid: int, question: OutsideQuestion) -> object:
    """Answer a question about the program `pid`; descriptors are those of this process."""
    match question:
        case Clock():
            return time.monotonic()
        case CloseDescriptor():
            os.close(question.descriptor)
            return None
        case Duplicate():
            return duplicate_of(pid, question.descriptor)
        case FindMissing():
            return find_missing(pid, question.va, question.size)
