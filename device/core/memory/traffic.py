"""Where addresses lie in channels and banks, and how many bytes went where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final


class Bank(NamedTuple):
    """Place of an address in the memory chips."""

    channel: int
    bank: int


@dataclass(frozen=True, slots=True)
class TrafficStatistics:
    """Bytes moved since the device was made."""

    bytes_read: int
    bytes_written: int
    bus_bytes_read: int
    bus_bytes_written: int
    channel_bytes_read: tuple[int, ...]
    """Sums up to `bytes_read`. An access shorter than a stripe (one piece of each channel), or the
    part of it beyond whole stripes, counts for the channel of its first byte."""
    channel_bytes_written: tuple[int, ...]


@final
class Traffic:
    """Counters of the memory controller; adding is cheap, dividing waits for `statistics`.

    Owner: the memory controller. A device reset keeps them.

    Addresses go round the channels in pieces of `interleave_bytes`, and round the banks of a
    channel each time round the channels.
    """

    __slots__ = (
        "_banks",
        "_channels",
        "_interleave_bytes",
        "_odd_read",
        "_odd_written",
        "bus_read",
        "bus_written",
        "copied",
        "read",
        "stripe",
        "written",
    )

    def __init__(self, channels: int, banks: int, interleave_bytes: int) -> None:
        self._channels = channels
        self._banks = banks
        self._interleave_bytes = interleave_bytes
        self.stripe = channels * interleave_bytes
        """Bytes after which every channel had its turn."""
        self.copied = self.read = self.written = 0
        self.bus_read = self.bus_written = 0
        # Only what does not divide evenly among the channels is kept by channel.
        self._odd_read = [0] * channels
        self._odd_written = [0] * channels

    def bank_of(self, address: int) -> Bank:
        """Return where a VRAM address lies."""
        piece = address // self._interleave_bytes
        return Bank(piece % self._channels, piece // self._channels % self._banks)

    def add_read(self, address: int, size: int) -> None:
        """Count bytes read from VRAM."""
        self.read += size
        if odd := size % self.stripe:
            self._odd_read[self.bank_of(address).channel] += odd

    def add_written(self, address: int, size: int) -> None:
        """Count bytes written to VRAM."""
        self.written += size
        if odd := size % self.stripe:
            self._odd_written[self.bank_of(address).channel] += odd

    def add_odd_copy(self, destination: int, source: int, size: int) -> None:
        """Charge the channels for what a copy, counted in `copied`, has beyond whole stripes."""
        odd = size % self.stripe
        self._odd_read[self.bank_of(source).channel] += odd
        self._odd_written[self.bank_of(destination).channel] += odd

    def statistics(self) -> TrafficStatistics:
        """Return the counters."""
        read, written = self.read + self.copied, self.written + self.copied
        return TrafficStatistics(
            bytes_read=read,
            bytes_written=written,
            bus_bytes_read=self.bus_read,
            bus_bytes_written=self.bus_written,
            channel_bytes_read=self._by_channel(read, self._odd_read),
            channel_bytes_written=self._by_channel(written, self._odd_written),
        )

    def _by_channel(self, total: int, odd: list[int]) -> tuple[int, ...]:
        # Exact: what is left without the odd parts are whole stripes.
        share = (total - sum(odd)) // self._channels
        return tuple(share + part for part in odd)
