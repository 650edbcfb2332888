"""What a program's library tells of its process before its first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hostdriver.channel.items import Reader
from hostdriver.core.results import Refusal, failed
from hostdriver.core.state import ProcessFacts, begin
from hostdriver.core.visibility import read_visibility
from hostdriver.runtime.discovery import DISABLED_VARIABLE, disabled_in

if TYPE_CHECKING:
    from hostdriver.core.state import DeviceFacts, DriverState


async def begin_program(
    pid: int, devices: tuple[DeviceFacts, ...], data: bytes, socket: str
) -> DriverState:
    """Make what the driver knows of a program, whose library told `data` of it.

    Raises:
        MalformedMessageError: the message is shorter than its items.
        ZeError: an environment variable names what does not exist; a device does not take it.
    """
    facts = facts_of(pid, devices, data, socket)
    try:
        return await begin(facts)
    except Refusal as refusal:
        raise failed(refusal, "a device does not take this process") from refusal


def facts_of(pid: int, devices: tuple[DeviceFacts, ...], data: bytes, socket: str) -> ProcessFacts:
    """Return what the driver has to know of a process: `data` is its arena and environment.

    Raises:
        MalformedMessageError: the message is shorter than its items.
        ZeError: an environment variable names what does not exist.
    """
    reader = Reader(data)
    start, size = reader.number(), reader.number()
    environment: dict[str, str] = {}
    while length := reader.number():
        name = reader.raw(length).decode(errors="replace")
        environment[name] = reader.raw(reader.number()).decode(errors="replace")
    return ProcessFacts(
        pid=pid,
        devices=devices,
        arena=(start, size) if size else None,
        disabled_extensions=disabled_in(environment.get(DISABLED_VARIABLE, "")),
        visibility=read_visibility(environment),
        socket=socket,
    )
