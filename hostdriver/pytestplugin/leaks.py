"""The leak oracle: what is there before a test and after it, here and at the devices."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from hostdriver.cli.status.document import text_of
from hostdriver.pytestplugin.errors import Leaked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.cli.observer import DeviceReport
    from hostdriver.pytestplugin.emulator import PrivateEmulator

FILES: Final = "/memfd:emuzero"
"""How names of mapped files begin that an emulator made."""
LARGE: Final = 1 << 30
"""Bytes from which on a range without memory is one that a driver reserved."""
GONE_SECONDS: Final = 2.0
"""How long an emulator may take to notice that a client is gone."""
LOOK_SECONDS: Final = 0.002
MOST_LISTED: Final = 20


class Snapshot(NamedTuple):
    """What this process and the devices hold at one moment."""

    descriptors: dict[int, str]
    """What each descriptor of this process is."""
    mappings: dict[str, int]
    """Bytes of each mapping and reserved range of a driver in this process, by what it is."""
    devices: tuple[dict[str, int], ...]
    """What each device holds, by what it is."""
    clients: tuple[str, ...]
    """Clients of the devices."""


def snapshot(emulator: PrivateEmulator) -> Snapshot:
    """Return what is held now.

    Raises:
        EmulatorFailed: the emulator cannot be asked.
    """
    report = emulator.report()
    clients = tuple(
        f"{text_of(client.name)} (process {client.pid}) on device {device.index}"
        for device in report.devices
        for client in device.clients
    )
    held = tuple(map(_held_by, report.devices))
    return Snapshot(_descriptors(), _mappings(), held, clients)


def check_leaks(before: Snapshot, emulator: PrivateEmulator, who: str = "test") -> None:
    """Compare what is held now with what was; devices may take a moment to notice who left.

    Raises:
        Leaked: there is more; what and how many.
        EmulatorFailed: the emulator cannot be asked.
    """
    __tracebackhide__ = True
    after = snapshot(emulator)
    if [*_leaks(before, after)]:
        # What only a cycle of references holds is nobody's.
        gc.collect()
        after = snapshot(emulator)
    deadline = time.monotonic() + GONE_SECONDS
    while len(after.clients) > len(before.clients) and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)
        after = snapshot(emulator)
    if found := [*_leaks(before, after)]:
        raise Leaked("\n  ".join([f"the {who} left behind:", *found]))


def _leaks(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Yield a line for each kind of thing of which there is more."""
    descriptors = [
        f"{number} is {what}"
        for number, what in after.descriptors.items()
        if before.descriptors.get(number) != what
    ]
    extra = len(after.descriptors) - len(before.descriptors)
    if extra > 0:
        yield _counted(extra, "descriptor", "this process", descriptors)
    mappings = [
        f"{what} ({size:#x} bytes)"
        for what, size in after.mappings.items()
        if what not in before.mappings
    ]
    mapped = sum(after.mappings.values()) - sum(before.mappings.values())
    if mapped > 0:
        yield _counted(len(mappings), "mapping", "a driver", mappings)
    clients = [client for client in after.clients if client not in before.clients]
    for index, (had, has) in enumerate(zip(before.devices, after.devices, strict=True)):
        more = {what: has[what] - had[what] for what in has if has[what] > had[what]}
        if more:
            things = ", ".join(f"{count:,} more {what}" for what, count in more.items())
            whose = f"; clients now: {_listed(clients)}" if clients else ""
            yield f"on device {index}: {things}{whose}"


def _held_by(report: DeviceReport) -> dict[str, int]:
    found = report.device
    if found is None:
        return {}
    return {
        "clients": found.client_count,
        "bytes of device memory": found.vram_size - found.free_bytes - found.retired_bytes,
        "memory objects": found.object_count,
        "address spaces": found.space_count,
        "queues": found.queue_count,
        "exports": found.export_count,
        "imports": found.import_count,
    }


def _descriptors() -> dict[int, str]:
    found: dict[int, str] = {}
    folder = Path("/proc/self/fd")
    for name in os.listdir(folder):  # noqa: PTH208 - names only
        # The one by which the folder is read is gone again.
        with contextlib.suppress(FileNotFoundError):
            found[int(name)] = os.readlink(folder / name)  # noqa: PTH115 - no path but a text
    return found


def _mappings() -> dict[str, int]:
    found: dict[str, int] = {}
    for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
        place, rights, *_, inode, name = (line + " ").split(" ", 5)
        start, end = (int(part, 16) for part in place.split("-"))
        what = name.strip()
        is_reserved = rights.startswith("---") and not what and end - start >= LARGE
        if what.startswith(FILES) or (is_reserved and inode == "0"):
            found[f"{what or 'reserved addresses'} at {start:#x}"] = end - start
    return found


def _counted(count: int, what: str, where: str, items: list[str]) -> str:
    return f"{count} {what}{'' if count == 1 else 's'} of {where}: {_listed(items)}"


def _listed(items: list[str]) -> str:
    more = [f"and {len(items) - MOST_LISTED} more"] if len(items) > MOST_LISTED else []
    return ", ".join([*items[:MOST_LISTED], *more])
