"""`emuzero demo`: three real processes, and whatever can go wrong with them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from hostdriver.cli.demo.inputs import default_files
from hostdriver.cli.main import emuzero as emuzero_group
from tests.harness.commandline import emuzero, start

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

HANDLE_SIZE = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder in which the demo makes its temporary files."""
    made = tmp_path / "temporary"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the document of one run with the usual files."""
    return proved(tmp_path_factory.mktemp("temporary"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def demo(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the demo and check that it leaves no file behind."""
    ended = emuzero("demo", *arguments, env={"TMPDIR": str(folder)})
    assert list(folder.iterdir()) == []
    return ended


def proved(folder: Path, *arguments: object) -> dict[str, Any]:
    """Return the document of a run that proves everything."""
    ended = demo(folder, "--json", *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    document: dict[str, Any] = json.loads(ended.stdout)
    assert document["proved"] is True
    return document


def begun(folder: Path, *arguments: object) -> tuple[subprocess.Popen[str], dict[str, int]]:
    """Start a demo that stops while the memory is shared; return it and its processes."""
    process = start("demo", "--keep", *arguments, TMPDIR=str(folder))
    assert process.stdout is not None
    processes: dict[str, int] = {}
    for line in process.stdout:
        if match := re.search(r"(device|exporter|importer) +process (\d+)", line):
            processes[match[1]] = int(match[2])
        if "emuzero status --socket" in line:
            return process, processes
    _, errors = process.communicate()
    raise AssertionError(f"the demo did not stop: {errors}")


def await_end(pids: list[int]) -> None:
    """Wait until processes that are not ours have ended."""
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still running: {pids}"


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.slow
def test_hashes_on_the_screen_are_those_of_the_files(folder: Path) -> None:
    ended = demo(folder)

    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    for path in default_files():
        # Once as the exporter loaded it, once as the importer read it.
        assert ended.stdout.count(f"{sha256(path)}  {path.name} (") == 2
    assert "\nProved: with nothing but 64 bytes" in ended.stdout
    assert "\x1b[" not in ended.stdout


def test_the_document_proves_what_the_screen_shows(document: dict[str, Any]) -> None:
    assert [(file["name"], file["sha256"]) for file in document["files"]] == [
        (path.name, sha256(path)) for path in default_files()
    ]
    assert document["bytes_received"] == HANDLE_SIZE
    assert len(document["handle"]["bytes"]) == 2 * HANDLE_SIZE
    assert document["reply"]["written"] == document["reply"]["seen"] != ""
    before, shared, after = (document["statistics"][m] for m in ("before", "shared", "after"))
    assert before["free_bytes"] == after["free_bytes"] == after["vram_size"]
    assert shared["free_bytes"] < before["free_bytes"]
    assert (shared["client_count"], shared["export_count"], shared["import_count"]) == (2, 1, 1)


def test_both_page_tables_lead_to_the_same_memory(document: dict[str, Any]) -> None:
    sides = [document["page_tables"][who]["extents"] for who in ("exporter", "importer")]
    memory = [[(e["aperture"], e["address"], e["size"]) for e in extents] for extents in sides]
    assert memory[0] == memory[1] != []
    assert [e["va"] for e in sides[0]] != [e["va"] for e in sides[1]]
    # The exporter maps from an offset on, so the window's memory is in three places at least.
    assert len(memory[0]) >= 3


def test_three_objects_of_different_sizes_are_mapped_at_offsets_side_by_side(
    document: dict[str, Any],
) -> None:
    built = document["range"]
    parts = built["parts"]

    assert len({part["object_size"] for part in parts}) == len(parts) == 3
    assert all(part["object_offset"] for part in parts)
    assert [part["va"] + part["size"] for part in parts[:2]] == [part["va"] for part in parts[1:]]
    end = built["window_va"] + built["window_size"]
    assert parts[0]["va"] < built["window_va"] < parts[1]["va"]
    assert parts[2]["va"] < end < parts[2]["va"] + parts[2]["size"]
    assert (built["window_va"] - parts[0]["va"]) % 2 == end % 2 == 1


def test_calls_show_the_commands_that_they_caused(document: dict[str, Any]) -> None:
    calls = document["calls"]

    def rings_of(function: str) -> list[str]:
        found = [call for call in calls if call["function"] == function]
        return [command["text"].split()[0] for call in found for command in call["commands"]]

    assert rings_of("zePhysicalMemCreate") == ["ObjectCreate"] * 3
    assert rings_of("zeVirtualMemMap") == ["Map"] * 3
    assert rings_of("zeMemGetIpcHandleWithProperties") == ["Export"]
    assert rings_of("zeMemOpenIpcHandle") == ["ExportOpen"]
    assert rings_of("zeMemGetAddressRange") == []
    assert rings_of("zeMemCloseIpcHandle") == ["ExportClose"]
    assert rings_of("zeMemPutIpcHandle") == ["ExportPut"]
    assert rings_of("memory_read").count("Copy") >= 4
    (reply,) = {
        command["reply"].split()[0]
        for call in calls
        for command in call["commands"]
        if command["text"].startswith("Unmap ")
    }
    assert reply == "Unmapped"


@pytest.mark.slow
def test_files_of_any_size_and_name_are_shared(folder: Path, tmp_path: Path) -> None:
    contents = {
        b"empty": b"",
        b"one byte": b"1",
        b"odd\xff\n[name]": b"x" * 77_777,
        b"middle": os.urandom(1_234_567),
        b"large": os.urandom(20_000_001),
    }
    paths = [tmp_path / os.fsdecode(name) for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)

    document = proved(folder, *paths)

    files = document["files"]
    assert [file["size"] for file in files] == [len(content) for content in contents.values()]
    assert [file["sha256"] for file in files] == [sha256(path) for path in paths]
    assert files[2]["name"] == "odd\\xff\\x0a[name]"
    told = {call["arguments"].get("what"): call["result"] for call in document["calls"]}
    assert (told["one byte"], told["middle"]) == ("1 byte", "1,234,567 bytes")


@pytest.mark.slow
def test_many_files_with_the_same_name_are_shared(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) / "same" for number in range(300)]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(f"file {number}")

    ended = demo(folder, *paths)

    assert ended.returncode == 0, ended.stderr
    assert all(ended.stdout.count(sha256(path)) == 2 for path in paths)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "cannot be read: No such file or directory"),
        (lambda path: path.mkdir(), "is a directory, expected files"),
        (os.mkfifo, "is no regular file"),
    ],
)
def test_what_cannot_be_shared_is_refused_with_2(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "input"
    make(path)

    shown = CliRunner().invoke(emuzero_group, ["demo", str(path)])

    assert shown.exit_code == 2
    assert shown.output == f"Error: {path} {words}\n"


@pytest.mark.slow
def test_what_does_not_fit_is_refused_with_2(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.touch()
    os.truncate(path, 1 << 30)

    ended = demo(folder, "--vram", "512MiB", path)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "the files have 1 GiB and need 1.018 GiB of device memory" in ended.stderr
    assert "the device has 512 MiB; --vram gives it another size" in ended.stderr


@pytest.mark.slow
def test_a_size_that_no_device_has_is_refused_with_2(folder: Path) -> None:
    ended = demo(folder, "--vram", "0")

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("Error: --vram: expected a whole number from ")


@pytest.mark.slow
def test_what_just_fits_is_shared(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(100_000))

    assert proved(folder, "--vram", "2MiB", path)["files"][0]["sha256"] == sha256(path)


@pytest.mark.slow
@pytest.mark.sentence("RANGE-07")
@pytest.mark.case("I19")
def test_the_importer_is_given_the_socket_and_64_bytes_and_nothing_else(folder: Path) -> None:
    process, processes = begun(folder)
    importer = Path(f"/proc/{processes['importer']}")
    (socket,) = folder.glob("*/socket")

    arguments = (importer / "cmdline").read_bytes().split(b"\0")[1:-1]
    environment = (importer / "environ").read_bytes()
    opened = [str(path.readlink()) for path in (importer / "fd").iterdir()]
    status = json.loads(emuzero("status", "--socket", socket, "--json").stdout)
    output, errors = process.communicate("\n", timeout=60)

    assert arguments == [b"-P", b"-m", b"hostdriver.cli.demo.importer", bytes(socket)]
    assert b"LICENSE" not in environment
    assert [target for target in opened if target.endswith((".md", "LICENSE"))] == []
    # What was kept could be looked at meanwhile.
    assert {client["pid"]: client["name"] for client in status["devices"][0]["clients"]} == {
        processes["exporter"]: "demo exporter",
        processes["importer"]: "demo importer",
    }
    assert (process.returncode, errors) == (0, "")
    assert "Proved:" in output


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["device", "exporter", "importer"])
def test_the_end_of_any_process_ends_all_with_its_name(folder: Path, victim: str) -> None:
    process, processes = begun(folder)

    os.kill(processes[victim], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 1
    assert f"Error: the {victim} ended early (exit code -9)" in errors
    await_end(list(processes.values()))
    assert list(folder.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_signals_end_all_of_it(folder: Path, number: int, code: int) -> None:
    process, processes = begun(folder)

    process.send_signal(number)
    _, errors = process.communicate(timeout=60)

    assert (process.returncode, errors.strip()) == (code, "")
    await_end(list(processes.values()))
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_children_of_a_killed_demo_leave_by_themselves(folder: Path) -> None:
    process, processes = begun(folder)

    process.kill()
    process.communicate()

    await_end(list(processes.values()))


@pytest.mark.slow
def test_a_reader_that_leaves_ends_all_of_it(folder: Path) -> None:
    process = start("demo", TMPDIR=str(folder))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    errors = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert process.stdin is not None
    process.stdin.close()

    assert (process.returncode, errors) == (1, "")
    assert list(folder.iterdir()) == []
