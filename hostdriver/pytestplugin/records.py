"""What an emulator told of C programs, read from the file that it writes."""

from __future__ import annotations

import contextlib
import io
import time
from typing import TYPE_CHECKING, Final, final

from hostdriver.cli.trace.happenings import Began, Ended, happenings
from hostdriver.cli.trace.lines import lines_of
from hostdriver.cli.trace.stream import StreamError, read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hostdriver.channel.account import Account
    from hostdriver.cli.trace.happenings import Happening

LOOK_SECONDS: Final = 0.002
PATIENCE_SECONDS: Final = 10.0
"""How long an emulator may take to notice that a program has ended."""


@final
class Records:
    """The file in which an emulator tells of its programs.

    Owner: the emulator's fixture. The emulator appends whole records; a record that is only half
    there is still being written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Happening]:
        """Return everything that was told so far."""
        found: list[Happening] = []
        with contextlib.suppress(StreamError):
            stream = io.BytesIO(self.data())
            found.extend(happenings(stream, read_header(stream)))
        return found

    def data(self) -> bytes:
        """Return the bytes of the file, as `emuzero trace FILE` reads it; none once it is gone."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""

    def programs(self) -> int:
        """Return how many programs have begun so far."""
        return sum(isinstance(happening, Began) for happening in self.all())

    def accounts(self, since: int, is_gone: Callable[[int], bool]) -> list[Account]:
        """Return the accounts of the programs that began behind the first `since`.

        Of a program that is gone its account is awaited; one that goes on has none yet.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            told = self.all()
            begun = [each.program for each in told if isinstance(each, Began)][since:]
            numbers = {program.number for program in begun}
            ended = [
                each for each in told if isinstance(each, Ended) and each.program.number in numbers
            ]
            known = {each.program.number for each in ended}
            awaited = [each for each in begun if each.number not in known and is_gone(each.pid)]
            if not awaited or time.monotonic() > deadline:
                return [each.account for each in ended]
            time.sleep(LOOK_SECONDS)

    def lines(self, since: int) -> Iterator[str]:
        """Yield, a line each, what programs behind the first `since` called."""
        begun = 0
        for happening in self.all():
            begun += isinstance(happening, Began)
            if happening.program.number > since and begun > since:
                yield from lines_of(happening, with_commands=True)
