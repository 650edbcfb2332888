"""Handles by number."""

from collections.abc import Iterator

import pytest

from firmware.link.segment import Segment
from hostdriver.channel.names import DEFAULT_CONTEXT, ContextRecord, Names
from hostdriver.channel.seen import DeviceRecord
from hostdriver.channel.slots import CHANNEL_SIZE
from hostdriver.channel.streamrows import StreamRows
from hostdriver.core.results import ZeError, ZeResult


@pytest.fixture(name="names")
def make_names() -> Iterator[Names]:
    segment = Segment.in_process(CHANNEL_SIZE)
    yield Names(StreamRows(segment.words))
    segment.close()


def test_a_number_is_never_used_again(names: Names) -> None:
    first = names.add(ContextRecord((0,)))
    names.drop(ContextRecord, first)

    assert names.add(ContextRecord((0,))) != first
    with pytest.raises(ZeError) as caught:
        names.find(ContextRecord, first)
    assert caught.value.result is ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT


def test_the_default_context_is_for_all_devices(names: Names) -> None:
    names.begin({number: DeviceRecord(number - 1) for number in (1, 2, 3)})

    assert names.need(ContextRecord, DEFAULT_CONTEXT).devices == (0, 1, 2)
    with pytest.raises(ZeError):
        names.drop_context(DEFAULT_CONTEXT)


def test_a_handle_of_another_kind_is_none(names: Names) -> None:
    number = names.add("a thing")

    assert names.find(str, number) == "a thing"
    assert names.find(str, None) is None
    with pytest.raises(ZeError):
        names.find(ContextRecord, number)


def test_devices_are_numbered_from_one(names: Names) -> None:
    names.begin({1: DeviceRecord(4)})

    assert names.device(1) == 4
    assert names.device(None) is None
    with pytest.raises(ZeError):
        names.device(2)
