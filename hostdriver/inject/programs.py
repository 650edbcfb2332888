"""Taps for the drivers of C programs, which run inside the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from firmware.abi.channel import Watching
from firmware.inject.catalogue.api import functions
from firmware.inject.catalogue.system import POINTS as SYSTEM_POINTS
from hostdriver.channel.ports import OpenGate, carry_out
from hostdriver.channel.specs import Kind
from hostdriver.inject.gate import RuleGate, site_of
from hostdriver.inject.handles import OPENING, POINT, PUTTING, HandlesUnderWay
from hostdriver.inject.holding import Holding
from hostdriver.inject.questions import FaultyAnswers
from hostdriver.inject.system import CONNECT, PREFIX, switch

if TYPE_CHECKING:
    from firmware.inject import Injector, Tap
    from hostdriver.channel.arguments import Arguments
    from hostdriver.channel.host import Programs
    from hostdriver.channel.names import Names
    from hostdriver.channel.ports import Answering, Caller, CarryOut
    from hostdriver.core.state import DriverState

CALL_POINTS: Final = frozenset({"peer.before", *(f"api.{name}" for name in functions())})
AFTER_POINTS: Final = frozenset({"peer.after"})
QUESTION_POINTS: Final = frozenset(
    {
        "peer.inside",
        *(point.name for point in SYSTEM_POINTS if point.name.startswith(PREFIX)),
    }
) - {CONNECT}
"""Drivers connect before there are calls: see `connecting`."""
HANDLE_POINTS: Final = frozenset({POINT})


def program_taps(programs: Programs, injector: Injector) -> tuple[Tap, ...]:
    """Return the taps of all C programs of one host, later ones too.

    What they hold back is let go before the host closes.
    """
    holding = Holding(programs.devices, injector)
    programs.ports.closing.append(holding.let_go)
    gate = RuleGate(injector, holding)
    return (
        _GateTap(programs, gate, holding, CALL_POINTS, Watching.ASK),
        _GateTap(programs, gate, holding, AFTER_POINTS, Watching.ASK | Watching.TELL),
        _QuestionTap(programs, injector, holding),
        _HandleTap(programs, injector),
    )


@final
class _GateTap:
    """Lets the calls of programs pass a gate; two of these share it."""

    def __init__(
        self,
        programs: Programs,
        gate: RuleGate,
        holding: Holding,
        points: frozenset[str],
        watching: Watching,
    ) -> None:
        self.points = points
        self._programs = programs
        self._gate = gate
        self._holding = holding
        self._watching = watching

    def install(self) -> None:
        self._programs.ports.gate = self._gate
        self._programs.ports.want(self, self._watching)
        self._programs.watch_as_wanted()

    def remove(self) -> None:
        ports = self._programs.ports
        ports.want(self, Watching(0))
        if Watching.ASK not in ports.watching:
            ports.gate = OpenGate()
        self._programs.watch_as_wanted()
        self._holding.let_go(self.points)


@final
class _QuestionTap:
    """Answers the questions of calls."""

    points = QUESTION_POINTS

    def __init__(self, programs: Programs, injector: Injector, holding: Holding) -> None:
        self._programs = programs
        self._injector = injector
        self._holding = holding
        self._before: Answering | None = None

    def install(self) -> None:
        ports = self._programs.ports
        self._before = ports.answering
        ports.answering = FaultyAnswers(ports.answering, self._injector, self._holding).answer
        ports.want(self, Watching.MARK)
        self._programs.watch_as_wanted()
        switch.install()

    def remove(self) -> None:
        ports = self._programs.ports
        if self._before is not None:
            ports.answering, self._before = self._before, None
        ports.want(self, Watching(0))
        self._programs.watch_as_wanted()
        switch.remove()
        self._holding.let_go(self.points)


@final
class _HandleTap:
    """Carries calls out that open and put handles."""

    points = HANDLE_POINTS

    def __init__(self, programs: Programs, injector: Injector) -> None:
        self._programs = programs
        self._injector = injector
        self._before: CarryOut | None = None
        self._handles = HandlesUnderWay(injector)

    def install(self) -> None:
        ports = self._programs.ports
        self._before = ports.carry_out
        self._handles = HandlesUnderWay(self._injector)
        ports.carry_out = self._carry_out
        ports.want(self, Watching.MARK)
        self._programs.watch_as_wanted()

    def remove(self) -> None:
        ports = self._programs.ports
        if self._before is not None:
            ports.carry_out, self._before = self._before, None
        ports.want(self, Watching(0))
        self._programs.watch_as_wanted()

    async def _carry_out(
        self, caller: Caller, state: DriverState, names: Names, call: Arguments
    ) -> None:
        before = self._before or carry_out
        name = call.spec.name
        if name in OPENING:
            param = handle_param(call)
            call.values[param] = self._handles.arrived(call.blob(param), site_of(caller))
        await before(caller, state, names, call)
        if name in PUTTING:
            self._handles.note_put(call.blob(handle_param(call)))


def handle_param(call: Arguments) -> str:
    """Return the name of the parameter that is a handle by value."""
    return next(param.name for param in call.spec.params if param.kind is Kind.BLOB)
