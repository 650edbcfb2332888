"""The emulators of one run of pytest."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, final

from hostdriver.pytestplugin.emulator import PrivateEmulator
from hostdriver.pytestplugin.forking import StarterProcess

if TYPE_CHECKING:
    from collections.abc import Generator

    from hostdriver.pytestplugin.settings import Wanted


@final
class Pool:
    """Starts emulators, and keeps those that tests share.

    Owner: the session of pytest; under xdist each worker has one.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="emuzero-pytest-"))
        self._starter = StarterProcess(self._folder)
        self._shared: dict[tuple[object, ...], PrivateEmulator] = {}

    @contextlib.contextmanager
    def lent(self, wanted: Wanted) -> Generator[PrivateEmulator]:
        """Have an emulator run for a test: one of its own, or one that the session shares."""
        if wanted.scope == "session":
            emulator = self.shared(wanted)
            yield emulator
            if emulator.was_injected:
                del self._shared[wanted.devices_key]
                emulator.close()
            return
        with contextlib.closing(PrivateEmulator(self._starter, wanted)) as emulator:
            yield emulator

    def shared(self, wanted: Wanted) -> PrivateEmulator:
        """Return the session's emulator that is as wanted, started anew if it has died."""
        emulator = self._shared.get(wanted.devices_key)
        if emulator is None or not emulator.is_alive:
            if emulator is not None:
                emulator.close()
            emulator = self._shared[wanted.devices_key] = PrivateEmulator(self._starter, wanted)
        return emulator

    def close(self) -> None:
        """End all emulators."""
        for emulator in self._shared.values():
            emulator.close()
        self._shared.clear()
        self._starter.close()
        # The starter has done that, if there was one.
        shutil.rmtree(self._folder, ignore_errors=True)
