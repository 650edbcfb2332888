"""What a run of the demo proved, or the first thing that it did not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from firmware.abi.ipc import IpcHandle
from hostdriver.cli.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import FileHash, ReplySeen, Verified


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The end of a run."""

    loaded: Sequence[FileHash]
    """What the exporter read from the file system."""
    verified: Verified
    """What the importer read through its page table."""
    replied: str
    """What the importer wrote."""
    seen: ReplySeen
    """What the exporter read of it."""
    received: int
    """Bytes that the importer was given in all."""
    after: DeviceStatistics
    """The device when both were gone."""

    @property
    def problem(self) -> str:
        """The first thing that is not as it has to be; empty when all was proved."""
        if list(self.loaded) != self.verified.files or not self.verified.all_equal:
            return f"the importer did not read what the exporter loaded: {self._first_difference()}"
        if not self.seen.is_right or self.seen.text != self.replied:
            return f"the exporter saw another reply than the importer wrote: {self.seen.text!r}"
        if self.received != IpcHandle.SIZE:
            given = counted(self.received, "byte")
            return f"the importer was given {given}, expected {IpcHandle.SIZE}"
        return not_given_back(self.after)

    def _first_difference(self) -> str:
        files = self.verified.files
        if len(files) != len(self.loaded):
            return f"{len(files)} files, expected {len(self.loaded)}"
        for loaded, found, told in zip(self.loaded, files, self.verified.expected, strict=True):
            if loaded != found or told != found.sha256:
                return f"{loaded.name} has SHA-256 {found.sha256}, expected {loaded.sha256}"
        return "no file differs"


def not_given_back(after: DeviceStatistics) -> str:
    """Return what a device still holds when all its clients have gone; empty when nothing."""
    missing = after.vram_size - after.retired_bytes - after.free_bytes
    if missing:
        return f"{counted(missing, 'byte')} of device memory are still in use"
    left = {
        "object": after.object_count,
        "space": after.space_count,
        "queue": after.queue_count,
        "export": after.export_count,
        "import": after.import_count,
        "client": after.client_count,
    }
    names = [counted(count, name) for name, count in left.items() if count]
    return f"still on the device: {', '.join(names)}" if names else ""
