"""What all questions have in common: awaiting one gives its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Generator

    from hostdriver.core.questions import AnyQuestion

AnswerT = TypeVar("AnswerT")


class Question(msgspec.Struct, Generic[AnswerT], frozen=True):
    """Base of all questions; awaiting one gives its answer."""

    def __await__(self) -> Generator[AnyQuestion, object, AnswerT]:
        """Hand the question to whoever runs the coroutine."""
        answer = yield cast("AnyQuestion", self)
        return cast("AnswerT", answer)
