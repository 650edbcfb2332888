"""Descriptors that do not arrive."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hostdriver.core.questions import Answer


def without_descriptors(answer: Answer, error: OSError) -> Answer:
    """Return an answer whose descriptors were lost on their way, as at a limit of the process."""
    for number in answer.descriptors:
        os.close(number)
    problem = f"0 of {len(answer.descriptors)} descriptors arrived: {error}"
    return msgspec.structs.replace(answer, descriptors=(), problem=problem)
