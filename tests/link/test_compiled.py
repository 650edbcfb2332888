"""Building and loading the compiled part: once, by whoever is first, and never needed."""

from __future__ import annotations

import sysconfig
from typing import TYPE_CHECKING

import pytest

from firmware.link import compiled
from firmware.link.compiled import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(name="cache")
def make_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty cache, for a process that has loaded nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load._load.cache_clear()
    yield tmp_path
    load._load.cache_clear()


@pytest.mark.skipif(compiled.compiled_slots() is None, reason="nothing can be compiled here")
def test_it_is_built_once_and_found_again(cache: Path) -> None:
    first = compiled.build()
    made = first.stat().st_mtime_ns

    assert compiled.build() == first == compiled.module_path()
    assert first.stat().st_mtime_ns == made
    assert [path.name for path in first.parent.iterdir()] == [first.name]
    assert first.is_relative_to(cache)
    assert compiled.compiled_slots() is not None


def test_without_a_compiler_there_is_none(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))

    with pytest.raises(compiled.BuildError, match="no C compiler found"):
        compiled.build()
    assert compiled.compiled_slots() is None


def test_without_the_header_of_the_interpreter_there_is_none(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "cc").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(cache))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(cache))

    with pytest.raises(compiled.BuildError, match=r"no Python\.h in"):
        compiled.build()
    assert compiled.compiled_slots() is None


def test_a_compiler_that_fails_is_quoted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "cc").write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    (cache / "cc").chmod(0o755)
    (cache / "Python.h").touch()
    monkeypatch.setenv("PATH", f"{cache}:/bin:/usr/bin")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(cache))

    with pytest.raises(compiled.BuildError, match="broken"):
        compiled.build()


def test_a_cache_that_cannot_be_written_leaves_none(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))

    assert compiled.compiled_slots() is None


def test_a_damaged_module_leaves_none(cache: Path) -> None:
    path = compiled.module_path()
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x7fELF, not quite")

    assert compiled.compiled_slots() is None


def test_the_environment_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled.VARIABLE, "0")

    assert compiled.compiled_slots() is None
