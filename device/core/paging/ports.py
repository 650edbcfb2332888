"""What paging needs of the memory behind it; the memory controller has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from device.core.memory.blocks import Run
    from device.core.paging.bits import Entries


class Vram(Protocol):
    """VRAM as the walker sees it: reading is all it does."""

    @property
    def words(self) -> memoryview:
        """All of VRAM, cast to "Q": for single entries."""
        ...

    @property
    def entries(self) -> Entries:
        """The same bytes as an array: for many entries."""
        ...


class TableMemory(Vram, Protocol):
    """VRAM that also hands out table pages."""

    def allocate_table(self) -> int:
        """Return the address of a zeroed table page.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY.
        """
        ...

    def free_table(self, address: int) -> None:
        """Give one table page back."""
        ...

    def allocate_tables(self, count: int) -> list[int]:
        """Return the addresses of zeroed table pages, neighbours where possible; all or none.

        Raises:
            DeviceError: OUT_OF_DEVICE_MEMORY; nothing was taken.
        """
        ...

    def free_tables(self, runs: Sequence[Run]) -> None:
        """Give table pages back, as runs of frames."""
        ...
