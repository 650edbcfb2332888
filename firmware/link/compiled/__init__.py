"""What the link does in C where that pays, built once a version into the user's cache.

Nothing needs it: where no compiler is, or no header of this interpreter, Python does the same.
"""

from firmware.link.compiled.build import VARIABLE, BuildError, build, module_path
from firmware.link.compiled.load import (
    Compiled,
    CompiledSlot,
    CompiledWaiter,
    Look,
    MakeRinger,
    MakeSlot,
    MakeTeller,
    compiled,
    compiled_already,
    compiled_slots,
    prepare,
)

__all__ = [
    "VARIABLE",
    "BuildError",
    "Compiled",
    "CompiledSlot",
    "CompiledWaiter",
    "Look",
    "MakeRinger",
    "MakeSlot",
    "MakeTeller",
    "build",
    "compiled",
    "compiled_already",
    "compiled_slots",
    "module_path",
    "prepare",
]
