"""What the system permits: descriptors, mappings, memory files, other processes' memory."""

from __future__ import annotations

import os
import platform
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from firmware.abi.ids import PAGE_SIZE
from firmware.link.linux import map_anonymous, read_process
from hostdriver.cli.doctor.finding import Finding, fine, problem, warning
from hostdriver.cli.hostlimits import memory_limits
from hostdriver.cli.sizes import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

FEW_DESCRIPTORS: Final = 4096
FEW_MAPPINGS: Final = 65530
"""What Linux permits by default."""
LITTLE_MEMORY: Final = 1 << 30
OLDEST_KERNEL: Final = (5, 9)
_MACHINE: Final = "x86_64"
_ROOT: Final = Path("/")


def check_system(root: Path = _ROOT) -> Iterator[Finding]:
    """Yield what is to be said of the system whose files stand below `root`."""
    yield _python()
    yield _machine()
    yield _process_memory(root)
    yield _descriptors()
    yield _mappings(root)
    yield _memory_files()
    yield from _memory(root)


def _python() -> Finding:
    return fine("python", f"{platform.python_version()}, {sys.executable}")


def _machine() -> Finding:
    release = platform.release()
    text = f"{platform.system()} {release} on {platform.machine()}"
    numbers = [int(part) for part in release.split(".")[:2] if part.isdigit()]
    if platform.machine() != _MACHINE:
        return problem("machine", text, f"the driver is for {_MACHINE}")
    if tuple(numbers) < OLDEST_KERNEL:
        oldest = ".".join(map(str, OLDEST_KERNEL))
        return warning("machine", text, f"Linux {oldest} or later is what is tested")
    return fine("machine", text)


def _process_memory(root: Path) -> Finding:
    scope = _number(root / "proc/sys/kernel/yama/ptrace_scope")
    try:
        _read_own_memory()
    except OSError as error:
        return warning(
            "process memory",
            f"process_vm_readv fails: {error.strerror}",
            "permit it in the sandbox or container: devices cannot reach memory of malloc",
        )
    if scope is None or scope < 2:
        how = "not restricted" if not scope else "ptrace_scope is 1, which programs lift"
        return fine("process memory", how)
    return warning(
        "process memory",
        f"ptrace_scope is {scope}: devices cannot reach memory of malloc and mmap",
        "as root: sysctl kernel.yama.ptrace_scope=1"
        + (" after the next boot, which it takes from 3" if scope > 2 else ""),
    )


def _read_own_memory() -> None:
    """Read a page of this process as a device reads a program's.

    Raises:
        OSError: the system does not permit it.
    """
    page = map_anonymous(PAGE_SIZE)
    read_process(os.getpid(), page.address, memoryview(bytearray(PAGE_SIZE)))


def _descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = f"{_limit(soft)} of at most {_limit(hard)}; the emulator takes all it may have"
    if hard != resource.RLIM_INFINITY and hard < FEW_DESCRIPTORS:
        return warning(
            "descriptors",
            text,
            f"each host allocation needs one: raise the limit (ulimit -Hn {FEW_DESCRIPTORS})",
        )
    return fine("descriptors", text)


def _mappings(root: Path) -> Finding:
    count = _number(root / "proc/sys/vm/max_map_count")
    if count is None:
        return fine("mappings", "the system tells no limit")
    if count < FEW_MAPPINGS:
        return warning(
            "mappings",
            f"at most {count:,} in a process",
            f"each host allocation needs one: as root, sysctl vm.max_map_count={FEW_MAPPINGS}",
        )
    return fine("mappings", f"at most {count:,} in a process")


def _memory_files() -> Finding:
    try:
        os.close(os.memfd_create("emuzero-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    except OSError as error:
        return problem(
            "memory files",
            f"memfd_create fails: {error.strerror}",
            "permit it in the sandbox or container that this runs in",
        )
    return fine("memory files", "can be made and sealed")


def _memory(root: Path) -> Iterator[Finding]:
    tightest = next(iter(memory_limits(root)), None)
    if tightest is None:
        return
    text = f"{format_size(tightest.free_bytes)} left of {tightest.source}"
    if tightest.free_bytes < LITTLE_MEMORY:
        yield warning("memory", text, "device memory is host memory: use a smaller --vram")
    else:
        yield fine("memory", text)


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else f"{value:,}"


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
