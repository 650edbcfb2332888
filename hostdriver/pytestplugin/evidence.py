"""What is told of the emulator when a test fails: sections of the report, and files."""

from __future__ import annotations

import contextlib
import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, final

from hostdriver.cli.status.document import document_of, record_of
from hostdriver.pytestplugin.errors import EmulatorFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from hostdriver.cli.observer import DeviceReport, Report
    from hostdriver.pytestplugin.emulator import PrivateEmulator

TRACE_LINES: Final = 60
"""Lines of the trace that a report shows; the file has all."""
_UNSAFE: Final = re.compile(r"[^\w.=,+-]+")
_LONGEST_NAME: Final = 120


class Section(NamedTuple):
    """A part of a report."""

    title: str
    text: str
    files: Mapping[str, str] = MappingProxyType({})
    """Files that it has beside the report, by name."""


@final
class Evidence:
    """What one test's emulator can tell.

    Owner: the emulator's fixture. What is told is gathered once, while the emulator runs.
    """

    def __init__(self, emulator: PrivateEmulator, seed: int) -> None:
        self.emulator = emulator
        """Of whom it tells."""
        self._seed = seed
        self._records = emulator.records
        self._begun = 0 if self._records is None else self._records.programs()
        self._more: list[Callable[[], Iterator[Section]]] = []
        self._sections: list[Section] | None = None
        self._report: Report | None = None
        self._trace = b""

    def add(self, tell: Callable[[], Iterator[Section]]) -> None:
        """Have something else tell its part, too."""
        self._more.append(tell)

    def sections(self) -> list[Section]:
        """Return what the report shows; gathered at the first call."""
        if self._sections is None:
            self._sections = [*self._gather()]
            if self._records is not None:
                self._trace = self._records.data()
        return self._sections

    @contextlib.contextmanager
    def gathered_on_failure(self) -> Generator[None]:
        """Gather what is told while the emulator runs, when the end of a fixture fails."""
        try:
            yield
        except BaseException:
            self.sections()
            raise

    def save(self, folder: Path) -> None:
        """Write all of it into a folder, made if there is none."""
        sections = self.sections()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.txt").write_text(
            "\n".join(f"--- {section.title} ---\n{section.text}\n" for section in sections)
        )
        for section in sections:
            for name, text in section.files.items():
                (folder / name).write_text(text)
        (folder / "seed.txt").write_text(f"{self._seed}\n")
        (folder / "emulator.log").write_text(self.emulator.log)
        if self._report is not None:
            text = json.dumps(document_of(self._report), indent=2)
            (folder / "devices.json").write_text(f"{text}\n")
        if self._records is not None:
            (folder / "programs.trace").write_bytes(self._trace)

    def _gather(self) -> Iterator[Section]:
        yield Section("seed", f"{self._seed}; the same again: --emuzero-seed={self._seed}")
        yield Section("emulator", self.emulator.end_of_log())
        try:
            self._report = self.emulator.report()
            yield Section("devices", "\n".join(map(_line_of, self._report.devices)))
        except EmulatorFailed as error:
            yield Section("devices", str(error))
        for tell in self._more:
            yield from tell()
        if self._records is not None and self.emulator.wanted.trace:
            lines = [*self._records.lines(self._begun)]
            shown = lines[-TRACE_LINES:]
            left_out = len(lines) - len(shown)
            head = [f"({left_out:,} lines before these)"] if left_out else []
            yield Section("trace", "\n".join([*head, *shown]) or "(no calls of C programs)")


def folder_of(nodeid: str) -> str:
    """Return a name for the folder of a test that every file system takes."""
    return _UNSAFE.sub("_", nodeid).strip("_")[-_LONGEST_NAME:]


def _line_of(report: DeviceReport) -> str:
    if report.device is None:
        return f"device {report.index}: {report.status.phase.name}"
    facts = record_of(report.device)
    told = [
        f"{name} {value:,}"
        for name, value in facts.items()
        if isinstance(value, int) and value and name != "uptime_ticks"
    ]
    clients = [str(record_of(client)["name"]) for client in report.clients]
    attached = f"; clients: {', '.join(clients)}" if clients else ""
    return f"device {report.index}: {report.status.phase.name}; {', '.join(told)}{attached}"
