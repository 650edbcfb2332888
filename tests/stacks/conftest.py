"""Programs that nobody here wrote, and an emulator that tells whether they left anything."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hostdriver.clib.build import stand_ins
from tests.harness.emulator_process import EmulatorProcess, emulator_process
from tests.harness.installed import python_packages

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


@dataclass(frozen=True)
class Stack:
    """An environment of packages, whose programs find an emulator in the loader's place."""

    folder: Path
    emulator: EmulatorProcess

    def run(self, *command: str | Path, cwd: Path, **variables: str) -> str:
        """Run a program of the environment to its end, which has to be a good one.

        Returns what it printed. Nothing of it may be left in the emulator.
        """
        before = self.emulator.audit()
        done = subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env=self._environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert self.emulator.audit() == before
        return done.stdout

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return what an activated environment has; this one's packages may not be found."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        libraries = [str(stand_ins()), *filter(None, [variables.get("LD_LIBRARY_PATH")])]
        return {
            **kept,
            **variables,
            "EMUZERO_SOCKET": str(self.emulator.path),
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "PATH": os.pathsep.join([str(self.folder / "bin"), os.environ.get("PATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
        }


@pytest.fixture(name="mapping_stack")
def make_mapping_stack(tmp_path: Path) -> Generator[Stack]:
    """Return a stack whose device lets programs map memory by its handle."""
    packages = python_packages(REQUIREMENTS)
    spec = 'mappable_handles = "always"'
    with emulator_process(tmp_path, vram_size=1 << 30, spec=spec) as emulator:
        yield Stack(packages, emulator)


@pytest.fixture(name="stack", scope="module")
def make_stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    packages = python_packages(REQUIREMENTS)
    with emulator_process(tmp_path_factory.mktemp("emulator"), vram_size=1 << 30) as emulator:
        yield Stack(packages, emulator)
