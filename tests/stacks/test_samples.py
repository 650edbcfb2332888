"""The loader's own sample: compiled from Debian's sources, run by the command as it is."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import LOADER, stand_ins
from tests.harness.commandline import emuzero
from tests.harness.installed import debian_source

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SAMPLE = "samples/zello_world/zello_world.cpp"


@pytest.fixture(name="sample", scope="module")
def make_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = debian_source("level-zero", SAMPLE)
    program = tmp_path_factory.mktemp("sample") / "zello_world"
    subprocess.run(
        [
            *("g++", "-std=c++14", "-I", source / "include", "-I", source / "samples" / "include"),
            *("-o", program, source / SAMPLE, "-L", stand_ins(), f"-l:{LOADER}", "-ldl"),
        ],
        check=True,
    )
    return program


@pytest.mark.parametrize(
    ("driver", "options"),
    [("inline", []), ("process", []), ("inline", ["-ldr", "-val", "-trace"])],
    ids=["inline", "process", "layers"],
)
def test_it_finds_the_device_and_hears_that_it_has_signalled(
    sample: Path, driver: str, options: list[str]
) -> None:
    done = emuzero("run", "--vram", "64MiB", "--driver", driver, "--", sample, *options)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Driver initialized." in done.stdout
    assert "Device::properties_t::name : emuzero virtual GPU" in done.stdout
    assert "totalSize : 67108864" in done.stdout
    assert "Congratulations, the device completed execution!" in done.stdout
