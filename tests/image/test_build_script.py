"""scripts/build_firmware.py writes, compares and shows the reference image."""

import subprocess
import sys
from pathlib import Path

import pytest

from firmware.image import reference_image

SCRIPT = Path(__file__).parents[2] / "scripts" / "build_firmware.py"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_writes_the_image(tmp_path: Path) -> None:
    result = run(tmp_path, "--output", "firmware.elf")

    assert result.returncode == 0
    assert (tmp_path / "firmware.elf").read_bytes() == reference_image()


def test_without_output_it_only_shows(tmp_path: Path) -> None:
    result = run(tmp_path)

    assert result.returncode == 0
    assert "entry     0x8000_0000 reset" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_check_accepts_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "firmware.elf").write_bytes(reference_image())

    assert run(tmp_path, "--output", "firmware.elf", "--check").returncode == 0


@pytest.mark.parametrize("content", [None, b"", reference_image() + b"\0"])
def test_check_refuses_other_bytes_and_writes_nothing(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "firmware.elf"
    if content is not None:
        file.write_bytes(content)

    result = run(tmp_path, "--output", "firmware.elf", "--check")

    assert result.returncode == 1
    assert "firmware.elf is not the reference image" in result.stderr
    assert (file.read_bytes() if file.exists() else None) == content
