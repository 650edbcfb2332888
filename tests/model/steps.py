"""All steps, each as often as it is likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.model import byte_steps, ipc_steps, memory_steps

if TYPE_CHECKING:
    from tests.model.play import Step

WEIGHTS: Final[dict[Step, int]] = {
    memory_steps.create: 3,
    memory_steps.create_much: 1,
    memory_steps.destroy: 2,
    memory_steps.reserve: 2,
    memory_steps.free: 1,
    memory_steps.map_some: 8,
    memory_steps.unmap: 2,
    memory_steps.set_access: 2,
    memory_steps.get_access: 1,
    memory_steps.allocate: 3,
    memory_steps.free_allocation: 2,
    byte_steps.write: 5,
    byte_steps.read: 4,
    byte_steps.copy: 3,
    byte_steps.poke: 2,
    byte_steps.peek: 2,
    byte_steps.ask_range: 1,
    ipc_steps.export_window: 4,
    ipc_steps.export_plain: 2,
    ipc_steps.put: 2,
    ipc_steps.open_handle: 5,
    ipc_steps.close: 2,
}
STEPS: Final = tuple(step for step, weight in WEIGHTS.items() for _ in range(weight))
