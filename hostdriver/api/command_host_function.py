"""Functions of the application among the commands of a list (zeCommandListAppendHostFunction)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.api.command_list import check_open, finish_append
from hostdriver.api.validation import read_chain
from hostdriver.core.commandlists import CommandList
from hostdriver.core.commandlists_sync import around
from hostdriver.core.failures import null_pointer
from hostdriver.core.hostcalls import PLACE, prepare_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hostdriver.api.command_list import Sync, Target
    from hostdriver.api.structures import ChainedDesc, UnknownDesc
    from hostdriver.core.state import DriverState
    from hostdriver.core.streamquestions import HostFunction


async def host_function(
    state: DriverState,
    target: Target,
    function: HostFunction | None,
    sync: Sync,
    p_next: Sequence[ChainedDesc | UnknownDesc] = (),
) -> None:
    """Append a call of a function of the application (zeCommandListAppendHostFunction).

    A thread of the application's process calls it when everything before it in the list is done;
    what is behind it begins when it has returned. A list calls it once for each execution.

    Raises:
        ZeError: no function (INVALID_NULL_POINTER); a list that takes no commands; an event that
            cannot be used; no thread is left for the functions of an immediate list
            (OUT_OF_HOST_MEMORY).
    """
    check_open(state, target)
    if function is None:
        raise null_pointer("pfnHostFunction")
    read_chain(state, p_next, ())
    if not isinstance(target, CommandList):
        await prepare_calls(state, target)
    before = around(state, target, b"", None, sync.waits)
    after = b""
    if sync.signal is not None:
        marks = sync.signal.signal_commands(state, target)
        before, after = before + marks.before, marks.after
    commands = before + PLACE + after
    await finish_append(state, target, commands, sync, calls=((len(before), function),))
