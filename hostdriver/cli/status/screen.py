"""Status on a screen: one block for each device, tables only where there is something to show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from firmware.abi.registers import BootError, Phase
from firmware.abi.rings import RingState, waiting
from firmware.image import REASONS
from hostdriver.cli.sizes import counted, format_size
from hostdriver.cli.status.document import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from firmware.abi.statistics import (
        ClientStatistics,
        DeviceStatistics,
        QueueStatistics,
        SpaceStatistics,
    )
    from hostdriver.cli.observer import DeviceReport, Report

BAR_COLUMNS: Final = 24
ALMOST_FULL: Final = 0.9
_GOOD: Final = "green"
_BAD: Final = "red"
_FULL: Final = "yellow"
_TICKS_A_SECOND: Final = 1_000_000_000


def screen_of(report: Report, *, only: int | None = None) -> RenderableType:
    """Return a report for a screen, of all devices or of one."""
    process = f" (process {report.pid})" if report.pid else ""
    parts: list[RenderableType] = [Text(f"Emulator at {report.socket}{process}")]
    for device in report.devices:
        if only is None or device.index == only:
            parts += [Text(), *_device(device)]
    return Group(*parts)


def _device(report: DeviceReport) -> Iterator[RenderableType]:
    yield _headline(report)
    device = report.device
    if device is None:
        yield Text(f"  {_why_not_running(report)}")
        return
    # A grid, so that lines which a narrow screen breaks go on behind their label.
    grid = Table.grid("", "", padding=(0, 1, 0, 0), pad_edge=False)
    lines = (_memory(device), *_counters(device), _faults(device, report.queues))
    for label, text in lines:
        grid.add_row(label, text)
    yield Padding(grid, (0, 0, 0, 2), expand=False)
    if report.clients:
        yield _clients(report.clients)
    if report.spaces:
        yield _spaces(report.spaces)
    if report.queues:
        yield _queues(report.queues)


def _headline(report: DeviceReport) -> Text:
    phase = report.status.phase
    text = Text(f"Device {report.index}", style="bold")
    if report.device is not None:
        text.append(f": {text_of(report.device.name)}")
    text.append("  ")
    text.append(phase.name, style=_GOOD if phase is Phase.RUNNING else _BAD)
    if report.device is not None:
        text.append(f"  up {duration(report.device.uptime_ticks)}", style="not bold")
    return text


def _why_not_running(report: DeviceReport) -> str:
    error = report.status.boot_error
    if error is BootError.NONE:
        return "It takes no clients in this phase."
    return f"The firmware image was refused ({error.name}): {REASONS[error].meaning}"


def _memory(device: DeviceStatistics) -> tuple[Text, Text]:
    used = device.vram_size - device.free_bytes
    share = used / device.vram_size
    parts = [f"tables {format_size(device.table_bytes)}"]
    if device.retired_bytes:
        parts.append(f"retired {format_size(device.retired_bytes)}")
    # What is in use at all is shown, however little it is.
    filled = max(round(share * BAR_COLUMNS), 1 if used else 0)
    return Text("Memory"), Text.assemble(
        "[",
        ("#" * filled, _FULL if share > ALMOST_FULL else _GOOD),
        "." * (BAR_COLUMNS - filled),
        f"] {format_size(used)} of {format_size(device.vram_size)} in use"
        f" ({share:.1%}), {', '.join(parts)}",
    )


def _counters(device: DeviceStatistics) -> Iterator[tuple[Text, Text]]:
    total = device.tlb_hits + device.tlb_misses
    hits = f"{device.tlb_hits / total:.1%}" if total else "-"
    yield (
        Text("Holds"),
        Text(
            f"{counted(device.client_count, 'client')},"
            f" {counted(device.object_count, 'object')}, {counted(device.space_count, 'space')},"
            f" {counted(device.queue_count, 'queue')}, {counted(device.export_count, 'export')},"
            f" {counted(device.import_count, 'import')}"
        ),
    )
    yield (
        Text("Did"),
        Text(
            f"{counted(device.control_commands, 'control command')},"
            f" {counted(device.work_commands, 'work command')};"
            f" read {format_size(device.bytes_read + device.bus_bytes_read)},"
            f" wrote {format_size(device.bytes_written + device.bus_bytes_written)};"
            f" TLB hits {hits}"
        ),
    )


def _faults(device: DeviceStatistics, queues: Sequence[QueueStatistics]) -> tuple[Text, Text]:
    stopped = [queue.queue_id for queue in queues if queue.state is RingState.STOPPED]
    problems = [
        counted(count, name)
        for count, name in (
            (device.faults, "fault"),
            (len(stopped), "stopped queue"),
            (device.ecc_corrected, "corrected memory error"),
            (device.ecc_uncorrected, "uncorrectable memory error"),
            (device.reset_count, "reset"),
        )
        if count
    ]
    if not problems:
        return Text("Faults", style=_GOOD), Text("none", style=_GOOD)
    return Text("Faults", style=_BAD), Text(", ".join(problems), style=_BAD)


def _clients(clients: Sequence[ClientStatistics]) -> Table:
    table = _table("client", "process", "program", "objects", "memory", "exports", "open", "faults")
    for client in clients:
        table.add_row(
            str(client.client_id),
            str(client.pid),
            text_of(client.name),
            str(client.object_count),
            format_size(client.vram_bytes),
            str(client.export_count),
            str(client.import_count),
            _count(client.faults),
        )
    return table


def _spaces(spaces: Sequence[SpaceStatistics]) -> Table:
    table = _table("space", "client", "root table", "mapped", "tables", "TLB", "TLB hits", "misses")
    for space in spaces:
        table.add_row(
            str(space.vmid),
            str(space.client_id),
            f"{space.root_address:#x}",
            format_size(space.mapped_pages << 12),
            str(space.table_count),
            str(space.tlb_entries),
            str(space.tlb_hits),
            str(space.tlb_misses),
        )
    return table


def _queues(queues: Sequence[QueueStatistics]) -> Table:
    table = _table(
        "queue", "client", "space", "kind", "state", "waiting", "done", "moved", "faults"
    )
    for queue in queues:
        running = queue.state is RingState.RUNNING
        table.add_row(
            str(queue.queue_id),
            str(queue.client_id),
            str(queue.vmid),
            queue.kind.name.lower(),
            Text(queue.state.name.lower(), style=_GOOD if running else _BAD),
            f"{waiting(queue.tail, queue.head)}/{queue.entry_count}",
            str(queue.completed),
            format_size(queue.bytes_copied),
            _count(queue.faults),
        )
    return table


def _table(*names: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for number, name in enumerate(names):
        text = name in {"program", "kind", "state"}
        padded = f"  {name}" if number == 0 else name
        table.add_column(padded, justify="left" if text else "right", overflow="fold")
    return table


def _count(number: int) -> Text:
    return Text(str(number), style=_BAD if number else "")


def duration(ticks: int) -> str:
    """Return device time as people say it."""
    seconds = ticks // _TICKS_A_SECOND
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
