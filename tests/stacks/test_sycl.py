"""SYCL for Python over Level Zero: dpctl, with both adapters of its Unified Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.stacks.conftest import Stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
ADAPTER = "UR_LOADER_USE_LEVEL_ZERO_V2"
MOVES_MEMORY = Path(__file__).parent / "programs" / "moves_memory.py"
NEED_KERNELS = {
    "test_create_program_from_spirv_l0",
    "test_submit_local_accessor_arg",
    "test_submit_raw_kernel_arg_buffer",
    "test_submit_raw_kernel_arg_pointer",
    "test_submit_work_group_memory",
    "test_sycl_timer_accumulation",
    "test_sycl_timer_order_manager",
}
"""Tests of dpctl that fail as long as there are no kernels."""
NEED_A_BUILD = ("test_c_headers", "test_cython_api")
"""Tests of dpctl that compile extensions of Python."""


@pytest.mark.parametrize("adapter", ["0", "1"])
def test_it_lists_the_device_and_moves_memory_of_every_kind(
    stack: Stack, tmp_path: Path, adapter: str
) -> None:
    told = stack.run("python", MOVES_MEMORY, cwd=tmp_path, **{ADAPTER: adapter})

    assert told.splitlines() == ["emuzero virtual GPU", "device", "host", "shared", "in order"]


@pytest.mark.parametrize("adapter", ["0", "1"])
def test_its_own_tests_pass_but_for_those_that_need_kernels(
    stack: Stack, tmp_path: Path, adapter: str
) -> None:
    report = tmp_path / "report.xml"
    pytest_of_the_stack = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    selected = ("--pyargs", "dpctl.tests", "-k", f"not ({' or '.join(NEED_A_BUILD)})")

    stack.run(
        "sh",
        "-c",
        # Its exit code says that tests failed; the report says which.
        '"$@" || test $? = 1',
        "sh",
        *(*pytest_of_the_stack, *selected, f"--junitxml={report}"),
        cwd=tmp_path,
        **{ADAPTER: adapter},
    )

    cases = [*ET.parse(report).iter("testcase")]  # noqa: S314 - our own file
    failed = {case.attrib["name"] for case in cases if case.find("failure") is not None}
    assert failed == NEED_KERNELS
    assert not [case.attrib["name"] for case in cases if case.find("error") is not None]
    passed = [case for case in cases if not [*case]]
    assert len(passed) > 1500
