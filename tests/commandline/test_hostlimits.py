"""Memory that the host and control groups still give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.cli.hostlimits import memory_limits

if TYPE_CHECKING:
    from pathlib import Path


def put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_the_host_tells_what_is_available(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemTotal:  100 kB\nMemAvailable:     64 kB\n")

    assert [limit.free_bytes for limit in memory_limits(tmp_path)] == [65536]


def test_the_tightest_limit_comes_first(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", "MemAvailable: 64 kB\n")
    put(tmp_path, "proc/self/cgroup", "0::/user/build\n")
    put(tmp_path, "sys/fs/cgroup/user/build/memory.max", "9000\n")
    put(tmp_path, "sys/fs/cgroup/user/build/memory.current", "1000\n")
    put(tmp_path, "sys/fs/cgroup/user/memory.max", "5000\n")
    put(tmp_path, "sys/fs/cgroup/user/memory.current", "4000\n")

    limits = memory_limits(tmp_path)

    assert [limit.free_bytes for limit in limits] == [1000, 8000, 65536]
    assert "user" in limits[0].source


def test_groups_without_a_limit_or_out_of_sight_say_nothing(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/../hidden\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    put(tmp_path, "sys/fs/cgroup/memory.current", "1\n")

    assert memory_limits(tmp_path) == []


def test_version_1_groups_are_read_too(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/job\n")
    put(tmp_path, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "10000\n")
    put(tmp_path, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "12000\n")

    assert [limit.free_bytes for limit in memory_limits(tmp_path)] == [0]


def test_a_host_that_tells_nothing_gives_no_limit(tmp_path: Path) -> None:
    assert memory_limits(tmp_path) == []
