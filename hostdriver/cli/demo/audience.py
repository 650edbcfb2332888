"""Who watches a run of the demo: a screen, or a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import Event
    from hostdriver.cli.demo.verdict import Verdict


class Audience(Protocol):
    """Learns what happens, in the order in which it happens."""

    def began(self, socket: str, processes: dict[str, int]) -> None:
        """Learn that all processes run, and their numbers."""
        ...

    def told(self, who: str, event: Event) -> None:
        """Learn what a process told."""
        ...

    def handed(self, handle: bytes) -> None:
        """Learn that the importer gets these bytes."""
        ...

    def measured(self, moment: str, device: DeviceStatistics) -> None:
        """Learn what the device counts: "before", "shared", "after"."""
        ...

    def paused(self, socket: str) -> None:
        """Learn that everything stays as it is until Enter."""
        ...

    def ended(self, verdict: Verdict) -> None:
        """Learn what was proved."""
        ...
