"""The inside of a device: its parts, and the places where something may come in between them.

Fault injection, and whoever else watches a device at work, exchanges a reference for one that
passes calls on. While nobody does, nothing is in between and nothing costs anything; the parts
themselves know of nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

if TYPE_CHECKING:
    from device.core.blocks import Blocks
    from device.core.effects import Effect
    from device.core.micro_controller import MicroController
    from device.core.publisher import Publisher
    from device.core.pump import Pump
    from device.core.supervisor import Supervisor


class Rounds(Protocol):
    """What does the rounds of work of a device (`Device.rounds`)."""

    def watch(self, looks: int) -> bool:
        """Look up to so many times for something to do; return whether there is."""
        ...

    def work(self, now: int) -> list[Effect]:
        """Do one round; return what the shell has to do."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Inside:
    """The parts of one device.

    Owner: the device. Whoever changes anything here does it between two calls of the device, and
    keeps the invariants that `Device.check` looks at.
    """

    blocks: Blocks
    mcu: MicroController
    publisher: Publisher
    supervisor: Supervisor
    pump: Pump
