"""What happened, as people read it: one line a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hostdriver.cli.records import hexadecimal, printable
from hostdriver.cli.sizes import counted
from hostdriver.cli.trace.happenings import Began, Beside, Call, Ended
from hostdriver.cli.trace.vocabulary import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hostdriver.cli.trace.happenings import Command, Happening, Program
    from hostdriver.cli.trace.vocabulary import Shown

_PLAIN_BELOW: Final = 1000
_MOST_ITEMS: Final = 8
_NANOSECONDS: Final = 1_000_000_000
_RING: Final = {"control": ">", "reply": "<", "work": ">", "fault": "!"}
_NOTHING: Final = (0, None, "", "0")


def lines_of(happening: Happening, *, with_commands: bool) -> Iterator[str]:
    """Yield the lines that tell of something, without their ends; texts in them are programs'."""
    yield from map(printable, _lines_of(happening, with_commands=with_commands))


def _lines_of(happening: Happening, *, with_commands: bool) -> Iterator[str]:
    match happening:
        case Began():
            name = happening.program.name
            yield f"{_head(happening.program, 0, happening.nanoseconds)} {name} begins"
        case Ended():
            yield f"{_head(happening.program, 0, happening.nanoseconds)} {_end(happening)}"
        case Call():
            yield _call(happening)
            if with_commands:
                yield from (f"      {_command(command)}" for command in happening.commands)
        case Beside():
            if with_commands:
                cause = f" (after {happening.function})" if happening.function else ""
                head = _head(happening.program, 0, happening.nanoseconds)
                yield f"{head} {_command(happening.command)}{cause}"


def duration(nanoseconds: float) -> str:
    """Return a time in the unit in which it reads best."""
    for unit, size in (("s", _NANOSECONDS), ("ms", 1_000_000), ("us", 1000)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def value_text(value: Shown) -> str:
    """Return a value in one line: what is zero in a structure is left out."""
    match value:
        case None:
            return "NULL"
        case Address():
            return hexadecimal(value)
        case dict():
            parts = (f"{name}={value_text(part)}" for name, part in value.items() if _counts(part))
            return f"{{{', '.join(parts)}}}"
        case list():
            shown = [value_text(item) for item in value[:_MOST_ITEMS]]
            more = [f"{len(value) - _MOST_ITEMS} more"] if len(value) > _MOST_ITEMS else []
            return f"[{', '.join(shown + more)}]"
        case int():
            return str(value) if abs(value) < _PLAIN_BELOW else hexadecimal(value)
        case _:
            return str(value)


def _counts(part: Shown) -> bool:
    return part not in _NOTHING and not (isinstance(part, str) and not part.strip("0"))


def _call(call: Call) -> str:
    head = _head(call.program, call.thread, call.nanoseconds)
    arguments = ", ".join(f"{name}={value_text(value)}" for name, value in call.arguments.items())
    if not call.result:
        return f"{head} {call.function}({arguments}) did not return"
    outputs = "".join(f" {name}={value_text(value)}" for name, value in call.outputs.items())
    error = f' "{call.error}"' if call.error else ""
    here = " in the library" if call.is_local else ""
    time = f"<{duration(call.taken)}{here}>"
    return f"{head} {call.function}({arguments}) = {call.result}{outputs}{error} {time}"


def _command(command: Command) -> str:
    ring = f"queue {command.queue}" if command.what == "work" else command.what
    return f"{_RING[command.what]} device {command.device} {ring}: {command.text}"


def _end(ended: Ended) -> str:
    account = ended.account
    parts = [
        counted(number, name)
        for number, name in (
            (account.left_count, "piece of memory"),
            (account.handle_count, "handle"),
        )
        if number
    ]
    name = ended.program.name
    parts = [part.replace("piece of memorys", "pieces of memory") for part in parts]
    return f"{name} ended" + (f"; it did not free {' and '.join(parts)}" if parts else "")


def _head(program: Program, thread: int, nanoseconds: int) -> str:
    who = f"{program.pid}" + (f"/{thread}" if thread and thread != program.pid else "")
    return f"{nanoseconds / _NANOSECONDS:11.6f} {who}"
