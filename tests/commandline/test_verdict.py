"""What a run has to prove, and what is said when it does not."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from hostdriver.cli.demo.events import FileHash, ReplySeen, Verified
from hostdriver.cli.demo.verdict import Verdict
from tests.harness.statistics import device_statistics

FILE = FileHash("a", 5, "0" * 64)
OTHER = FileHash("a", 5, "1" * 64)
GOOD = Verdict(
    loaded=[FILE],
    verified=Verified([FILE], [FILE.sha256]),
    replied="text",
    seen=ReplySeen("text", is_right=True),
    received=64,
    after=device_statistics(),
)


def test_nothing_is_wrong_when_all_is_right() -> None:
    assert GOOD.problem == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verified": Verified([OTHER], [FILE.sha256])}, "a has SHA-256 1111"),
        ({"verified": Verified([OTHER], [OTHER.sha256])}, "expected 0000"),
        ({"verified": Verified([FILE], [OTHER.sha256])}, "did not read what"),
        ({"verified": Verified([], [])}, "0 files, expected 1"),
        ({"seen": ReplySeen("text", is_right=False)}, "another reply"),
        ({"seen": ReplySeen("else", is_right=True)}, "another reply than the importer wrote"),
        ({"received": 65}, "given 65 bytes, expected 64"),
    ],
)
def test_the_first_thing_that_is_wrong_is_said(change: dict[str, object], words: str) -> None:
    assert words in replace(GOOD, **change).problem  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"free_bytes": (1 << 30) - 4096}, "4,096 bytes of device memory are still in use"),
        ({"object_count": 2, "export_count": 1}, "still on the device: 2 objects, 1 export"),
        ({"client_count": 1}, "1 client"),
    ],
)
def test_what_was_not_given_back_is_named(change: dict[str, int], words: str) -> None:
    after = msgspec.structs.replace(device_statistics(), **change)

    assert words in replace(GOOD, after=after).problem


def test_retired_memory_is_not_asked_back() -> None:
    after = msgspec.structs.replace(
        device_statistics(), retired_bytes=4096, free_bytes=(1 << 30) - 4096
    )

    assert replace(GOOD, after=after).problem == ""


def test_what_others_held_before_is_not_asked_back() -> None:
    held = {"free_bytes": (1 << 30) - 8192, "object_count": 2, "client_count": 1}
    before = msgspec.structs.replace(device_statistics(), **held)
    more = msgspec.structs.replace(before, object_count=3, export_count=1)

    assert replace(GOOD, after=before, before=before).problem == ""
    assert replace(GOOD, after=device_statistics(), before=before).problem == ""
    assert "1 object, 1 export" in replace(GOOD, after=more, before=before).problem
