"""Files that the demo takes, or refuses with a reason."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.cli.demo.fit import check_fit
from hostdriver.cli.demo.inputs import check_files, default_files, display_name
from hostdriver.cli.exits import BadInput
from hostdriver.cli.hostlimits import Limit

if TYPE_CHECKING:
    from collections.abc import Generator

PLENTY = [Limit(1 << 60, "the host")]


def file_of(folder: Path, size: int, name: str = "file") -> Path:
    """Return a sparse file."""
    path = folder / name
    path.touch()
    os.truncate(path, size)
    return path


def test_files_are_measured_together(tmp_path: Path) -> None:
    paths = [file_of(tmp_path, 10, "a"), file_of(tmp_path, 0, "b")]

    assert check_files(paths) == 10


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="none cannot be read: No such file"):
        check_files([file_of(tmp_path, 1), tmp_path / "none"])


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is a directory, expected files"):
        check_files([tmp_path])


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(BadInput, match="is no regular file"):
        check_files([tmp_path / "pipe"])


def test_a_device_is_refused() -> None:
    with pytest.raises(BadInput, match="is no regular file"):
        check_files([Path("/dev/zero")])


NOBODY = 65534


@contextlib.contextmanager
def as_nobody() -> Generator[None]:
    """Be a user to whom something can be forbidden, which root is not."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_of_others_is_refused() -> None:
    # Not in pytest's folder, which another user may not even enter.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = file_of(Path(folder), 1)
        path.chmod(0)

        with as_nobody(), pytest.raises(BadInput, match="Permission denied"):
            check_files([path])


def test_the_source_tree_has_files_of_its_own() -> None:
    found = default_files()

    assert "LICENSE" in [path.name for path in found]
    assert check_files(found) > 0


def test_an_installed_package_shows_its_own_modules(tmp_path: Path) -> None:
    found = default_files(tmp_path)

    assert [path.suffix for path in found] == [".py"] * 3
    assert check_files(found) > 0


def test_a_tree_shows_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "README.md").touch()

    assert default_files(tmp_path) == [tmp_path / "README.md"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"plain.txt", "plain.txt"),
        ("größe".encode(), "größe"),
        (b"bad\xff", "bad\\xff"),
        (b"two\nlines\x1b", "two\\x0alines\\x1b"),
    ],
)
def test_any_name_is_safe_to_show(name: bytes, shown: str) -> None:
    assert display_name(os.fsdecode(name)) == shown


def test_what_fits_is_measured(tmp_path: Path) -> None:
    assert check_fit([file_of(tmp_path, 1000)], 1 << 30, PLENTY) == 1000


def test_a_file_larger_than_device_memory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, 1 << 30)

    with pytest.raises(BadInput) as refused:
        check_fit([path], 256 << 20, PLENTY)

    assert "the files have 1 GiB and need 1.0" in refused.value.message
    assert "but the device has 256 MiB; --vram gives it another size" in refused.value.message


def test_files_larger_than_host_memory_are_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, 1 << 30)

    with pytest.raises(BadInput, match="of host memory, more than the box, 512 MiB"):
        check_fit([path], 8 << 30, [Limit(512 << 20, "the box")])
