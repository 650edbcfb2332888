"""The run as one JSON document; docs/demo.md describes every key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

import msgspec

from firmware.abi.describe import describe_handle
from hostdriver.cli.console import say_aside
from hostdriver.cli.demo.events import Built, Call, Tables
from hostdriver.cli.status.document import record_of

if TYPE_CHECKING:
    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import Event
    from hostdriver.cli.demo.verdict import Verdict

SCHEMA: Final = 1


@final
class Document:
    """Keeps a run (see `Audience`); `value` is what is written in the end.

    Owner: the command.
    """

    def __init__(self) -> None:
        self._calls: list[object] = []
        self._page_tables: dict[str, object] = {}
        self._statistics: dict[str, object] = {}
        self.value: dict[str, object] = {
            "schema": SCHEMA,
            "proved": False,
            "calls": self._calls,
            "page_tables": self._page_tables,
            "statistics": self._statistics,
        }

    def began(self, socket: str, processes: dict[str, int]) -> None:
        """Keep who takes part."""
        self.value["socket"] = socket
        self.value["processes"] = processes

    def told(self, who: str, event: Event) -> None:
        """Keep what a process told."""
        match event:
            case Call():
                self._calls.append({"process": who, **_plain(event)})
            case Built():
                self.value["range"] = _plain(event)
            case Tables():
                self._page_tables[who] = _plain(event)
            case _:
                pass

    def handed(self, handle: bytes) -> None:
        """Keep the handle and its fields."""
        rows = describe_handle(handle).rows
        fields = {row.name: row.value for row in rows}
        self.value["handle"] = {"bytes": handle.hex(), "fields": fields}

    def measured(self, moment: str, device: DeviceStatistics) -> None:
        """Keep what the device counts."""
        self._statistics[moment] = record_of(device)

    def paused(self, socket: str) -> None:
        """Say what can be looked at now, beside the document, which is written when all is over."""
        say_aside(f"waiting for Enter; look with: emuzero status --socket {socket}")

    def ended(self, verdict: Verdict) -> None:
        """Keep what was proved."""
        # Of different lengths when a manifest arrived that the exporter did not write.
        checked = zip(
            verdict.loaded, verdict.verified.files, verdict.verified.expected, strict=False
        )
        self.value["files"] = [
            {
                "name": found.name,
                "size": found.size,
                "sha256": found.sha256,
                "loaded_sha256": loaded.sha256,
                "manifest_sha256": expected,
            }
            for loaded, found, expected in checked
        ]
        self.value["bytes_received"] = verdict.received
        self.value["reply"] = {"written": verdict.replied, "seen": verdict.seen.text}
        self.value["problem"] = verdict.problem
        self.value["proved"] = not verdict.problem


def _plain(event: Built | Call | Tables) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(event)
    del fields["type"]
    return fields
