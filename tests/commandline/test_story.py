"""The story on the screen and in the document, from scripted events."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from firmware.abi.ipc import ExportKind
from hostdriver.cli.demo.document import Document
from hostdriver.cli.demo.events import (
    Attached,
    Built,
    Call,
    Command,
    Exported,
    Extent,
    FileHash,
    Finished,
    Loaded,
    Opened,
    Part,
    Replied,
    ReplySeen,
    Tables,
    Verified,
)
from hostdriver.cli.demo.page import MOST_SHOWN
from hostdriver.cli.demo.story import Story
from hostdriver.cli.demo.verdict import Verdict
from hostdriver.core.ipc import Named, build_handle
from tests.commandline.test_status_document import keys_of
from tests.harness.statistics import device_statistics

PAGE = (Path(__file__).parents[2] / "docs" / "demo.md").read_text(encoding="utf-8")
SOCKET = "/run/x/socket"
HASH = "0123456789abcdef" * 4
FILES = [FileHash("read[me].md", 5000, HASH)]
HANDLE = build_handle(
    Named(
        token=bytes(range(16)),
        kind=ExportKind.RANGE,
        device=0,
        emulator_id=0x1234_5678_9ABC_DEF0,
        offset=0x17F,
        size=208098,
    ),
    5,
    4711,
)
PARTS = [
    Part(0x2_0000, 0x1_0000, 0x7000_0000_0000, 0x1_0000),
    Part(0x6_0000, 0x3_0000, 0x7000_0001_0000, 0x3_0000),
    Part(0x4_0000, 0x2_0000, 0x7000_0004_0000, 0x2_0000),
]
EXPORTERS = Tables([Extent(0x7000_0000_F000, 4096, "LOCAL", 0x3_F000, 0, 65536, "READ|WRITE")], 1)
IMPORTERS = Tables([Extent(0x7111_0000_0000, 4096, "LOCAL", 0x3_F000, 0, 4096, "READ|WRITE")], 1)
COPY = Command("copy ring 1", "Copy size_bytes=0x10")
GOOD = Verdict(
    loaded=FILES,
    verified=Verified(FILES, [HASH]),
    replied="process 3 read 1 file",
    seen=ReplySeen("process 3 read 1 file", is_right=True),
    received=64,
    after=device_statistics(),
)


def tell(audience: Story | Document, verdict: Verdict = GOOD) -> None:
    """Tell a whole run."""
    audience.began(SOCKET, {"device": 1, "exporter": 2, "importer": 3})
    audience.measured("before", device_statistics())
    audience.told("exporter", Attached(2, "test device", 1 << 30))
    audience.told("exporter", Call("zeVirtualMemReserve", {"size": "0x6_0000"}, "0x7000", []))
    audience.told("exporter", Built(PARTS, 0x7000_0000_F17F, 208098))
    audience.told("exporter", Call("memory_write", {}, "SUCCESS", [COPY] * 9, more_commands=100))
    audience.told("exporter", Loaded(FILES, ["AB"]))
    audience.told("exporter", EXPORTERS)
    audience.told("exporter", Exported(HANDLE))
    audience.handed(HANDLE)
    audience.told("importer", Opened(64, 0x7111_0000_017F, 208098))
    audience.told("importer", IMPORTERS)
    audience.told("importer", verdict.verified)
    audience.told("importer", Replied(verdict.replied))
    audience.told("exporter", verdict.seen)
    audience.measured("shared", device_statistics(client_count=2, free_bytes=(1 << 30) - 4096))
    audience.paused(SOCKET)
    audience.told("importer", Finished(64))
    audience.told("exporter", Finished())
    audience.measured("after", verdict.after)
    audience.ended(verdict)


def shown(verdict: Verdict = GOOD, *, width: int = 100, color: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, highlight=False, markup=False, force_terminal=color, no_color=False
    )
    tell(Story(console), verdict)
    return file.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        "exporter  process 2",
        "The device listens at /run/x/socket.",
        "1. The exporter maps three objects side by side",
        "exporter zeVirtualMemReserve(size=0x6_0000) = 0x7000",
        "object B: 384 KiB; from its byte 0x3_0000 on 192 KiB are mapped at 0x7000_0001_0000",
        "[---A----][--------------B---------------][---------C----------]",
        "The window: 208,098 bytes, from byte 61823 of A's part to byte 7777 of C's.",
        "> copy ring 1: Copy size_bytes=0x10",
        f"... and {109 - MOST_SHOWN} more commands",
        f"{HASH}  read[me].md (5,000 bytes, in A and B)",
        "0102 030405".replace(" ", ""),
        "18  00 01 02 03 04 05 06 07  token            000102030405060708090a0b0c0d0e0f",
        "(check word is right)",
        "4. The importer is given these 64 bytes, and opens them",
        "importer was given 64 bytes and sees 208,098 at 0x7111_0000_017f",
        "0x7000_0000_f000  64 KiB L0 rw-  LOCAL 0x3_f000  4 KiB  0x7111_0000_0000  4 KiB L0 rw-",
        f"{HASH}  read[me].md (5,000 bytes)",
        "Each is what the manifest in the window says.",
        "importer wrote: process 3 read 1 file",
        "exporter reads: process 3 read 1 file",
        "emuzero status --socket /run/x/socket",
        "free device memory  1,073,741,824 bytes  1,073,737,728 bytes  1,073,741,824 bytes",
        "Proved: with nothing but 64 bytes the importer read 1 file (5,000 bytes)",
    ],
)
def test_a_newcomer_sees_what_happens_at_each_level(words: str) -> None:
    text = " ".join(shown().split())

    assert " ".join(words.split()) in text


@pytest.mark.parametrize("width", [30, 60, 80, 95, 140])
def test_hashes_stay_whole_at_any_width(width: int) -> None:
    assert shown(width=width).count(HASH) == 2


@pytest.mark.parametrize("width", [60, 95])
def test_narrow_screens_show_the_page_tables_below_each_other(width: int) -> None:
    text = shown(width=width)

    assert text.index("exporter's page table") < text.index("importer's page table")


def test_page_tables_that_disagree_are_shown_one_by_one() -> None:
    file = io.StringIO()
    story = Story(Console(file=file, width=100))
    story.told("exporter", EXPORTERS)
    story.told("importer", Tables([], 0))

    assert "importer's page table" in file.getvalue()


def test_colours_are_there_on_a_terminal_only() -> None:
    assert "\x1b[" in shown(color=True)
    assert "\x1b[" not in shown()


def test_a_hash_that_differs_is_shown_with_what_was_expected() -> None:
    other = "f" * 64
    verdict = Verdict(
        loaded=FILES,
        verified=Verified([FileHash("read[me].md", 5000, other)], [HASH]),
        replied="",
        seen=ReplySeen("", is_right=False),
        received=64,
        after=device_statistics(),
    )

    text = shown(verdict)

    assert f"read[me].md: the manifest says {HASH}" in text
    assert "Not proved: the importer did not read what the exporter loaded" in text
    assert "Proved:" not in text.replace("Not proved:", "")


def test_the_document_holds_what_the_screen_shows() -> None:
    document = Document()
    tell(document)

    value = json.loads(json.dumps(document.value))
    assert value["proved"] is True
    assert value["problem"] == ""
    assert value["bytes_received"] == 64
    assert value["handle"]["bytes"] == HANDLE.hex()
    assert value["handle"]["fields"]["kind"] == "RANGE"
    assert value["files"] == [
        {
            "name": "read[me].md",
            "size": 5000,
            "sha256": HASH,
            "loaded_sha256": HASH,
            "manifest_sha256": HASH,
        }
    ]
    assert value["page_tables"]["importer"]["extents"][0]["address"] == 0x3_F000
    assert value["calls"][0]["process"] == "exporter"
    assert value["range"]["parts"][1]["object_size"] == 0x6_0000
    assert value["statistics"]["shared"]["client_count"] == 2
    assert set(value["statistics"]) == {"before", "shared", "after"}


def test_every_key_of_the_document_is_described() -> None:
    document = Document()
    tell(document)
    value = dict(document.value)
    # The keys of these are names of files, fields and processes, or those of docs/status.md.
    statistics = value.pop("statistics")
    assert isinstance(statistics, dict)
    fields = {name for inner in statistics.values() for name in inner}
    handle = value["handle"]
    assert isinstance(handle, dict)
    value["handle"] = {**handle, "fields": {}}
    value["calls"] = [{**call, "arguments": {}} for call in value["calls"]]  # type: ignore[attr-defined]

    missing = [key for key in sorted(keys_of(value) - fields) if f"`{key}`" not in PAGE]

    assert missing == []


def test_a_manifest_of_another_length_does_not_break_the_document() -> None:
    document = Document()
    verdict = msgspec.structs.replace(GOOD.verified, files=[], expected=[])

    document.ended(
        Verdict(
            loaded=FILES,
            verified=verdict,
            replied="",
            seen=GOOD.seen,
            received=64,
            after=device_statistics(),
        )
    )

    assert document.value["proved"] is False
