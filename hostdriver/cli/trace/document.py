"""What happened, as JSON: one object a line (docs/trace.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from hostdriver.cli.trace.happenings import Began, Beside, Call, Ended
from hostdriver.cli.trace.vocabulary import Address, function_name

if TYPE_CHECKING:
    from hostdriver.channel.account import Account
    from hostdriver.cli.trace.happenings import Command, Happening


def line_of(happening: Happening, *, with_commands: bool) -> str | None:
    """Return the line that tells of something; None: it is about commands alone."""
    program = {
        "pid": happening.program.pid,
        "program": happening.program.name,
        "nanoseconds": happening.nanoseconds,
    }
    match happening:
        case Began():
            document: dict[str, object] = {"kind": "begin", **program}
        case Ended():
            document = {"kind": "end", **program, "account": account_document(happening.account)}
        case Call():
            document = {"kind": "call", **program, **_call(happening)}
            if with_commands:
                document["commands"] = [_command(command) for command in happening.commands]
        case Beside():
            if not with_commands:
                return None
            command = _command(happening.command)
            document = {"kind": "beside", **program, "function": happening.function, **command}
    return msgspec.json.encode(document, enc_hook=_plain).decode()


def account_document(account: Account) -> dict[str, object]:
    """Return an account with the names of its functions."""
    document: dict[str, object] = msgspec.to_builtins(account)
    document["calls"] = [
        {
            "function": function_name(row.function),
            "calls": row.calls,
            "errors": row.errors,
            "nanoseconds": row.nanoseconds,
            "longest": row.longest,
        }
        for row in account.calls
    ]
    return document


def _plain(value: object) -> int:
    """Return an address as the number that it is.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, Address):
        raise TypeError(f"{value!r} has no place in a trace")
    return int(value)


def _call(call: Call) -> dict[str, object]:
    return {
        "thread": call.thread,
        "function": call.function,
        "arguments": call.arguments,
        "outputs": call.outputs,
        "result": call.result or None,
        "error": call.error,
        "taken": call.taken,
        "local": call.is_local,
    }


def _command(command: Command) -> dict[str, object]:
    return {
        "what": command.what,
        "device": command.device,
        "queue": command.queue,
        "text": command.text,
    }
