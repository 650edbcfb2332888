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
    before: DeviceStatistics | None = None
    """What it held before of others; None: nothing."""

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
        return not_given_back(self.after, self.before)

    def _first_difference(self) -> str:
        files = self.verified.files
        if len(files) != len(self.loaded):
            return f"{len(files)} files, expected {len(self.loaded)}"
        for loaded, found, told in zip(self.loaded, files, self.verified.expected, strict=True):
            if loaded != found or told != found.sha256:
                return f"{loaded.name} has SHA-256 {found.sha256}, expected {loaded.sha256}"
        return "no file differs"


def not_given_back(after: DeviceStatistics, before: DeviceStatistics | None = None) -> str:
    """Return what a device still holds of its clients that have gone; empty when nothing.

    Args:
        after: the device when they had gone.
        before: when they had not come yet; None: it held nothing.
    """
    missing = _in_use(after) - (0 if before is None else _in_use(before))
    if missing > 0:
        return f"{counted(missing, 'byte')} of device memory are still in use"
    others = {} if before is None else _held(before)
    left = {name: count - others.get(name, 0) for name, count in _held(after).items()}
    names = [counted(count, name) for name, count in left.items() if count > 0]
    return f"still on the device: {', '.join(names)}" if names else ""


def _in_use(device: DeviceStatistics) -> int:
    return device.vram_size - device.retired_bytes - device.free_bytes


def _held(device: DeviceStatistics) -> dict[str, int]:
    return {
        "object": device.object_count,
        "space": device.space_count,
        "queue": device.queue_count,
        "export": device.export_count,
        "import": device.import_count,
        "client": device.client_count,
    }
