"""A program without an emulator gets one error, which says what to do."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from firmware.link.client import connect
from firmware.link.errors import AttachError, LinkLost
from hostdriver import levelzero as ze
from hostdriver.runtime.discovery import SOCKET_VARIABLE, nobody_listens
from tests.harness.commandline import environment

if TYPE_CHECKING:
    from pathlib import Path


def test_a_program_ends_with_one_error_and_no_chain(tmp_path: Path) -> None:
    program = "from hostdriver import levelzero as ze; ze.connect()"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment(EMUZERO_SOCKET=str(tmp_path / "none")),
    )

    assert ended.stderr.count("Traceback") == 1
    assert ended.stderr.splitlines()[-1].endswith(
        f"no emulator listens at {tmp_path}/none, which EMUZERO_SOCKET names; start one there with"
        f" `emuzero serve --socket {tmp_path}/none`"
    )


def test_a_socket_that_was_given_is_told_as_a_shell_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "two words"

    with pytest.raises(ze.ZeError, match="no emulator listens") as caught:
        ze.connect(path)

    assert caught.value.description.endswith(f"with `emuzero serve --socket '{path}'`")
    assert SOCKET_VARIABLE not in caught.value.description
    assert caught.value.__suppress_context__


def test_where_everybody_looks_no_socket_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    with pytest.raises(ze.ZeError, match=r"start one with `emuzero serve`$"):
        ze.connect(start=None)


def test_a_folder_that_cannot_be_used_is_told_without_a_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    (tmp_path / "emuzero").write_text("no folder")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    with pytest.raises(ze.ZeError, match="UNINITIALIZED") as caught:
        ze.connect()

    assert caught.value.__suppress_context__


def test_other_failures_do_not_advise_to_start_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.mkdir()
    with pytest.raises(AttachError) as absent:
        connect(tmp_path / "none", "test")
    with pytest.raises(AttachError) as other:
        connect(file / ("long" * 100), "test")

    assert nobody_listens(absent.value)
    assert not nobody_listens(other.value)
    assert not nobody_listens(LinkLost("gone"))
