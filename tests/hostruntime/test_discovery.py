"""Where the emulator is looked for, and what the environment switches off."""

from pathlib import Path

import pytest

from firmware.abi.extensions import Extension
from hostdriver.core.results import ZeError
from hostdriver.runtime.discovery import (
    DISABLED_VARIABLE,
    SHARED_SOCKET,
    SOCKET_VARIABLE,
    disabled_extensions,
    find_socket,
    is_shared,
)


def test_given_socket_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOCKET_VARIABLE, "/elsewhere/a.sock")

    assert find_socket("/here/b.sock") == Path("/here/b.sock")
    assert find_socket() == Path("/elsewhere/a.sock")
    assert not is_shared()
    assert not is_shared("/here/b.sock")


def test_shared_socket_is_in_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(SOCKET_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    assert find_socket() == tmp_path / "emuzero" / SHARED_SOCKET
    assert is_shared()


def test_nothing_is_switched_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DISABLED_VARIABLE, raising=False)

    assert disabled_extensions() == Extension(0)


def test_extensions_are_switched_off_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = "ZE_extension_ipc_phys_mem_handle_range, ZE_extension_ipc_mem_handle_type,"
    monkeypatch.setenv(DISABLED_VARIABLE, names)

    assert disabled_extensions() == (
        Extension.EXT_IPC_PHYS_MEM_HANDLE_RANGE | Extension.EXT_IPC_MEM_HANDLE_TYPE
    )


def test_unknown_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DISABLED_VARIABLE, "ZE_extension_of_nobody")

    with pytest.raises(ZeError, match="'ZE_extension_of_nobody', which is no extension"):
        disabled_extensions()
