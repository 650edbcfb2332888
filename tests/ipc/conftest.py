"""An exporting and an importing program on one device, in this process."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import DeviceSpec, Pair, pair
from tests.harness.levelzero import HOST, PAGE

SPEC = DeviceSpec(vram_size=64 << 20)


@dataclass
class Side:
    """One program."""

    driver: ze.Driver
    context: ze.Context = field(init=False)

    def __post_init__(self) -> None:
        self.context = self.driver.create_context()

    @property
    def device(self) -> ze.Device:
        return self.driver.devices[0]

    def open(self, handle: bytes) -> int:
        return self.context.mem_open_ipc_handle(self.device, handle)

    def close(self, pointer: int) -> None:
        self.context.mem_close_ipc_handle(pointer)

    def window(self, va: int, size: int) -> bytes:
        chain = [ze.IpcPhysMemHandleRangeExtDesc(size)]
        return self.context.mem_get_ipc_handle_with_properties(va, chain)

    def physical(self, size: int, *, host: bool = False) -> ze.PhysicalMem:
        flags = HOST if host else ze.PhysicalMemFlags.ALLOCATE_ON_DEVICE
        return self.context.physical_mem_create(self.device, ze.PhysicalMemDesc(size, flags))

    def map(self, *objects: ze.PhysicalMem) -> int:
        """Map objects of one page each side by side; return where."""
        va = self.context.virtual_mem_reserve(PAGE * len(objects))
        for at, source in enumerate(objects):
            self.context.virtual_mem_map(va + at * PAGE, PAGE, source)
        return va


@dataclass
class Sides:
    """Both programs and their device."""

    pair: Pair
    exporter: Side
    importer: Side


def sides_of(made: Pair) -> Sides:
    return Sides(made, Side(made.driver), Side(made.connect("importer")))


@pytest.fixture(name="sides")
def make_sides() -> Iterator[Sides]:
    with pair(SPEC) as made:
        yield sides_of(made)


@pytest.fixture(name="intel")
def make_intel_sides() -> Iterator[Sides]:
    with pair(SPEC, profile="intel") as made:
        yield sides_of(made)
