"""What 64 bytes mean: the true export, another's descriptor, or nothing; never something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.abi.ipc import ExportKind, IpcHandle, Ticket, check_word
from hostdriver.core.ipc import (
    ByDescriptor,
    Named,
    Nonsense,
    build_handle,
    build_ticket,
    is_intact,
    is_ours,
    settle,
    token_of,
    understand,
)

OURS = 0x1122_3344_5566_7788
OTHER = 0xFFEE_DDCC_BBAA_9900
NAMED = Named(
    token=bytes(range(16)),
    kind=ExportKind.RANGE,
    device=0,
    emulator_id=OURS,
    offset=0x123,
    size=0x4567,
)
HANDLE = build_handle(NAMED, 9, 1234)


def with_descriptor(handle: bytes, descriptor: int) -> bytes:
    return descriptor.to_bytes(4, "little", signed=True) + handle[4:]


@pytest.mark.sentence("RANGE-24")
def test_handle_has_64_bytes_and_says_what_it_names() -> None:
    record = IpcHandle.unpack(HANDLE)

    assert isinstance(record, IpcHandle)
    assert (record.descriptor, record.descriptor_copy, record.pid) == (9, 9, 1234)
    assert (record.offset, record.size_bytes) == (0x123, 0x4567)
    assert token_of(HANDLE) == NAMED.token
    assert is_intact(HANDLE)
    assert is_ours(HANDLE, OURS)
    assert not is_ours(HANDLE, OTHER)


def test_unchanged_handle_is_its_token_and_touches_no_descriptor() -> None:
    assert understand(HANDLE, OURS) == NAMED


def test_changed_descriptor_decides_before_what_is_left_around_it() -> None:
    assert understand(with_descriptor(HANDLE, 12), OURS) == ByDescriptor(12, NAMED)


@pytest.mark.parametrize("rest", [bytes(60), b"\xa5" * 60], ids=["zero", "garbage"])
def test_descriptor_alone_decides(rest: bytes) -> None:
    assert understand((12).to_bytes(4, "little") + rest, OURS) == ByDescriptor(12, None)


@pytest.mark.case("I25", "R10")
@pytest.mark.parametrize("position", range(4, 64))
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_no_changed_byte_opens_anything(position: int, flip: int) -> None:
    changed = bytearray(HANDLE)
    changed[position] ^= flip

    meaning = understand(bytes(changed), OURS)

    assert isinstance(meaning, Nonsense)
    assert "changed" in meaning.reason


@pytest.mark.parametrize("handle", [b"\xff" * 64, bytes(64)], ids=["ones", "zeros"])
def test_bytes_that_are_no_handle_name_nothing_by_themselves(handle: bytes) -> None:
    meaning = understand(handle, OURS)

    assert isinstance(meaning, ByDescriptor)
    assert meaning.otherwise is None
    assert isinstance(settle(meaning, None, OURS, is_own=False), Nonsense)


def test_handle_of_another_emulator_is_refused_with_both_names() -> None:
    meaning = understand(HANDLE, OTHER)

    assert isinstance(meaning, Nonsense)
    assert hex(OURS) in meaning.reason
    assert hex(OTHER) in meaning.reason


def test_descriptor_put_into_bytes_of_another_emulator_decides() -> None:
    assert understand(with_descriptor(HANDLE, 12), OTHER) == ByDescriptor(12, None)


def test_later_version_is_refused() -> None:
    record = IpcHandle.unpack(HANDLE)
    assert isinstance(record, IpcHandle)
    raw = bytearray(HANDLE)
    raw[16:18] = (2).to_bytes(2, "little")
    meaning = understand(resealed(raw), OURS)

    assert isinstance(meaning, Nonsense)
    assert "version 2" in meaning.reason


def test_unknown_kind_is_refused() -> None:
    raw = bytearray(HANDLE)
    raw[18] = 99
    meaning = understand(resealed(raw), OURS)

    assert isinstance(meaning, Nonsense)
    assert "malformed" in meaning.reason


def resealed(raw: bytearray) -> bytes:
    """Return the bytes with a check word that fits, as a careful forger would make them."""
    return bytes(raw[:60]) + check_word(bytes(raw)).to_bytes(4, "little")


RECEIVED = build_ticket(
    Named(
        token=b"R" * 16, kind=ExportKind.ALLOCATION, device=1, emulator_id=OURS, offset=0, size=4096
    )
)
FOREIGN = build_ticket(
    Named(token=b"F" * 16, kind=ExportKind.RANGE, device=0, emulator_id=OTHER, offset=0, size=1)
)


def test_ticket_of_another_process_decides() -> None:
    for otherwise in (None, NAMED):
        named = settle(ByDescriptor(12, otherwise), RECEIVED, OURS, is_own=False)

        assert isinstance(named, Named)
        assert (named.token, named.device, named.size) == (b"R" * 16, 1, 4096)


def test_own_ticket_does_not_decide_against_a_handle_of_another() -> None:
    # A number of the exporter that happens to be this process's own ticket is a coincidence.
    assert settle(ByDescriptor(12, NAMED), RECEIVED, OURS, is_own=True) == NAMED


def test_own_ticket_alone_is_the_own_export() -> None:
    named = settle(ByDescriptor(12, None), RECEIVED, OURS, is_own=True)

    assert isinstance(named, Named)
    assert named.token == b"R" * 16


@pytest.mark.parametrize("content", [None, b"", b"short", bytes(64), b"#" * 64])
def test_descriptor_that_is_no_ticket_leaves_the_token_or_nothing(content: bytes | None) -> None:
    assert settle(ByDescriptor(12, NAMED), content, OURS, is_own=False) == NAMED
    meaning = settle(ByDescriptor(12, None), content, OURS, is_own=False)
    assert isinstance(meaning, Nonsense)
    assert "descriptor 12" in meaning.reason


def test_ticket_of_another_emulator_opens_nothing() -> None:
    assert settle(ByDescriptor(12, NAMED), FOREIGN, OURS, is_own=False) == NAMED
    meaning = settle(ByDescriptor(12, None), FOREIGN, OURS, is_own=False)
    assert isinstance(meaning, Nonsense)
    assert hex(OTHER) in meaning.reason


def test_ticket_is_as_long_as_a_handle_and_holds_no_descriptor() -> None:
    ticket = Ticket.unpack(RECEIVED)

    assert isinstance(ticket, Ticket)
    assert len(RECEIVED) == 64


@given(
    token=st.binary(min_size=16, max_size=16),
    offset=st.integers(0, 2**64 - 1),
    size=st.integers(0, 2**64 - 1),
    descriptor=st.integers(-(2**31), 2**31 - 1),
    kind=st.sampled_from(ExportKind),
    device=st.integers(0, 255),
)
def test_what_is_built_is_what_is_understood(
    token: bytes, offset: int, size: int, descriptor: int, kind: ExportKind, device: int
) -> None:
    named = Named(token=token, kind=kind, device=device, emulator_id=OURS, offset=offset, size=size)

    assert understand(build_handle(named, descriptor, 1), OURS) == named
    meaning = ByDescriptor(descriptor, None)
    assert settle(meaning, build_ticket(named), OURS, is_own=False) == named


@given(st.binary(min_size=64, max_size=64))
def test_no_bytes_are_too_strange(handle: bytes) -> None:
    assert not isinstance(understand(handle, OURS), Named)
