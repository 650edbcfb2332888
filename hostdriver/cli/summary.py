"""`emuzero run --summary`: what each process called, moved and did not free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.cli.records import hexadecimal
from hostdriver.cli.sizes import counted, format_size
from hostdriver.cli.trace.lines import duration
from hostdriver.cli.trace.vocabulary import function_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hostdriver.channel.account import Account

MOST_LISTED: Final = 20
"""Pieces of memory, faults and handles that are listed; more are counted."""
NOTHING: Final = "emuzero: no process of the program used the C library"


def summary_of(account: Account) -> Iterator[str]:
    """Yield the lines that tell of one process."""
    yield f"emuzero: process {account.pid}, {account.name}"
    yield from _calls(account)
    memory = ", ".join(
        f"{row.count} {row.kind} ({format_size(row.size_bytes)})" for row in account.allocated
    )
    yield f"  allocated  {memory or 'nothing'}"
    yield (
        f"  moved      {format_size(account.copied_bytes)} copied,"
        f" {format_size(account.filled_bytes)} filled, {counted(account.commands, 'command')}"
    )
    faults = [f"{fault.reason} at {hexadecimal(fault.va)}" for fault in account.faults]
    yield from _listed("faults", faults, account.fault_count)
    left = [
        f"{piece.what}, {format_size(piece.size_bytes)}"
        + (f" at {hexadecimal(piece.pointer)}" if piece.pointer else "")
        for piece in account.left
    ]
    yield from _listed("not freed", left, account.left_count)
    handles = [f"{handle.kind}#{handle.number}" for handle in account.handles]
    yield from _listed("handles", handles, account.handle_count)


def _calls(account: Account) -> Iterator[str]:
    if not account.calls:
        yield "  calls      none"
        return
    rows = sorted(account.calls, key=lambda row: row.nanoseconds, reverse=True)
    names = [function_name(row.function) for row in rows]
    width = max(map(len, names))
    yield f"  {'calls':<{width}}  {'count':>9}  {'errors':>7}  {'time':>9}  {'longest':>9}"
    for name, row in zip(names, rows, strict=True):
        yield (
            f"  {name:<{width}}  {row.calls:>9,}  {row.errors:>7,}"
            f"  {duration(row.nanoseconds):>9}  {duration(row.longest):>9}"
        )


def _listed(title: str, items: Sequence[str], count: int) -> Iterator[str]:
    shown = list(items[:MOST_LISTED])
    if count > len(shown):
        shown.append(f"and {count - len(shown):,} more")
    for number, item in enumerate(shown or ["none"]):
        yield f"  {title if number == 0 else '':<9}  {item}"
