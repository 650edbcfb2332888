"""The socket folder and the sockets in it."""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from firmware.link.errors import AttachError
from firmware.link.runtime_dir import (
    LONGEST_NAME,
    check_folder,
    clean_folder,
    connect_socket,
    is_stale,
    listen_socket,
    socket_folder,
)
from tests.harness.link_conformance import descriptor_count

if TYPE_CHECKING:
    from pathlib import Path


def dead_socket(path: Path, kind: socket.SocketKind = socket.SOCK_SEQPACKET) -> Path:
    """Leave a socket at a path to which nobody listens."""
    with socket.socket(socket.AF_UNIX, kind) as dead:
        dead.bind(str(path))
    return path


# The folder


def test_the_folder_stands_in_the_runtime_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    folder = socket_folder()

    assert folder == tmp_path / "emuzero"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert socket_folder() == folder


@pytest.mark.parametrize("runtime", ["", "relative", "/nowhere/at/all"])
def test_without_a_runtime_folder_it_is_named_after_the_user(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)

    assert socket_folder(tmp_path) == tmp_path / f"emuzero-{os.geteuid()}"


def test_a_folder_that_others_may_use_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)

    with pytest.raises(AttachError, match=r"open to others \(mode 0o750, expected 0o700\)"):
        check_folder(tmp_path)


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(AttachError, match="is no folder"):
        check_folder(tmp_path / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)

    with pytest.raises(AttachError, match="belongs to user 65534, expected 0"):
        check_folder(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "emuzero").write_text("in the way")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    with pytest.raises(AttachError, match="cannot be made"):
        socket_folder()


# Sockets


def test_a_socket_is_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "emulator"

    with listen_socket(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        connect_socket(path).close()


def test_a_path_too_long_for_the_kernel_works_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100) / ("y" * 100)
    folder.mkdir(parents=True)
    path = folder / "emulator"
    before = descriptor_count()

    with listen_socket(path) as listener, connect_socket(path):
        listener.accept()[0].close()
        assert path.is_socket()
        assert not is_stale(path)

    assert is_stale(path)
    listen_socket(path).close()
    assert descriptor_count() == before


def test_the_longest_name_that_fits_is_used_as_it_is(tmp_path: Path) -> None:
    rest = LONGEST_NAME - len(str(tmp_path)) - 1
    path = tmp_path / ("z" * rest)

    with listen_socket(path) as listener:
        assert listener.getsockname() == str(path)


def test_a_name_that_is_too_long_in_itself_is_refused(tmp_path: Path) -> None:
    before = descriptor_count()

    for use in (listen_socket, connect_socket):
        with pytest.raises(AttachError, match="too long for the kernel"):
            use(tmp_path / ("z" * 120))

    assert descriptor_count() == before


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    before = descriptor_count()

    with pytest.raises(AttachError, match="cannot listen"):
        listen_socket(tmp_path / "nowhere" / "emulator")
    with pytest.raises(AttachError, match="no folder"):
        connect_socket(tmp_path / ("x" * 100) / "emulator")

    assert descriptor_count() == before


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = dead_socket(tmp_path / "emulator")
    assert is_stale(path)

    with listen_socket(path):
        assert not is_stale(path)
        connect_socket(path).close()


def test_a_socket_to_which_somebody_listens_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "emulator"
    before = descriptor_count()

    with listen_socket(path):
        with pytest.raises(AttachError, match="Address already in use"):
            listen_socket(path)
        connect_socket(path).close()

    assert descriptor_count() == before


def test_somebody_who_listens_and_is_busy_is_not_stale(tmp_path: Path) -> None:
    path = tmp_path / "emulator"

    with listen_socket(path, backlog=0), connect_socket(path):
        assert not is_stale(path)


def test_a_file_in_the_way_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "emulator"
    path.write_text("precious")

    with pytest.raises(AttachError, match="Address already in use"):
        listen_socket(path)

    assert path.read_text() == "precious"
    assert not is_stale(path)


def test_a_socket_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "stream"

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(AttachError, match="wrong type"):
            is_stale(path)


def test_cleaning_removes_what_is_stale_and_nothing_else(tmp_path: Path) -> None:
    stale = [dead_socket(tmp_path / name) for name in ("a", "b")]
    (tmp_path / "notes").write_text("kept")

    with listen_socket(tmp_path / "alive"):
        assert clean_folder(tmp_path) == stale

        assert sorted(path.name for path in tmp_path.iterdir()) == ["alive", "notes"]


def test_nothing_at_a_path_is_not_stale(tmp_path: Path) -> None:
    assert not is_stale(tmp_path / "nothing")
