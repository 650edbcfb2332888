"""The steps of a child process: barriers, and values by name. Nobody sleeps.

A function that a test runs in a child gets one as its first argument. A script that a test runs
makes it: `from hostdriver.pytestplugin.steps import Steps; steps = Steps()`.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final, final

from hostdriver.pytestplugin.values import decode, encode

if TYPE_CHECKING:
    from hostdriver.pytestplugin.values import Message, Value

DESCRIPTOR_VARIABLE: Final = "EMUZERO_STEPS"
"""Environment variable with the descriptor of a socket to the test."""
NAME_VARIABLE: Final = "EMUZERO_STEPS_NAME"
"""Environment variable with the name of the process."""


@final
class Released(Exception):
    """Nobody will come any more: another process has failed, or the test has ended."""


@final
class Steps:
    """What a child process has of the test and of the other processes.

    Owner: the child. Not for several threads, nor for a child of its own.
    """

    def __init__(self) -> None:
        """Find the test by the environment.

        Raises:
            RuntimeError: no test has started this process.
        """
        number = os.environ.get(DESCRIPTOR_VARIABLE, "")
        if not number:
            raise RuntimeError(
                f"{DESCRIPTOR_VARIABLE} is not set: no test has started this process"
            )
        self.name = os.environ.get(NAME_VARIABLE, "")
        """What the test calls this process."""
        self._socket = socket.socket(fileno=int(number))
        os.set_inheritable(self._socket.fileno(), False)  # noqa: FBT003 - positional only
        self._stream = self._socket.makefile("rb")

    def meet(self, step: str) -> None:
        """Wait until every process of the test stands at this step.

        Raises:
            Released: one of them will not come.
        """
        self._ask({"do": "meet", "step": step})

    def send(self, name: str, value: Value) -> None:
        """Give a value a name, once; whoever asks for it gets it, now or later.

        Raises:
            ValueRefused: it is neither what JSON has nor bytes.
            Released: the test has ended.
        """
        self.tell({"do": "send", "step": name, "value": value})

    def receive(self, name: str) -> Value:
        """Return the value of that name; wait until it has been sent.

        Raises:
            Released: nobody will send it.
        """
        return self._ask({"do": "receive", "step": name}).get("value")

    def receive_bytes(self, name: str) -> bytes:
        """Return bytes of that name, such as an IPC handle; see `receive`.

        Raises:
            TypeError: the value is none.
        """
        value = self.receive(name)
        if not isinstance(value, bytes):
            raise TypeError(f"{name!r} is {value!r}, expected bytes")
        return value

    def hear(self) -> Message:
        """Return the next thing that the test says.

        Raises:
            Released: nothing comes any more.
        """
        line = self._stream.readline()
        if not line:
            raise Released("the test has ended")
        return decode(line)

    def tell(self, message: Message) -> None:
        """Say something to the test.

        Raises:
            ValueRefused: see `send`.
            Released: nobody hears it any more.
        """
        try:
            self._socket.sendall(encode(message))
        except OSError as error:
            raise Released(f"the test has ended: {error}") from error

    def _ask(self, message: Message) -> Message:
        self.tell(message)
        answer = self.hear()
        if "released" in answer:
            raise Released(str(answer["released"]))
        return answer
