"""What this process exports: handles by token, counted where the same memory has one handle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from hostdriver.core.ipc import Named, token_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.core.allocations import Allocation
    from hostdriver.core.physical import Mapping, PhysicalObject
    from hostdriver.core.questions import TicketFile

    Source: TypeAlias = Mapping | Allocation | PhysicalObject
    """Memory that has one handle, however often it is asked for."""


@final
@dataclass(slots=True, eq=False)
class OwnExport:
    """One export of this process."""

    named: Named
    handle: bytes
    ticket: TicketFile
    source: Source | None
    """The memory whose one handle it is; None for a window, where every get makes another."""
    uses: int = 1
    """Gets without a put."""
    carries_memory: bool = False
    """Whether the ticket is the memory's own file, which is open as long as the memory."""
    is_closed: bool = False
    """Whether that file is closed, with the memory: its number may be another's by now."""


@final
class ExportTable:
    """The live exports of one process.

    Owner: the driver state. Invariants: every export stands under its token; a source
    has at most one export; `uses` is above zero.
    """

    __slots__ = ("_by_identity", "_by_source", "_by_token")

    def __init__(self) -> None:
        self._by_token: dict[bytes, OwnExport] = {}
        self._by_source: dict[Source, OwnExport] = {}
        self._by_identity: dict[tuple[int, int], OwnExport] = {}

    def __len__(self) -> int:
        return len(self._by_token)

    def __iter__(self) -> Iterator[OwnExport]:
        """Iterate over the exports as they are now."""
        return iter(tuple(self._by_token.values()))

    def add(self, export: OwnExport) -> None:
        """Enter a new export."""
        self._by_token[export.named.token] = export
        self._by_identity[export.ticket.identity] = export
        if export.source is not None:
            self._by_source[export.source] = export

    def discard(self, export: OwnExport) -> None:
        """Remove an export; does nothing when it is gone already."""
        self._by_token.pop(export.named.token, None)
        self._forget_identity(export)
        if export.source is not None and self._by_source.get(export.source) is export:
            del self._by_source[export.source]

    def lose_file(self, source: Source) -> None:
        """Note that the file of some memory is about to be closed; its handle lives on."""
        export = self._by_source.get(source)
        if export is not None and export.carries_memory:
            self._forget_identity(export)
            export.is_closed = True

    def _forget_identity(self, export: OwnExport) -> None:
        if self._by_identity.get(export.ticket.identity) is export:
            del self._by_identity[export.ticket.identity]

    def of_source(self, source: Source) -> OwnExport | None:
        """Return the one export of some memory."""
        return self._by_source.get(source)

    def of_handle(self, handle: bytes) -> OwnExport | None:
        """Return the export that a handle of this process names, by token, else by descriptor.

        A number that was a closed file's is that only while no other ticket has it.
        """
        by_token = self._by_token.get(token_of(handle))
        if by_token is not None:
            return by_token
        number = int.from_bytes(handle[:4], "little", signed=True)
        if any(handle[4:]):
            return None
        found = [e for e in self._by_token.values() if e.ticket.descriptor == number]
        return min(found, key=lambda export: export.is_closed, default=None)

    def of_identity(self, identity: tuple[int, int]) -> OwnExport | None:
        """Return the export whose ticket a file is."""
        return self._by_identity.get(identity)

    def owns(self, identity: tuple[int, int]) -> bool:
        """Return whether a file is the ticket of an export of this process."""
        return identity in self._by_identity

    def check(self) -> None:
        """Raise AssertionError when an invariant is broken."""
        for token, export in self._by_token.items():
            if export.named.token != token or export.uses < 1:
                raise AssertionError(f"export of token {token.hex()} has {export.uses} uses")
            named = self._by_identity.get(export.ticket.identity)
            if (named is not export) != export.is_closed:
                raise AssertionError(f"the ticket of token {token.hex()} is unknown")
        for source, export in self._by_source.items():
            if self._by_token.get(export.named.token) is not export:
                raise AssertionError(f"the export of {source} is gone")
