"""`emuzero serve` as a process, seen by `emuzero status` and by clients."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from firmware.image import reference_image
from hostdriver import levelzero as ze
from hostdriver.cli.main import emuzero
from tests.harness.commandline import command_line, end, environment, serving, start
from tests.harness.commandline import emuzero as run_emuzero

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--devices", "0"], "0 is not in the range 1<=x<=64"),
        (["--devices", "65"], "65 is not in the range"),
        (["--vram", "5"], "--vram: expected a whole number from"),
        (["--vram", "65537"], "--vram: expected"),
        (["--profile", "other"], "is not one of 'spec', 'intel'"),
        (["--spec", "/nowhere/x.toml"], "cannot be read: No such file"),
        (["--firmware", "/nowhere/x.elf"], "cannot be read: No such file"),
        (["--ready-fd", "987"], "descriptor 987 is not open"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_a_wrong_command_line_is_refused_with_exit_code_2(arguments: list[str], words: str) -> None:
    shown = CliRunner().invoke(emuzero, ["serve", *arguments])

    assert shown.exit_code == 2
    assert words in shown.output


@pytest.mark.slow
def test_a_bad_specification_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text("\n\nbanks = 3\n")

    ended = run_emuzero("serve", "--spec", file, "--socket", tmp_path / "s")

    assert ended.returncode == 2
    assert f"{file}:3: banks" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_one_line_is_printed_when_it_is_ready(tmp_path: Path) -> None:
    process = start("serve", "--socket", tmp_path / "s", "--vram", "64MiB")
    assert process.stdout is not None

    line = process.stdout.readline()
    rest, errors = end(process)

    assert line == (
        f"emuzero: emuzero virtual GPU with 64 MiB at {tmp_path}/s (process {process.pid})\n"
    )
    assert (rest, errors, process.returncode) == ("", "", 0)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_with_success(tmp_path: Path, number: int) -> None:
    with serving(tmp_path) as emulator:
        _, errors = end(emulator.process, number)

        assert (emulator.process.returncode, errors) == (0, "")
        assert not emulator.socket.exists()


def test_what_runs_is_told_as_json(tmp_path: Path) -> None:
    with serving(tmp_path, "--devices", 2, "--vram", "32MiB") as emulator:
        assert emulator.ready["socket"] == str(emulator.socket)
        assert emulator.ready["pid"] == emulator.process.pid
        assert [
            (device["index"], device["vram_size"], device["phase"], device["boot_error"])
            for device in emulator.ready["devices"]
        ] == [(0, 32 << 20, "RUNNING", "NONE"), (1, 32 << 20, "RUNNING", "NONE")]

        document = emulator.status()
        assert document["pid"] == emulator.process.pid
        assert [device["index"] for device in document["devices"]] == [0, 1]


@pytest.mark.slow
def test_a_descriptor_is_told_when_it_is_ready(tmp_path: Path) -> None:
    read, write = os.pipe()
    process = subprocess.Popen(
        command_line("serve", "--socket", tmp_path / "s", "--ready-fd", write),
        pass_fds=[write],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    os.close(write)
    with os.fdopen(read) as ready:
        # Up to its end: the emulator closes it.
        lines = ready.readlines()
    end(process)

    (line,) = lines
    assert json.loads(line)["socket"] == str(tmp_path / "s")


@pytest.mark.slow
def test_a_specification_file_and_the_command_line_make_the_device(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text('name = "mine"\nvram_size = "1 GiB"\ndevices = 2\nsub_devices = 2\n')

    with serving(tmp_path, "--spec", file, "--vram", "48MiB", "--profile", "intel") as emulator:
        device, _ = emulator.ready["devices"]
        assert (device["name"], device["vram_size"]) == ("mine", 48 << 20)
        with ze.connect(emulator.socket, start=None) as driver:
            assert driver.devices[1].get_properties().name == "mine"
            assert len(driver.devices[1].get_sub_devices()) == 2


@pytest.mark.slow
def test_a_socket_that_is_taken_is_refused_with_advice(tmp_path: Path) -> None:
    with serving(tmp_path) as emulator:
        second = run_emuzero("serve", "--socket", emulator.socket)

        assert second.returncode == 1
        assert str(emulator.socket) in second.stderr
        assert "another process listens there; --socket listens elsewhere" in second.stderr
        assert second.stderr.count("\n") == 1
        assert emulator.status()["pid"] == emulator.process.pid


@pytest.mark.slow
def test_a_file_in_the_place_of_the_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")

    ended = run_emuzero("serve", "--socket", path)

    assert ended.returncode == 1
    assert "something that is no socket has this name" in ended.stderr
    assert path.read_text() == "kept"


@pytest.mark.slow
def test_a_socket_left_over_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        first.process.kill()
        first.process.wait()

    assert first.socket.exists()
    with serving(tmp_path) as second:
        assert second.status()["pid"] == second.process.pid


@pytest.mark.slow
def test_a_bad_image_leaves_the_device_in_its_boot_state(tmp_path: Path) -> None:
    image = tmp_path / "firmware.elf"
    image.write_bytes(b"\x7fELF" + bytes(200))

    with serving(tmp_path, "--firmware", image, "--devices", 2) as emulator:
        assert {device["phase"] for device in emulator.ready["devices"]} == {"BOOT"}
        document = emulator.status()
        assert [device["phase"] for device in document["devices"]] == ["BOOT", "BOOT"]
        assert document["devices"][0]["boot_error"] == "WRONG_CLASS"
        assert document["devices"][0]["statistics"] is None
        table = run_emuzero("status", "--socket", emulator.socket)
        assert "The firmware image was refused (WRONG_CLASS)" in table.stdout
        with pytest.raises(ze.ZeError, match="NOT_AVAILABLE"):
            ze.connect(emulator.socket, start=None)
        _, errors = end(emulator.process)

    assert "Warning: device 1 stays in its boot state" in errors
    assert "firmware image refused (WRONG_CLASS)" in errors


@pytest.mark.slow
def test_limits_that_the_firmware_lowers_are_told(tmp_path: Path) -> None:
    file = tmp_path / "device.toml"
    file.write_text("max_clients = 4000\nfence_count = 100\n")

    with serving(tmp_path, "--spec", file) as emulator:
        _, errors = end(emulator.process)

    assert errors == "Warning: max_clients is 64, not 4000: the firmware has this limit\n"


@pytest.mark.slow
def test_a_good_image_boots(tmp_path: Path) -> None:
    image = tmp_path / "firmware.elf"
    image.write_bytes(reference_image())

    with serving(tmp_path, "--firmware", image) as emulator:
        assert emulator.ready["devices"][0]["phase"] == "RUNNING"


@pytest.mark.slow
def test_more_memory_than_the_host_has_is_warned_of(tmp_path: Path) -> None:
    with serving(tmp_path, "--vram", "1TiB") as emulator:
        assert emulator.status()["devices"][0]["statistics"]["free_bytes"] == 1 << 40
        _, errors = end(emulator.process)

    assert "Warning: 1 TiB of device memory exceed" in errors


@pytest.mark.slow
def test_on_demand_it_leaves_with_its_last_client(tmp_path: Path) -> None:
    with serving(tmp_path, "--on-demand") as emulator:
        with ze.connect(emulator.socket, start=None):
            pass
        emulator.process.wait(timeout=60)

        assert emulator.process.returncode == 0
        assert not emulator.socket.exists()


@pytest.mark.slow
def test_a_reader_that_leaves_does_not_end_it(tmp_path: Path) -> None:
    with serving(tmp_path) as emulator:
        assert emulator.process.stdout is not None
        emulator.process.stdout.close()

        assert emulator.status()["pid"] == emulator.process.pid
        emulator.process.terminate()
        assert emulator.process.wait(timeout=60) == 0
        emulator.process.stdout = None
