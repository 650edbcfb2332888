"""Pictures of the story: the range, the handle, two page tables side by side, statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.table import Table
from rich.text import Text

from firmware.abi.describe import describe_handle
from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted, format_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from firmware.abi.statistics import DeviceStatistics
    from hostdriver.cli.demo.events import Built, Extent, Tables

COLORS: Final = {"device": "green", "exporter": "cyan", "importer": "magenta"}
LETTERS: Final = "ABC"
BAR_COLUMNS: Final = 64
MOST_ROWS: Final = 12
"""Extents of a page table that are shown."""
SIDE_BY_SIDE_COLUMNS: Final = 96
_BYTES_A_LINE: Final = 8


class Count(NamedTuple):
    """One line of the statistics."""

    label: str
    field: str
    is_size: bool = False


COUNTS: Final = (
    Count("free device memory", "free_bytes", is_size=True),
    Count("held by page tables", "table_bytes", is_size=True),
    Count("clients", "client_count"),
    Count("address spaces", "space_count"),
    Count("memory objects", "object_count"),
    Count("pages mapped (4 KiB)", "mapped_pages"),
    Count("work queues", "queue_count"),
    Count("live exports", "export_count"),
    Count("open imports", "import_count"),
    Count("control commands so far", "control_commands"),
    Count("work commands so far", "work_commands"),
    Count("faults so far", "faults"),
)


def range_picture(built: Built, columns: int) -> list[Text]:
    """Return the objects of a range in lines, and where the window begins and ends."""
    lines: list[Text] = []
    for letter, part in zip(LETTERS, built.parts, strict=True):
        lines.append(
            Text(
                f"object {letter}: {format_size(part.object_size)}; from its byte"
                f" {hexadecimal(part.object_offset)} on {format_size(part.size)} are mapped"
                f" at {hexadecimal(part.va)}"
            )
        )
    start = built.parts[0].va
    total = sum(part.size for part in built.parts)
    width = max(24, min(BAR_COLUMNS, columns))
    ends = [_scale(part.va + part.size - start, total, width) for part in built.parts]
    bar, begin = "", 0
    for letter, end in zip(LETTERS, ends, strict=True):
        bar += f"[{letter:-^{max(1, end - begin - 2)}}]"
        begin = end
    first = built.window_va - start
    last = first + built.window_size
    low, high = _scale(first, total, width), _scale(last, total, width)
    mark = " " * low + f"^{'window':=^{max(6, high - low - 2)}}^"
    inside = last - (built.parts[-1].va - start)
    return [
        *lines,
        Text(bar, style="cyan", no_wrap=True),
        Text(mark, style="bold", no_wrap=True),
        Text(
            f"The window: {counted(built.window_size, 'byte')}, from byte {first} of A's part"
            f" to byte {inside} of C's."
        ),
    ]


def handle_table(handle: bytes) -> Table:
    """Return the 64 bytes with the fields that they are."""
    described = describe_handle(handle)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("at", no_wrap=True)
    table.add_column("bytes", no_wrap=True)
    table.add_column("field", no_wrap=True, style="bold")
    table.add_column("value", overflow="fold")
    for row in described.rows:
        value = row.value
        if row.name == "check":
            value = f"{row.value.partition(' (')[0]} ({described.note})"
        pieces = [
            row.data[at : at + _BYTES_A_LINE] for at in range(0, len(row.data), _BYTES_A_LINE)
        ]
        table.add_row(f"{row.offset:02x}", pieces[0].hex(" "), row.name, value)
        for number, piece in enumerate(pieces[1:], start=1):
            table.add_row(f"{row.offset + number * _BYTES_A_LINE:02x}", piece.hex(" "), "", "")
    return table


def tables_side_by_side(exporter: Tables, importer: Tables, columns: int) -> list[Table | Text]:
    """Return both processes' translations of the window: in one table where they agree and fit."""
    agree = [_memory(e) for e in exporter.extents] == [_memory(i) for i in importer.extents]
    if not agree or columns < SIDE_BY_SIDE_COLUMNS:
        return [
            *_one_side("exporter", exporter),
            *_one_side("importer", importer),
        ]
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name, color in (
        ("exporter", COLORS["exporter"]),
        ("page", COLORS["exporter"]),
        ("device memory", COLORS["device"]),
        ("size", COLORS["device"]),
        ("importer", COLORS["importer"]),
        ("page", COLORS["importer"]),
    ):
        table.add_column(name, style=color, no_wrap=True)
    for left, right in zip(exporter.extents[:MOST_ROWS], importer.extents, strict=False):
        table.add_row(
            hexadecimal(left.va),
            _entry(left),
            f"{left.aperture} {hexadecimal(left.address)}",
            format_size(left.size),
            hexadecimal(right.va),
            _entry(right),
        )
    return [table, *_rest(exporter)]


def statistics_table(moments: Mapping[str, DeviceStatistics]) -> Table:
    """Return what the device counted before, while the memory was shared, and after."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("the device counts", overflow="fold")
    for moment in moments:
        table.add_column(moment, justify="right", min_width=_longest_word(moments.values()))
    for count in COUNTS:
        numbers: list[int] = [getattr(device, count.field) for device in moments.values()]
        table.add_row(count.label, *(_exact(n) if count.is_size else f"{n:,}" for n in numbers))
    return table


def _longest_word(devices: Iterable[DeviceStatistics]) -> int:
    """Return the columns that the largest number needs, so that none is cut."""
    return max(len(f"{getattr(device, c.field):,}") for device in devices for c in COUNTS)


def _one_side(who: str, tables: Tables) -> Iterator[Table | Text]:
    yield Text(f"{who}'s page table", style=COLORS[who])
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("address", "page", "memory", "size"):
        table.add_column(name, overflow="fold")
    for extent in tables.extents[:MOST_ROWS]:
        memory = f"{extent.aperture} {hexadecimal(extent.address)}"
        table.add_row(hexadecimal(extent.va), _entry(extent), memory, format_size(extent.size))
    yield table
    yield from _rest(tables)


def _rest(tables: Tables) -> list[Text]:
    hidden = tables.total - min(MOST_ROWS, len(tables.extents))
    return [Text(f"... and {hidden} more extents")] if hidden else []


def _memory(extent: Extent) -> tuple[str, int, int]:
    return extent.aperture, extent.address, extent.size


def _entry(extent: Extent) -> str:
    """Return size, level and rights of an extent's first page."""
    rights = "".join(
        letter if name in extent.rights else "-"
        for letter, name in (("r", "READ"), ("w", "WRITE"), ("a", "ATOMIC"))
    )
    return f"{format_size(extent.page_size)} L{extent.level} {rights}"


def _scale(position: int, total: int, columns: int) -> int:
    return position * columns // total


def _exact(size: int) -> str:
    return counted(size, "byte")
