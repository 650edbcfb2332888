"""`emuzero demo --extension`: every call of an example is told, and what fails is loud."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from hostdriver.cli.demo.children import ChildFailed
from hostdriver.cli.demo.extensions import EXTENSIONS, Entry
from hostdriver.cli.demo.performance import Record, perform
from hostdriver.cli.main import emuzero as emuzero_group
from tests.harness.commandline import emuzero

if TYPE_CHECKING:
    from pathlib import Path

SMALL = 16 << 20
PROGRAM = """\
import os, threading
print("a", end="")
print("b\\nc")
os.system("echo from a child")
with ze.connect() as driver, driver.create_context() as context:
    pointer = context.mem_alloc_device(driver.devices[0], 1 << 20)
    context.memory_read(pointer, 4)
    fill = lambda: context.memory_fill(pointer, b"1", 1 << 20)
    threads = [threading.Thread(target=fill) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    context.mem_free(pointer)
"""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return the document of the example with two processes."""
    ended = emuzero("demo", "--extension", "range", "--json", "--vram", "64MiB")
    assert (ended.returncode, ended.stderr) == (0, "")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Return what was recorded of a program that prints, starts a child and has threads."""
    return performed(tmp_path_factory.mktemp("program"), PROGRAM)


def performed(folder: Path, text: str) -> Record:
    """Return what was recorded of a program."""
    file = folder / "example.py"
    file.write_text(f"from hostdriver import levelzero as ze\n{text}")
    record = Record()
    assert perform(Entry(file, "ZE_extension_x", "A test."), record, vram_size=SMALL) == ""
    return record


def calls_of(document: dict[str, Any], function: str) -> list[dict[str, Any]]:
    return [call for call in document["calls"] if call["function"] == function]


@pytest.mark.slow
def test_an_example_is_shown_with_calls_commands_and_results() -> None:
    shown = emuzero("demo", "--extension", "external-memory", "--vram", "64MiB")

    assert (shown.returncode, shown.stderr) == (0, "")
    text = " ".join(shown.stdout.split())
    entry = EXTENSIONS["external-memory"]
    for words in (
        entry.summary,
        f"The program: {entry.file}",
        "becomes a host allocation:",
        "program zeMemAllocHost(size=0x4_0000, alignment=0x1000, desc=HostMemAllocDesc(p_next=[",
        "ExternalMemmapSysmemExtDesc(p_system_memory=0x",
        "> copy ring 1: ",
        "= ERROR_INVALID_ARGUMENT",
        "Proved: every check of the program held, and all 64 MiB of device memory are free again.",
    ):
        assert words in text


def test_the_document_proves_what_the_screen_shows(document: dict[str, Any]) -> None:
    assert (document["proved"], document["problem"]) == (True, "")
    assert document["extension"] == "ZE_extension_ipc_phys_mem_handle_range"
    assert document["file"] == str(EXTENSIONS["range"].file)
    assert any(line.startswith("The importer reads:") for line in document["lines"])


def test_calls_of_all_processes_are_told_with_their_commands(document: dict[str, Any]) -> None:
    exported, *refused = calls_of(document, "zeMemGetIpcHandleWithProperties")
    (opened,) = calls_of(document, "zeMemOpenIpcHandle")

    assert (exported["process"], exported["result"]) == ("program", "64 bytes")
    assert exported["commands"][0]["text"].startswith("Export ")
    assert [call["result"] for call in refused] == [
        "ZE_RESULT_ERROR_ADDRESS_NOT_FOUND",
        "ZE_RESULT_ERROR_INVALID_SIZE",
    ]
    assert opened["process"] == "importer"
    assert opened["commands"][0]["text"].startswith("ExportOpen ")
    # Each stands below the line that was printed before it.
    assert document["lines"][opened["line"] - 1].endswith("64 bytes, and opens them:")


def test_calls_are_told_in_their_order_and_not_those_that_a_call_makes(record: Record) -> None:
    calls: Any = record.value["calls"]
    functions = [call["function"] for call in calls]

    assert functions[:4] == ["zeInit", "zeContextCreate", "zeMemAllocDevice", "memory_read"]
    assert functions[-2:] == ["zeMemFree", "zeContextDestroy"]


def test_calls_of_several_threads_are_told_each_with_its_commands(record: Record) -> None:
    calls: Any = record.value["calls"]
    fills = [call for call in calls if call["function"] == "memory_fill"]

    assert len(fills) == 4
    for fill in fills:
        texts = [command["text"].split()[0] for command in fill["commands"]]
        assert texts.count("Fill") == 1


def test_output_is_told_by_lines_and_what_children_print_does_no_harm(record: Record) -> None:
    assert record.value["lines"] == ["ab", "c"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("assert 1 == 2, 'one is not two'", "the example failed .*AssertionError: one is not two"),
        ("raise SystemExit('no')", r"the example failed \(exit code 1\): no"),
        ("import os; os.write(3, b'?')\nos._exit(3)", r"the example failed \(exit code 3\)"),
    ],
)
def test_a_check_that_fails_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    # Assertions are checks, whatever the environment says.
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    with pytest.raises(ChildFailed, match=words):
        performed(tmp_path, text)


@pytest.mark.slow
def test_a_failure_is_in_the_document_and_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "bad.py"
    file.write_text("assert not 'as it should be'")
    monkeypatch.setitem(EXTENSIONS, "range", Entry(file, "ZE_extension_x", "A test."))

    ended = CliRunner().invoke(
        emuzero_group, ["demo", "--extension", "range", "--json", "--vram", "16MiB"]
    )

    assert ended.exit_code == 1
    document = json.loads(ended.stdout)
    assert document["proved"] is False
    assert "AssertionError" in document["problem"]


def test_names_are_listed_for_people_and_programs() -> None:
    listed = CliRunner().invoke(emuzero_group, ["demo", "--list"])
    document = json.loads(CliRunner().invoke(emuzero_group, ["demo", "--list", "--json"]).stdout)

    assert listed.exit_code == 0
    for name, entry in EXTENSIONS.items():
        assert name in listed.stdout
        assert entry.file.is_file()
        assert document[name] == {
            "extension": entry.extension,
            "file": str(entry.file),
            "summary": entry.summary,
        }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--extension", "rnge"], "no example shows 'rnge'; did you mean range?"),
        (["--extension", "external_memory"], "did you mean external-memory?"),
        (["--extension", "zebra"], "there are range, external-memory, free-policy"),
        (["--extension", "range", "README.md"], "takes no files"),
        (["--extension", "range", "--keep"], "takes no --keep"),
        (["--extension", "range", "--vram", "0"], "--vram: expected a whole number from"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_2(arguments: list[str], words: str) -> None:
    ended = CliRunner().invoke(emuzero_group, ["demo", *arguments])

    assert ended.exit_code == 2
    assert words in ended.output


def test_the_specifications_name_is_understood() -> None:
    name = EXTENSIONS["range"].extension
    ended = CliRunner().invoke(emuzero_group, ["demo", "--extension", name, "--keep"])

    assert "takes no --keep" in ended.output


def test_a_shell_completes_the_names() -> None:
    ended = emuzero(
        env={
            "_EMUZERO_COMPLETE": "bash_complete",
            "COMP_WORDS": "emuzero demo --extension ext",
            "COMP_CWORD": "3",
        }
    )

    assert ended.stdout.split() == ["plain,external-memory"]
