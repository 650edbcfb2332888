"""A Python program that calls the library by ctypes, and goes on while its interpreter ends.

It is run by the tests as a program, and inside of `embeds.c`. `FACTS` has what it needs to know:
the library's file (null: the program has it already), numbers of the interface, and whether threads
are to be inside calls.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import json
import os
import threading
from typing import Final

FACTS: Final = json.loads(os.environ["FACTS"])
ENDLESS: Final = ctypes.c_uint64(2**64 - 1)
ROUNDS_BEFORE: Final = 30
SIZE: Final = ctypes.c_size_t(4096)


class Desc(ctypes.Structure):
    """The descriptors of contexts, host memory, event pools and events begin like this."""

    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("first", ctypes.c_uint32),
        ("second", ctypes.c_uint32),
        ("third", ctypes.c_uint32),
    )


class Host:
    """A context, and calls with it.

    It has all that it needs by itself: when modules are taken apart their names are gone.
    """

    def __init__(self) -> None:
        self._library = ctypes.CDLL(FACTS["library"])
        self._size = SIZE
        self._desc = Desc(FACTS["host"])
        self._byref = ctypes.byref
        self._pointer = ctypes.c_void_p
        self._write = os.write
        self._leave = os._exit
        self.do("zeInit", 0)
        count, driver = ctypes.c_uint32(1), ctypes.c_void_p()
        self.do("zeDriverGet", self._byref(count), self._byref(driver))
        self.context = self.made("zeContextCreate", driver, Desc(FACTS["context"]))
        self.rounds = 0

    def do(self, name: str, *arguments: object) -> None:
        """Call a function that has to succeed."""
        result = self._library[name](*arguments)
        if result:
            self._write(2, b"%s answered %#x\n" % (name.encode(), result & 0xFFFF_FFFF))
            self._leave(1)

    def made(self, name: str, owner: object, desc: Desc, *between: object) -> ctypes.c_void_p:
        """Return what a function makes by a descriptor."""
        handle = self._pointer()
        self.do(name, owner, self._byref(desc), *between, self._byref(handle))
        return handle

    def allocate(self) -> ctypes.c_void_p:
        """Return memory of the host."""
        return self.made("zeMemAllocHost", self.context, self._desc, self._size, self._size)

    def use(self, memory: ctypes.c_void_p) -> None:
        """Ask where memory begins, and free it."""
        base = self._pointer()
        self.do("zeMemGetAddressRange", self.context, memory, self._byref(base), None)
        self.do("zeMemFree", self.context, memory)

    def say(self, line: bytes) -> None:
        """Write a line that the tests read."""
        self._write(1, line)


class Last(Host):
    """Calls once more, when modules are taken apart."""

    def __del__(self) -> None:
        """Call; what there was of the interpreter is gone."""
        self.use(self.allocate())
        self.say(b"torn down\n")


def work(host: Host) -> None:
    """Call for as long as there is a process."""
    while True:
        host.use(host.allocate())
        host.rounds += 1


def be_inside_calls(host: Host) -> None:
    """Begin threads that call, and one whose call does not end."""
    desc = Desc(FACTS["pool"], None, FACTS["visible"], 1)
    pool = host.made("zeEventPoolCreate", host.context, desc, 0, None)
    event = host.made("zeEventCreate", pool, Desc(FACTS["event"]))
    waits = "zeEventHostSynchronize", event, ENDLESS
    threading.Thread(target=host.do, args=waits, daemon=True).start()
    for _ in range(2):
        threading.Thread(target=work, args=(host,), daemon=True).start()
    while host.rounds < ROUNDS_BEFORE:
        os.sched_yield()


def at_exit(host: Host, kept: ctypes.c_void_p) -> None:
    """Call when the interpreter has begun to end."""
    host.use(kept)
    host.use(host.allocate())
    host.say(b"at exit\n")


def main() -> None:
    """Begin; what follows happens by itself."""
    host = Host()
    atexit.register(at_exit, host, host.allocate())
    if FACTS["threads"]:
        be_inside_calls(host)
    # What hangs there goes last of all.
    vars(builtins)["last"] = Last()


main()
