"""What cannot be installed fails the test that needs it, and is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.installed import debian_packages, python_packages

if TYPE_CHECKING:
    from pathlib import Path

Failed = pytest.fail.Exception


def test_a_package_that_cannot_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "more.txt").write_text("# two of them\nnobody-made-this==1.0\n")
    (tmp_path / "wanted.txt").write_text("-r more.txt\nnor-that==2.0\n")

    with pytest.raises(Failed, match=r"nobody-made-this==1\.0\nnor-that==2\.0") as failed:
        python_packages(tmp_path / "wanted.txt")

    assert "No matching distribution found" in str(failed.value)


def test_without_debians_tools_its_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(Failed, match="libze1 and libze-dev are needed, and there is no apt-get"):
        debian_packages("libze1", "libze-dev")
