"""How much memory this process may still use: what the host has, what its control group allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path("/")
_GROUPS: Final = "sys/fs/cgroup"


class Limit(NamedTuple):
    """A bound on the memory that may still be used."""

    free_bytes: int
    source: str
    """Who says so, as the subject of a sentence."""


def memory_limits(root: Path = ROOT) -> list[Limit]:
    """Return every bound that the host tells, the tightest first; none where it tells nothing."""
    limits = [*_host_limits(root), *_group_limits(root)]
    return sorted(limits, key=lambda limit: limit.free_bytes)


def _host_limits(root: Path) -> Iterator[Limit]:
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if name == "MemAvailable" and words and words[0].isdigit():
            yield Limit(int(words[0]) << 10, "the host's available memory")


def _group_limits(root: Path) -> Iterator[Limit]:
    """Yield what the control group and those around it still allow (versions 2 and 1)."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        inner = path.strip("/")
        if not controllers:
            yield from _chain(root / _GROUPS, inner, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            base = root / _GROUPS / "memory"
            yield from _chain(base, inner, "memory.limit_in_bytes", "memory.usage_in_bytes")


def _chain(base: Path, inner: str, limit_name: str, usage_name: str) -> Iterator[Limit]:
    """Yield the limit of one group and of every group around it, up to the mounted one.

    In a container the path may name groups that are not visible: those are skipped.
    """
    group = base / inner
    for folder in (group, *group.parents):
        limit, usage = _read(folder / limit_name).strip(), _read(folder / usage_name).strip()
        if limit.isdigit() and usage.isdigit():
            yield Limit(max(0, int(limit) - int(usage)), f"the limit of control group {folder}")
        if folder == base:
            return


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
