"""Errors: every status has a code and words, and the enumerations are what the facts say."""

import importlib.util
import json
import string
import subprocess
import sys
from pathlib import Path

import pytest

from firmware.abi.control import ControlOpcode
from firmware.abi.status import Status
from hostdriver.core import failures
from hostdriver.core.results import RESULT_OF_STATUS, Refusal, ZeError, ZeResult, failed

ROOT = Path(__file__).parents[2]


def test_error_says_code_number_and_cause() -> None:
    error = ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT, "ptr is 0x10")

    assert str(error) == "ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004): ptr is 0x10"
    assert error.description == "ptr is 0x10"


@pytest.mark.parametrize("status", Status)
def test_every_status_is_an_error_in_words(status: Status) -> None:
    refusal = Refusal(ControlOpcode.MAP, status, 0xABC, 0)

    error = failed(refusal, "mapping")

    assert error.result is RESULT_OF_STATUS[status]
    assert error.description.startswith("mapping: ")
    assert not set("{}") & set(error.description)
    assert (error.result is ZeResult.ZE_RESULT_SUCCESS) is (status is Status.OK)


def test_detail_stands_in_the_description() -> None:
    refusal = Refusal(ControlOpcode.EXPORT, Status.NOT_MAPPED, 0xABC000, 0)

    assert "0xabc000" in failed(refusal, "export").description
    assert str(refusal) == "EXPORT: NOT_MAPPED, nothing is mapped at 0xabc000"


def test_a_call_may_give_a_status_a_meaning_of_its_own() -> None:
    refusal = Refusal(ControlOpcode.EXPORT, Status.LIMIT, 1024, 0)
    meanings = {Status.LIMIT: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE}

    assert failed(refusal, "export", meanings).result is ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE


def test_result_codes_are_all_there_under_their_own_names() -> None:
    facts = json.loads((ROOT / "firmware/facts/level_zero.json").read_text(encoding="utf-8"))

    assert {member.name: member.value for member in ZeResult} == facts["result_codes"]


def test_enumerations_are_fresh() -> None:
    script = ROOT / "scripts" / "gen_level_zero.py"
    run = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stdout) == (0, "")


def test_a_stale_enumeration_is_noticed() -> None:
    spec = importlib.util.spec_from_file_location("gen", ROOT / "scripts" / "gen_level_zero.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    facts = module.enumerations()
    results = next(m for m in module.MODULES if m.path == "hostdriver/core/ze_result.py")
    facts["ze_result_t"]["ZE_RESULT_ERROR_NEW"] = 0x7F000000

    assert module.render(facts, results) != (ROOT / results.path).read_text(encoding="utf-8")


def test_each_failure_carries_the_code_of_its_name() -> None:
    makers = [
        getattr(failures, name) for name in vars(failures) if name[0] in string.ascii_lowercase
    ]
    for maker in makers:
        if getattr(maker, "__module__", "") == failures.__name__:
            name = maker.__name__.upper()
            assert maker("cause").result.name.endswith(name), name
