"""The other end of an emulator's records: a thread that reads what is told while a program runs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from typing import TYPE_CHECKING, Final, final

from hostdriver.cli.trace.happenings import happenings
from hostdriver.cli.trace.stream import StreamError, read_header

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from hostdriver.cli.trace.happenings import Happening

PIPE_BYTES: Final = 1 << 20


@final
class Listener:
    """Hears everything that an emulator tells, in a thread of its own.

    Owner: the command that runs the program. The emulator inherits `descriptor`; the listener's own
    is closed with it, so that it hears the end also of an emulator that never began.
    """

    def __init__(self, hear: Callable[[Happening], None]) -> None:
        self._hear = hear
        reader, self.descriptor = os.pipe()
        """Where the emulator writes."""
        with contextlib.suppress(OSError):
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._stream = os.fdopen(reader, "rb")
        self._thread = threading.Thread(target=self._listen, name="listener")
        self.problem = ""
        """Why not all was heard; empty: it was."""

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait until all was heard: the emulator has ended, or never began."""
        os.close(self.descriptor)
        self._thread.join()

    def _listen(self) -> None:
        with self._stream:
            try:
                for happening in happenings(self._stream, read_header(self._stream)):
                    self._hear(happening)
            except StreamError as error:
                self.problem = f"what the emulator told breaks off: {error}"
            except OSError as error:
                self.problem = f"what it told cannot be written: {error}"
