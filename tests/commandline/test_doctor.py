"""`emuzero doctor`: what it finds of library, loader, environment and system, and its advice."""

from __future__ import annotations

import errno
import json
import os
import resource
from typing import TYPE_CHECKING, Any

import pytest

from hostdriver.cli.doctor import emulator, library, loader, system, variables
from hostdriver.cli.doctor.finding import Finding, Level
from hostdriver.clib import build
from tests.harness.commandline import emuzero, serving

if TYPE_CHECKING:
    from pathlib import Path


def examined(**env: str) -> tuple[int, dict[str, dict[str, str]], dict[str, Any]]:
    """Return exit code, checks by name, and the whole document of a doctor's visit."""
    done = emuzero("doctor", "--json", env=env)
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, {check["name"]: check for check in document["checks"]}, document


def test_a_system_that_lacks_nothing_is_healthy(tmp_path: Path) -> None:
    build.library()

    code, checks, document = examined(XDG_RUNTIME_DIR=str(tmp_path))

    assert (code, document["healthy"], document["schema"]) == (0, True, 1)
    assert str(build.library()) in checks["library"]["found"]
    assert checks["emulator"]["found"].startswith(f"none runs at {tmp_path}/emuzero/shared.sock")
    assert {"compiler", "loader", "process memory", "descriptors", "mappings"} <= checks.keys()


def test_people_are_told_in_words_what_to_do(tmp_path: Path) -> None:
    done = emuzero("doctor", env={"ZE_ENABLE_NULL_DRIVER": "1", "XDG_RUNTIME_DIR": str(tmp_path)})

    assert done.returncode == 1
    lines = done.stdout.splitlines()
    told = next(i for i, line in enumerate(lines) if line.startswith("problem "))
    assert "environment: ZE_ENABLE_NULL_DRIVER=1: the loader then offers" in lines[told]
    assert lines[told + 1] == "         do: unset ZE_ENABLE_NULL_DRIVER"
    assert lines[-1] == "Programs cannot run like this."


def test_an_emulator_that_runs_is_found_and_knows_how_many_devices_there_are(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--devices", "2", "--vram", "64MiB") as running:
        seen = {"EMUZERO_SOCKET": str(running.socket)}
        code, checks, _ = examined(**seen, ZE_AFFINITY_MASK="1")
        hidden, masked, _ = examined(**seen, ZE_AFFINITY_MASK="2")

    assert code == 0
    assert checks["emulator"]["found"].startswith(f"process {running.process.pid} at ")
    assert checks["emulator"]["found"].endswith("devices: 2")
    assert checks["environment"]["level"] == "warning"
    assert hidden == 1
    assert masked["environment"]["found"] == "ZE_AFFINITY_MASK=2 leaves none of 2 devices"


def test_a_socket_that_is_named_and_dead_is_a_problem(tmp_path: Path) -> None:
    code, checks, _ = examined(EMUZERO_SOCKET=str(tmp_path / "nobody"))

    assert code == 1
    assert checks["emulator"]["level"] == "problem"
    assert "unset EMUZERO_SOCKET" in checks["emulator"]["advice"]


def test_a_socket_folder_that_others_may_use_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMUZERO_SOCKET", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "emuzero").mkdir()
    (tmp_path / "emuzero").chmod(0o755)

    finding = emulator.check_emulator().finding

    assert finding.level is Level.PROBLEM
    assert "open to others" in finding.found


def of_variables(**environment: str) -> list[Finding]:
    return list(variables.check_variables(environment, device_count=2))


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("ZE_ENABLE_NULL_DRIVER", "1", Level.PROBLEM),
        ("ZE_ENABLE_VALIDATION_LAYER", "1", Level.OK),
        ("ZE_AFFINITY_MASK", "2,3", Level.PROBLEM),
        ("ZE_AFFINITY_MASK", "0.0", Level.WARNING),
        ("ZE_AFFINITY_MASK", "nonsense", Level.PROBLEM),
        ("ZE_FLAT_DEVICE_HIERARCHY", "ROUND", Level.PROBLEM),
        ("EMUZERO_DISABLE_EXTENSIONS", "ZE_no_such", Level.PROBLEM),
    ],
)
def test_variables_that_hide_the_driver_are_told(name: str, value: str, level: Level) -> None:
    [finding] = of_variables(**{name: value})

    assert finding.level is level
    assert value in finding.found
    assert bool(finding.advice) is (level is not Level.OK)


def test_variables_that_hide_nothing_are_not_told() -> None:
    assert of_variables() == []
    assert of_variables(ZE_ENABLE_NULL_DRIVER="0", ZE_FLAT_DEVICE_HIERARCHY="FLAT") == []


@pytest.fixture(name="cache")
def make_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache of libraries."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "emuzero"


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def test_a_library_that_is_not_built_needs_a_compiler(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_compiler = by_name(list(library.check_library()))
    monkeypatch.setattr(library, "compiler", lambda: None)
    without = by_name(list(library.check_library()))

    assert with_compiler["library"].found.startswith("not built yet")
    assert str(cache) in with_compiler["library"].found
    assert without["library"].level is Level.PROBLEM
    assert "apt-get install gcc" in without["library"].advice
    assert without["compiler"].level is Level.WARNING


def test_a_library_that_is_cut_off_is_a_problem_and_old_ones_are_counted(cache: Path) -> None:
    path = build.library()
    (cache / "clib-0123456789abcdef").mkdir()
    whole = by_name(list(library.check_library()))
    path.write_bytes(path.read_bytes()[:-100])
    damaged = by_name(list(library.check_library()))

    assert whole["library"].level is Level.OK
    assert whole["old libraries"].found.startswith("1 of other versions")
    assert damaged["library"] == Finding(
        "library", Level.PROBLEM, f"{path} is damaged", f"remove it: rm {path}"
    )


def of_loader(file: Path, **environment: str) -> dict[str, Finding]:
    return by_name(list(loader.check_loader(environment, {"libze_loader.so.1": file})))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("libze_loader.so.1.8.12", "version 1.8, which is too old: the library stands in its"),
        ("libze_loader.so.1.24.1", "version 1.24"),
    ],
)
def test_an_old_loader_is_told_to_be_one(name: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    link = tmp_path / "libze_loader.so.1"
    link.symlink_to(name)

    finding = of_loader(link)["loader"]

    assert finding.level is Level.OK
    assert name in finding.found
    assert told in finding.found


def test_what_the_environment_names_is_compared_with_this_library(tmp_path: Path) -> None:
    nowhere = tmp_path / "none"
    old = tmp_path / "clib-old" / build.NAME

    ours = of_loader(nowhere, ZE_ENABLE_ALT_DRIVERS=str(build.library()))["environment"]
    stale = of_loader(nowhere, ZE_ENABLE_ALT_DRIVERS=str(old))["environment"]
    other = of_loader(nowhere, ZE_ENABLE_ALT_DRIVERS="/opt/libother.so")["environment"]

    assert ours.level is Level.OK
    assert (stale.level, stale.advice) == (Level.PROBLEM, 'eval "$(emuzero env)" again')
    assert other.level is Level.WARNING


def test_a_stand_in_of_another_version_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / build.NAME).touch()
    (tmp_path / "libze_loader.so.1").symlink_to(build.NAME)

    stale = of_loader(tmp_path, LD_LIBRARY_PATH=str(tmp_path))["loader"]
    ours = of_loader(tmp_path, LD_LIBRARY_PATH=str(build.stand_ins()))["loader"]

    assert stale.level is Level.PROBLEM
    assert ours.level is Level.OK


def in_system(root: Path, files: dict[str, str]) -> dict[str, Finding]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return by_name(list(system.check_system(root)))


@pytest.mark.parametrize(
    ("scope", "level"),
    [("0", Level.OK), ("1", Level.OK), ("2", Level.WARNING), ("3", Level.WARNING)],
)
def test_a_system_that_guards_processes_is_told(scope: str, level: Level, tmp_path: Path) -> None:
    found = in_system(tmp_path, {"proc/sys/kernel/yama/ptrace_scope": f"{scope}\n"})

    assert found["process memory"].level is level


def test_few_mappings_and_little_memory_are_told(tmp_path: Path) -> None:
    found = in_system(
        tmp_path,
        {"proc/sys/vm/max_map_count": "1000\n", "proc/meminfo": "MemAvailable: 100 kB\n"},
    )

    assert found["mappings"].advice.endswith("sysctl vm.max_map_count=65530")
    assert found["memory"].level is Level.WARNING
    assert "100 KiB" in found["memory"].found


def test_few_descriptors_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    found = in_system(tmp_path, {})["descriptors"]
    monkeypatch.setattr(
        resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )

    assert found.level is Level.WARNING
    assert found.found.startswith("64 of at most 64")
    assert in_system(tmp_path, {})["descriptors"].found.startswith("unlimited of at most")


def test_what_a_sandbox_forbids_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> int:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(system, "read_process", forbidden)
    monkeypatch.setattr(os, "memfd_create", forbidden)

    found = in_system(tmp_path, {})

    assert found["memory files"].level is Level.PROBLEM
    assert found["process memory"].level is Level.WARNING
    assert "Operation not permitted" in found["process memory"].found
