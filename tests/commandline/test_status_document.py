"""Status for programs: the schema is the one that docs/status.md describes."""

from __future__ import annotations

import json
from pathlib import Path

from firmware.abi.statistics import (
    ClientStatistics,
    DeviceStatistics,
    QueueStatistics,
    SpaceStatistics,
)
from hostdriver.cli.observer import Report
from hostdriver.cli.status.document import SCHEMA, document_of, record_of
from tests.commandline.test_status_screen import BOOTING, BUSY, REPORT
from tests.harness.statistics import client_statistics

PAGE = (Path(__file__).parents[2] / "docs" / "status.md").read_text(encoding="utf-8")


def keys_of(value: object) -> set[str]:
    """Return every key in a document."""
    match value:
        case dict():
            return set(value) | {key for inner in value.values() for key in keys_of(inner)}
        case list():
            return {key for inner in value for key in keys_of(inner)}
        case _:
            return set()


def test_every_key_is_documented() -> None:
    missing = [key for key in sorted(keys_of(document_of(REPORT))) if f"`{key}`" not in PAGE]

    assert missing == []


def test_the_document_is_json_with_names_for_enumerations() -> None:
    document = json.loads(json.dumps(document_of(REPORT)))

    busy, booting = document["devices"]
    assert document["schema"] == SCHEMA
    assert (document["socket"], document["pid"]) == ("/run/s", 99)
    assert (busy["index"], busy["phase"], busy["boot_error"]) == (0, "RUNNING", "NONE")
    assert busy["statistics"]["free_bytes"] == 768 << 20
    assert busy["clients"][0]["name"] == "prog?ram"
    assert [queue["state"] for queue in busy["queues"]] == ["RUNNING", "STOPPED"]
    assert busy["queues"][0]["kind"] == "COPY"
    assert (booting["phase"], booting["boot_error"]) == ("BOOT", "NOT_ELF")
    assert booting["statistics"] is None


def test_every_field_of_every_record_is_there() -> None:
    document = document_of(Report(socket="", pid=1, devices=(BUSY, BOOTING)))

    devices = document["devices"]
    assert isinstance(devices, list)
    device = devices[0]
    for kind, found in (
        (DeviceStatistics, device["statistics"]),
        (ClientStatistics, device["clients"][0]),
        (SpaceStatistics, device["spaces"][0]),
        (QueueStatistics, device["queues"][0]),
    ):
        names = {field.name for field in kind.FIELDS}
        assert names - {"status", "device_index"} == set(found)


def test_bytes_that_are_no_text_do_not_break_the_document() -> None:
    shown = record_of(client_statistics(name=b"\xff\n\x00\x00"))

    assert shown["name"] == "\N{REPLACEMENT CHARACTER}?"


def test_one_device_can_be_written_alone() -> None:
    devices = document_of(REPORT, only=1)["devices"]

    assert isinstance(devices, list)
    assert [device["index"] for device in devices] == [1]
