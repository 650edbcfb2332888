"""Extents: the physical pieces of a virtual range, as translation returns and transfers take them.

An `Extents` is written once and then only read. It lives in one or both of two forms: rows
(`Extent` tuples, cheap for a few pieces) and columns (numpy arrays, cheap for many); each is made
from the other when first asked for.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from device.core.errors import InternalError
from firmware.abi.ids import READ_WRITE
from firmware.abi.paging import Aperture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from device.core.memory.windows import Window

FEW = 16
"""Up to this many pieces a Python loop beats numpy."""


class Extent(NamedTuple):
    """One piece: virtually and physically consecutive bytes."""

    va: int
    """First virtual address."""
    size: int
    """Bytes, at least one."""
    address: int
    """First physical byte address in `aperture`."""
    aperture: int = Aperture.LOCAL.value
    """`Aperture` as a plain number."""
    rights: int = READ_WRITE.value
    """`Rights` as a plain number; information, transfers do not look at it."""
    null: bool = False
    """No memory behind it: loads give zero, stores are dropped."""


class Columns(NamedTuple):
    """The fields of many extents as arrays of equal length."""

    va: NDArray[np.uint64]
    size: NDArray[np.uint64]
    address: NDArray[np.uint64]
    aperture: NDArray[np.uint8]
    rights: NDArray[np.uint8]
    null: NDArray[np.bool_]


@final
class Extents:
    """A sequence of extents, in virtual order; `total` is the sum of their sizes in bytes.

    `window`: when set, addresses count in this window instead of in an aperture (operands in a
    client's own memory that no page table maps).
    """

    __slots__ = ("_columns", "_rows", "total", "window")

    def __init__(
        self, columns: Columns | None, rows: list[Extent] | None, total: int, window: Window | None
    ) -> None:
        self._columns = columns
        self._rows = rows
        self.total = total
        self.window = window

    @classmethod
    def one(
        cls,
        va: int,
        size: int,
        address: int,
        aperture: int = Aperture.LOCAL.value,
        rights: int = READ_WRITE.value,
        *,
        null: bool = False,
    ) -> Extents:
        """Return a single piece (none when `size` is zero)."""
        rows = [Extent(va, size, address, aperture, rights, null)] if size else []
        return cls(None, rows, size, None)

    @classmethod
    def of(cls, rows: Iterable[Extent]) -> Extents:
        """Return these pieces."""
        listed = list(rows)
        return cls(None, listed, sum(row.size for row in listed), None)

    @classmethod
    def from_columns(cls, columns: Columns) -> Extents:
        """Return the pieces that these arrays describe; the arrays must not change any more."""
        return cls(columns, None, int(columns.size.sum()), None)

    @classmethod
    def through(cls, window: Window, address: int, size: int) -> Extents:
        """Return `size` bytes from offset `address` of a window that has no bus address."""
        rows = [Extent(address, size, address, Aperture.BUS.value)] if size else []
        return cls(None, rows, size, window)

    @property
    def rows(self) -> list[Extent]:
        """The pieces as tuples; do not change the list."""
        if self._rows is None:
            self._rows = _to_rows(self.columns)
        return self._rows

    @property
    def columns(self) -> Columns:
        """The pieces as arrays; do not change them."""
        if self._columns is None:
            self._columns = _to_columns(self.rows)
        return self._columns

    @property
    def va(self) -> NDArray[np.uint64]:
        """First virtual address of each piece."""
        return self.columns.va

    @property
    def size(self) -> NDArray[np.uint64]:
        """Bytes of each piece."""
        return self.columns.size

    @property
    def address(self) -> NDArray[np.uint64]:
        """First physical address of each piece."""
        return self.columns.address

    @property
    def aperture(self) -> NDArray[np.uint8]:
        """`Aperture` of each piece."""
        return self.columns.aperture

    @property
    def rights(self) -> NDArray[np.uint8]:
        """`Rights` of each piece."""
        return self.columns.rights

    @property
    def null(self) -> NDArray[np.bool_]:
        """Whether each piece has no memory behind it."""
        return self.columns.null

    @property
    def single(self) -> Extent | None:
        """The only extent, if it is one, with memory in an aperture: what must be fast."""
        rows = self._rows
        if rows is None:
            if len(self.columns.va) != 1:
                return None
            rows = self.rows
        if len(rows) != 1 or self.window is not None or rows[0].null:
            return None
        return rows[0]

    @property
    def is_local(self) -> bool:
        """Whether all of it is VRAM."""
        if self.window is not None:
            return False
        if self._rows is not None and len(self._rows) <= FEW:
            return not any(row.aperture or row.null for row in self._rows)
        return not (self.columns.aperture.any() or self.columns.null.any())

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return len(self.columns.va)

    def __iter__(self) -> Iterator[Extent]:
        return iter(self.rows)

    def __repr__(self) -> str:
        pieces = ", ".join(
            f"va {row.va:#x}: {row.size:#x} bytes at {row.aperture}:{row.address:#x}"
            + (" null" if row.null else "")
            for row in self.rows[:FEW]
        )
        return f"<Extents of {self.total:#x} bytes in {len(self)}: {pieces}>"

    def cut(self, offset: int, size: int) -> Extents:
        """Return bytes `offset` to `offset + size` of the whole; first and last piece may shrink.

        Raises:
            InternalError: the range leaves the extents.
        """
        if offset < 0 or size < 0 or offset + size > self.total:
            raise InternalError(
                f"cut of {size:#x} bytes at {offset:#x} leaves extents of {self.total:#x} bytes"
            )
        if size == 0:
            return Extents(None, [], 0, self.window)
        rows = self._rows
        if rows is None or len(rows) > FEW:
            return Extents(_cut_columns(self.columns, offset, size), None, size, self.window)
        return Extents(None, _cut_rows(rows, offset, size), size, self.window)


def _to_rows(columns: Columns) -> list[Extent]:
    lists = (column.tolist() for column in columns)
    return list(map(Extent._make, zip(*lists, strict=True)))


def _to_columns(rows: list[Extent]) -> Columns:
    va, size, address, aperture, rights, null = zip(*rows, strict=True) if rows else ((),) * 6
    return Columns(
        np.array(va, np.uint64),
        np.array(size, np.uint64),
        np.array(address, np.uint64),
        np.array(aperture, np.uint8),
        np.array(rights, np.uint8),
        np.array(null, np.bool_),
    )


def _cut_rows(rows: list[Extent], offset: int, size: int) -> list[Extent]:
    cut: list[Extent] = []
    stop = offset + size
    ends = accumulate(row.size for row in rows)
    for row, end in zip(rows, ends, strict=True):
        start = end - row.size
        if end <= offset:
            continue
        if start >= stop:
            break
        skip = max(offset - start, 0)
        kept = min(end, stop) - start - skip
        cut.append(row._replace(va=row.va + skip, size=kept, address=row.address + skip))
    return cut


def _cut_columns(columns: Columns, offset: int, size: int) -> Columns:
    ends = np.cumsum(columns.size)
    stop = offset + size
    first = int(np.searchsorted(ends, np.uint64(offset), side="right"))
    last = int(np.searchsorted(ends, np.uint64(stop), side="left"))
    kept = slice(first, last + 1)
    part = Columns(
        columns.va[kept].copy(),
        columns.size[kept].copy(),
        columns.address[kept].copy(),
        columns.aperture[kept],
        columns.rights[kept],
        columns.null[kept],
    )
    skip = np.uint64(offset - (int(ends[first]) - int(columns.size[first])))
    part.size[-1] -= np.uint64(int(ends[last]) - stop)
    part.va[0] += skip
    part.address[0] += skip
    part.size[0] -= skip
    return part
