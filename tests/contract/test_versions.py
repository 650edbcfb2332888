"""Versions and features: what both sides speak, and what a newer peer may send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi import Malformed, Record, field_of
from firmware.abi.boot import FirmwareNote
from firmware.abi.catalogue import RECORDS
from firmware.abi.handshake import (
    HELLO_MAGIC,
    HandshakeStatus,
    Hello,
    Purpose,
    Version,
    Welcome,
    agree,
    agree_features,
    hello_version,
)
from firmware.abi.ids import ABI_MAJOR, ABI_MINOR, Feature
from tests.harness.strategies import records

ALL = Feature(sum(Feature))
MINORS = st.integers(0, 0xFFFF)
SOME = st.sets(st.sampled_from(list(Feature)))


def hello(**changes: int) -> Hello:
    values = {"abi_major": ABI_MAJOR, "abi_minor": ABI_MINOR, "device_index": 0, **changes}
    return Hello(**values, features=ALL, purpose=Purpose.WORK, name=b"test")


@given(driver=MINORS, device=MINORS)
def test_both_speak_the_lower_minor_version(driver: int, device: int) -> None:
    agreed = agree(driver, device)

    assert agreed == agree(device, driver)
    assert agreed <= driver
    assert agreed <= device
    assert agreed in {driver, device}


@given(
    wanted=st.sets(st.sampled_from(list(Feature))), offered=st.sets(st.sampled_from(list(Feature)))
)
def test_both_use_the_features_that_both_have(wanted: set[Feature], offered: set[Feature]) -> None:
    agreed = agree_features(Feature(sum(wanted)), Feature(sum(offered)))

    assert set(agreed) == wanted & offered


@given(newer=st.integers(0, (1 << 64) - 1))
def test_features_of_a_newer_peer_are_ignored(newer: int) -> None:
    data = bytearray(hello().pack())
    at = field_of(Hello, "features").offset
    data[at : at + 8] = newer.to_bytes(8, "little")

    decoded = Hello.unpack(data)

    assert isinstance(decoded, Hello)
    assert decoded.features == Feature(newer & ALL)
    assert newer & ~ALL not in Feature._value2member_map_ or newer & ~ALL == 0


def test_only_offers_are_open_to_unknown_features() -> None:
    def is_open(record: type[Record]) -> bool:
        return any(field.extensible for field in record.FIELDS)

    assert [record for record in RECORDS.values() if is_open(record)] == [Hello, FirmwareNote]


def test_what_was_agreed_has_no_unknown_features() -> None:
    welcome = Welcome(
        status=HandshakeStatus.OK,
        abi_major=ABI_MAJOR,
        abi_minor=ABI_MINOR,
        features=Feature.EVENT_INDEX,
        segment_size=0,
        client_id=1,
        device_count=1,
        detail=0,
    )
    data = bytearray(welcome.pack())
    data[field_of(Welcome, "features").offset + 7] = 0x80

    assert isinstance(Welcome.unpack(data), Malformed)


@given(major=MINORS, minor=MINORS, rest=st.binary(max_size=200))
def test_the_version_of_any_hello_can_be_read(major: int, minor: int, rest: bytes) -> None:
    packet = (
        HELLO_MAGIC.to_bytes(8, "little")
        + major.to_bytes(2, "little")
        + minor.to_bytes(2, "little")
        + rest
    )

    assert hello_version(packet) == Version(major, minor)


@given(value=records(Hello))
def test_the_version_is_where_hello_has_it(value: Hello) -> None:
    assert hello_version(value.pack()) == (value.abi_major, value.abi_minor)


@pytest.mark.parametrize("packet", [b"", bytes(11), bytes(128), b"1EMZELLO\x01\x00\x00"])
def test_other_packets_have_no_version(packet: bytes) -> None:
    assert hello_version(packet) is None
