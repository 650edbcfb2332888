"""`emuzero env`: lines that a shell takes, by which programs find driver and emulator."""

import subprocess
import sys
from pathlib import Path

import pytest

from hostdriver.cli import environment
from hostdriver.clib import build


def test_the_lines_set_what_programs_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMUZERO_SOCKET", str(tmp_path / "it's here.sock"))
    lines = subprocess.run(
        [sys.executable, "-m", "hostdriver.cli", "env"], capture_output=True, text=True, check=True
    ).stdout

    shown = subprocess.run(
        ["sh", "-c", f'{lines}\necho "$EMUZERO_SOCKET"; echo "$ZE_ENABLE_ALT_DRIVERS"'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    assert shown == [str(tmp_path / "it's here.sock"), str(build.library())]


@pytest.mark.parametrize(("terminal", "built"), [(True, False), (False, False), (True, True)])
def test_who_waits_for_the_compiler_is_told(
    terminal: bool,
    built: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / build.NAME
    if built:
        path.touch()
    monkeypatch.setattr(environment, "library_path", lambda: path)
    monkeypatch.setattr(environment, "library", lambda: path)
    monkeypatch.setattr(environment, "has_loader", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)

    environment.environment_for(tmp_path)

    assert ("compiling the library" in capsys.readouterr().err) == (terminal and not built)


def test_an_installed_loader_is_left_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "has_loader", lambda: True)
    assert "LD_LIBRARY_PATH" not in environment.environment_for(tmp_path)

    monkeypatch.setattr(environment, "has_loader", lambda: False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    assert environment.environment_for(tmp_path)["LD_LIBRARY_PATH"].endswith(":/opt/lib")
