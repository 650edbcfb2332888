"""Items of messages: what is written is read back, and nothing is read past the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdriver.channel.items import ITEM, MalformedMessageError, Reader, Writer


@given(st.lists(st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=40))))
def test_what_is_written_is_read_back(items: list[int | bytes]) -> None:
    writer = Writer()
    for item in items:
        if isinstance(item, int):
            writer.number(item)
        else:
            writer.raw(item)
    message = writer.message()

    reader = Reader(message)
    found = [reader.number() if isinstance(i, int) else reader.raw(len(i)) for i in items]

    assert found == items
    assert len(message) % ITEM == 0


def test_nothing_is_read_past_the_end_of_a_message() -> None:
    reader = Reader(b"12345678abc")

    assert reader.number() == int.from_bytes(b"12345678", "little")
    with pytest.raises(MalformedMessageError):
        reader.number()
    assert reader.raw(3) == b"abc"
    with pytest.raises(MalformedMessageError):
        reader.raw(1)


def test_negative_numbers_travel_as_twos_complement() -> None:
    writer = Writer()
    writer.number(-1)

    assert writer.message() == b"\xff" * ITEM
