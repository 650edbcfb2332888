"""What pure rooms import of the link brings no system along."""

from __future__ import annotations

import subprocess
import sys

from tests.harness.children import ROOT

PURE = ("errors", "layout", "rings", "ringshape", "words")
IMPURE = ("ctypes", "mmap", "socket", "threading", "trio", "firmware.link.linux")


def test_the_pure_modules_load_no_system_module() -> None:
    # What the contract itself brings along is not of this room.
    code = (
        "import sys, importlib\n"
        "import firmware.abi.handshake, firmware.abi.segment, firmware.abi.faults\n"
        "import firmware.abi.registers, firmware.abi.rings\n"
        "before = set(sys.modules)\n"
        f"[importlib.import_module('firmware.link.' + name) for name in {PURE!r}]\n"
        f"print([name for name in {IMPURE!r} if name in set(sys.modules) - before])\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[]"
