"""The in-process link is made by the same rules as the shared one."""

from __future__ import annotations

import pytest

from firmware.abi.handshake import HandshakeStatus
from firmware.link.errors import ContractError, Refused
from firmware.link.handshake import Offer, say_hello
from firmware.link.inprocess import LocalLink
from tests.harness.link_pairs import CLIENT_ID, PLAN, agree_on, write_segment

HELLO = say_hello("in process")
AGREEMENT = agree_on(HELLO.pack())
WELCOME = AGREEMENT.welcome(PLAN.size, CLIENT_ID)


def test_an_in_process_driver_is_refused_in_the_same_words() -> None:
    link = LocalLink(PLAN.size)

    with pytest.raises(Refused, match=r"no more clients \(limit or status 64\)"):
        link.welcome(Offer().refuse(HandshakeStatus.FULL, 64), HELLO, lambda: False)

    link.close()


def test_an_in_process_segment_is_judged_too() -> None:
    link = LocalLink(PLAN.size)

    with pytest.raises(ContractError, match=r"Superblock\.magic"):
        link.welcome(WELCOME, HELLO, lambda: False)

    link.close()


def test_in_process_bells_call_whoever_listens() -> None:
    link = LocalLink(PLAN.size)
    write_segment(link.end.segment, AGREEMENT)
    host_end = link.welcome(WELCOME, HELLO, lambda: False)
    calls: list[str] = []
    link.listen(lambda: calls.append("device"), lambda: calls.append("driver"))

    host_end.doorbells.poke()
    link.end.interrupt.ring()

    assert calls == ["device", "driver"]
    link.close()
    assert host_end.peer.lost() == "this end is closed"
