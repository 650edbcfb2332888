"""Building the library: once, by whoever asks first, with words when it cannot be."""

from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_DT_FLAGS

from hostdriver.clib import build


@pytest.mark.slow
def test_the_library_is_built_once_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    first = build.library()
    made = first.stat().st_mtime_ns

    assert first == build.library()
    assert first.stat().st_mtime_ns == made
    assert [path.name for path in first.parent.iterdir()] == [build.NAME]


def test_the_library_wants_no_memory_of_which_a_process_has_little() -> None:
    """Where other libraries have all that is set aside for threads, it could not be opened."""
    with build.library().open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(dynamic, DynamicSection)
        flags = [tag.entry.d_val for tag in dynamic.iter_tags("DT_FLAGS")]

    assert flags
    assert not any(flag & ENUM_DT_FLAGS["DF_STATIC_TLS"] for flag in flags)


def test_the_stand_ins_lead_to_the_library() -> None:
    folder = build.stand_ins()

    for name in build.OTHER_NAMES:
        assert (folder / name).resolve() == build.library()


def test_the_declarations_for_programs_stand_beside_the_stand_ins() -> None:
    header = build.SOURCES / "generated" / "level_zero.h"

    assert (build.stand_ins() / "level_zero.h").read_bytes() == header.read_bytes()


def test_a_stand_in_of_another_version_is_no_loader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / build.NAME).touch()
    (tmp_path / build.LOADER).symlink_to(build.NAME)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert not build.has_loader()

    monkeypatch.setenv("LD_LIBRARY_PATH", str(build.stand_ins()))
    assert build.has_loader()


def test_without_a_compiler_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(build.BuildError, match="apt-get install gcc"):
        build.library()


@pytest.mark.parametrize(
    ("file", "does"),
    [
        ("libze_loader.so.1", True),
        ("libze_loader.so.1.32.0", True),
        ("libze_loader.so.1.18.0", True),
        ("libze_loader.so.1.8.12", False),
    ],
)
def test_a_loader_in_the_library_path_is_seen_and_left_aside_when_it_is_too_old(
    file: str, does: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).touch()
    if file != build.LOADER:
        (tmp_path / build.LOADER).symlink_to(file)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    assert build.has_loader() == does


def test_a_loader_of_the_system_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = tmp_path / "libze_loader.so.1.8.12"
    loader.touch()
    listing = tmp_path / "ldconfig"
    listing.write_text(f"#!/bin/sh\necho '\t{build.LOADER} (libc6,x86-64) => {loader}'\n")
    listing.chmod(0o755)
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not build.has_loader()

    loader.rename(tmp_path / "libze_loader.so.1.20.0")
    listing.write_text(listing.read_text().replace("1.8.12", "1.20.0"))
    assert build.has_loader()
