"""Tests of a user that pass: each fixture does what its page says."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from hostdriver import levelzero as ze
from hostdriver.pytestplugin.steps import Steps


def test_a_test_has_a_running_emulator(emuzero_device: Any) -> None:
    assert emuzero_device.is_alive
    assert os.environ["EMUZERO_SOCKET"] == str(emuzero_device.socket)
    with ze.connect() as driver:
        assert len(driver.devices) == 1
        assert emuzero_device.statistics().client_count == 1


SEEN: list[int] = []


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_its_own(emuzero_device: Any, number: int) -> None:
    assert emuzero_device.pid not in SEEN
    SEEN.append(emuzero_device.pid)
    assert len(SEEN) == number


SHARED: list[int] = []


@pytest.mark.emuzero(scope="session", devices=3)
@pytest.mark.parametrize("number", [1, 2])
def test_tests_may_share_one(emuzero_device: Any, number: int) -> None:
    SHARED.append(emuzero_device.pid)
    assert len(SHARED) == number
    assert len(set(SHARED)) == 1
    assert len(emuzero_device.report().devices) == 3


@pytest.mark.emuzero(scope="session", devices=3)
def test_a_shared_one_that_died_is_replaced(emuzero_device: Any) -> None:
    emuzero_device.kill()


@pytest.mark.emuzero(scope="session", devices=3)
def test_the_one_behind_it_lives(emuzero_device: Any) -> None:
    assert emuzero_device.pid not in SHARED


def test_the_session_has_one_too(emuzero_session_device: Any, emuzero_device: Any) -> None:
    assert emuzero_session_device.pid != emuzero_device.pid
    assert emuzero_session_device.is_alive


@pytest.mark.emuzero(devices=2, vram="64MiB", profile="intel")
def test_the_marker_says_what_devices_are(emuzero_driver: ze.Driver, emuzero_device: Any) -> None:
    assert len(emuzero_driver.devices) == 2
    assert emuzero_device.statistics(1).vram_size == 64 << 20


@pytest.mark.emuzero(spec='name = "small one"\nvram_size = 33554432')
def test_a_specification_may_be_text(emuzero_device: Any) -> None:
    assert emuzero_device.statistics().name.rstrip(b"\0") == b"small one"


def test_driver_and_context_are_those_of_the_emulator(
    emuzero_driver: ze.Driver, emuzero_context: ze.Context, emuzero_device: Any
) -> None:
    pointer = emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)
    assert emuzero_device.statistics().object_count == 1
    emuzero_context.memory_write(pointer, b"hello")
    assert emuzero_context.memory_read(pointer, 5) == b"hello"
    emuzero_context.mem_free(pointer)


def test_a_context_may_be_destroyed_by_the_test(emuzero_context: ze.Context) -> None:
    emuzero_context.destroy()


def test_a_driver_may_be_closed_by_the_test(emuzero_driver: ze.Driver) -> None:
    emuzero_driver.close()


@pytest.mark.emuzero(leaks=False)
def test_leaks_can_be_allowed(emuzero_context: ze.Context, emuzero_driver: ze.Driver) -> None:
    emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)


async def test_fixtures_serve_async_tests(
    emuzero_driver: ze.Driver, emuzero_context: ze.Context, emuzero_run: Any
) -> None:
    pointer = emuzero_context.mem_alloc_device(emuzero_driver.devices[0], 4096)
    await trio.to_thread.run_sync(emuzero_context.memory_write, pointer, b"trio")
    assert emuzero_context.memory_read(pointer, 4) == b"trio"
    emuzero_context.mem_free(pointer)
    done = await trio.to_thread.run_sync(emuzero_run, ["echo", "hello"])
    assert done.stdout == "hello\n"


def test_programs_run_to_their_end(emuzero_run: Any) -> None:
    done = emuzero_run(
        ["sh", "-c", 'cat; echo "$WORD" >&2; exit 3'], stdin="in", env={"WORD": "err"}
    )
    assert (done.exit_status, done.stdout, done.stderr) == (3, "in", "err\n")
    assert emuzero_run(["sh", "-c", "kill -9 $$"]).exit_status == 137
    assert done.check(3) is done


def test_programs_are_told_of(emuzero_run: Any) -> None:
    clean = emuzero_run([os.environ["CLEAN_PROGRAM"]]).check()
    assert clean.left == ()
    assert "zeMemAllocDevice" in clean.summary
    dirty = emuzero_run([os.environ["DIRTY_PROGRAM"]])
    assert dirty.exit_status == 0
    assert any("device memory, 0x1000 bytes" in line for line in dirty.left)
    assert any(line.startswith("context#") for line in dirty.left)


@pytest.mark.emuzero(driver="process")
def test_drivers_may_be_apart(emuzero_run: Any) -> None:
    assert emuzero_run([os.environ["CLEAN_PROGRAM"]]).check().accounts == ()


def export(steps: Steps, text: bytes) -> int:
    with ze.connect() as driver, driver.create_context() as context:
        pointer = context.mem_alloc_device(driver.devices[0], 4096)
        context.memory_write(pointer, text)
        steps.send("handle", context.mem_get_ipc_handle(pointer))
        steps.meet("opened")
        steps.meet("read")
        context.mem_free(pointer)
    return len(text)


def import_(steps: Steps) -> bytes:
    with ze.connect() as driver, driver.create_context() as context:
        handle = steps.receive_bytes("handle")
        pointer = context.mem_open_ipc_handle(driver.devices[0], handle)
        steps.meet("opened")
        text = context.memory_read(pointer, 5)
        steps.meet("read")
        context.mem_close_ipc_handle(pointer)
    return text


def test_processes_share_memory(emuzero_processes: Any) -> None:
    emuzero_processes.exporter(export, b"hello")
    emuzero_processes.importer(import_)
    assert emuzero_processes.join() == {"exporter": 5, "importer": b"hello"}


def test_an_exporter_can_be_killed_at_a_step(emuzero_processes: Any, emuzero_device: Any) -> None:
    emuzero_processes.exporter(export, b"hello")
    emuzero_processes.importer(import_)
    emuzero_processes.wait_for("opened")
    assert emuzero_device.statistics().client_count == 2
    emuzero_processes.kill("exporter", at="opened")
    assert emuzero_processes.join() == {"exporter": None, "importer": b"hello"}


def test_an_importer_can_be_stopped(emuzero_processes: Any) -> None:
    exporter = emuzero_processes.exporter(export, b"hello")
    emuzero_processes.importer(import_)
    emuzero_processes.stop("importer", at="opened")
    emuzero_processes.wait_for("read", "exporter")
    assert exporter.runs
    emuzero_processes.resume("importer")
    assert emuzero_processes.join()["importer"] == b"hello"


def answer(steps: Steps) -> dict[str, Any]:
    question = steps.receive("question")
    steps.send("answer", [question, steps.name, b"\0"])
    return {"folder": os.getcwd()}  # noqa: PTH109 - as text


def test_the_test_sends_and_receives(emuzero_processes: Any) -> None:
    emuzero_processes.start("oracle", answer)
    emuzero_processes.send("question", {"number": 7})
    assert emuzero_processes.receive("answer") == [{"number": 7}, "oracle", b"\0"]
    assert emuzero_processes.join() == {"oracle": {"folder": str(Path.cwd())}}


SCRIPT = """
import sys
from hostdriver import levelzero as ze
from hostdriver.pytestplugin.steps import Steps
steps = Steps()
with ze.connect() as driver:
    steps.meet("connected")
print(sys.argv[1])
"""


def test_scripts_and_programs_take_part(emuzero_processes: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    first = emuzero_processes.start("first", script, "one")
    emuzero_processes.start("second", [sys.executable, str(script)], "two")
    emuzero_processes.start("program", [os.environ["CLEAN_PROGRAM"]])
    emuzero_processes.wait_for("connected", "first", "second")
    emuzero_processes.join()
    assert first.output == "one\n"


def test_children_of_the_test_find_the_emulator(emuzero_device: Any) -> None:
    code = "from hostdriver import levelzero as ze; ze.connect(start=None).close()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert emuzero_device.statistics().client_count == 0
