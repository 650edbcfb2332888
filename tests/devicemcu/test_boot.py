"""Boot from firmware images: good ones, refused ones, and limits of both sides."""

from __future__ import annotations

import msgspec
import pytest

from device.core.errors import DeviceError
from device.core.spec import DeviceSpec
from device.mcu import BootCode
from firmware.abi.boot import Behaviour
from firmware.abi.ids import Feature
from firmware.abi.registers import BOOT_DETAIL, STATUS, BootError, DeviceStatus, Phase
from firmware.abi.status import Status
from firmware.image import REFERENCE_LIMITS, REFERENCE_NOTE, build_image, reference_image
from tests.harness.devicepair import IMAGE, DevicePair


def image_with(**limits: int) -> bytes:
    return build_image(REFERENCE_NOTE, msgspec.structs.replace(REFERENCE_LIMITS, **limits))


def image_note(**fields: object) -> bytes:
    return build_image(msgspec.structs.replace(REFERENCE_NOTE, **fields), REFERENCE_LIMITS)


def broken(at: int, value: int) -> bytes:
    image = bytearray(reference_image())
    image[at] = value
    return bytes(image)


BAD_IMAGES = {
    "empty": (b"", BootError.TRUNCATED),
    "text": (b"#!/bin/sh\n" * 20, BootError.NOT_ELF),
    "class": (broken(4, 1), BootError.WRONG_CLASS),
    "machine": (broken(18, 62), BootError.WRONG_MACHINE),
    "truncated": (reference_image()[:-10], BootError.TRUNCATED),
    "riscv": (image_note(behaviour=Behaviour.RISCV), BootError.UNSUPPORTED_BEHAVIOUR),
}


def test_a_device_without_an_image_takes_no_clients() -> None:
    pair = DevicePair(image=None)

    assert pair.device.phase is Phase.RESET
    with pytest.raises(DeviceError) as refusal:
        pair.attach()
    assert refusal.value.status is Status.DEVICE_LOST
    assert DeviceStatus(refusal.value.detail).phase is Phase.RESET


@pytest.mark.parametrize("name", BAD_IMAGES)
def test_a_bad_image_leaves_the_device_in_boot_with_the_reason(name: str) -> None:
    image, error = BAD_IMAGES[name]

    pair = DevicePair(image=image)

    status = pair.device.status
    assert (status.phase, status.boot_error) == (Phase.BOOT, error)
    with pytest.raises(DeviceError) as refusal:
        pair.attach()
    assert DeviceStatus(refusal.value.detail) == status
    pair.device.check()


@pytest.mark.parametrize("name", BAD_IMAGES)
def test_a_good_image_boots_after_a_bad_one(name: str) -> None:
    pair = DevicePair(image=BAD_IMAGES[name][0])

    assert pair.device.boot(IMAGE, pair.now) is None

    assert pair.device.phase is Phase.RUNNING
    assert pair.device.status.boot_error is BootError.NONE
    client = pair.attach()
    assert DeviceStatus(client.load32(STATUS.offset)).phase is Phase.RUNNING
    client.object(4096)


def test_the_refusal_says_what_is_wrong() -> None:
    pair = DevicePair(image=None)

    refused = pair.device.boot(BAD_IMAGES["machine"][0], pair.now)

    assert refused is not None
    assert refused.error is BootError.WRONG_MACHINE
    assert "62" in str(refused) or "0x3e" in str(refused)


def test_lost_clients_see_why_a_new_image_was_refused() -> None:
    pair = DevicePair(image=BAD_IMAGES["machine"][0])
    pair.device.boot(IMAGE, pair.now)
    client = pair.attach()
    pair.device._mcu._image = None
    pair.device.reset(pair.now)

    refused = pair.device.boot(BAD_IMAGES["machine"][0], pair.now)

    assert refused is not None
    status = DeviceStatus(client.load32(STATUS.offset))
    assert (status.phase, status.boot_error) == (Phase.BOOT, BootError.WRONG_MACHINE)
    assert status.client_lost
    assert client.load32(BOOT_DETAIL.offset) == refused.detail


def test_a_device_that_runs_is_not_booted_over() -> None:
    pair = DevicePair()

    with pytest.raises(DeviceError) as refusal:
        pair.device.boot(IMAGE, pair.now)

    assert refusal.value.status is Status.IN_USE
    assert pair.device.phase is Phase.RUNNING


def test_the_lower_of_both_limits_is_in_force() -> None:
    image = image_with(max_clients=3, max_queues=2, max_spaces=5, max_objects=7, fence_count=9)
    spec = DeviceSpec(vram_size=1 << 20, max_clients=10, max_queues=20, max_spaces=4)
    pair = DevicePair(spec, image=image)

    client = pair.attach()

    block = client.spec()
    assert (block.max_queues, block.max_spaces, block.max_objects) == (2, 4, 7)
    assert client.layout.doorbell_count == 3
    assert client.layout.fence_count == 9
    pair.attach()
    pair.attach()
    with pytest.raises(DeviceError) as refusal:
        pair.attach()
    assert (refusal.value.status, refusal.value.detail) == (Status.LIMIT, 3)


def test_limits_that_leave_nothing_are_refused() -> None:
    spec = DeviceSpec(vram_size=1 << 20, max_ring_entries=16)
    pair = DevicePair(spec, image=image_with(min_ring_entries=64))

    assert pair.device.status.boot_error is BootError.BAD_LIMITS
    pair.device.check()


def test_a_device_offers_the_features_that_its_firmware_has() -> None:
    pair = DevicePair(image=image_note(features=Feature.IPC_RANGES | Feature.PEER_ACCESS))

    assert pair.device.features == Feature.IPC_RANGES
    assert pair.attach().layout.features == Feature.IPC_RANGES


def test_the_boot_code_tells_name_and_version() -> None:
    image = BootCode().load(IMAGE)

    assert image.name == REFERENCE_NOTE.name.rstrip(b"\0").decode()
    assert image.version == REFERENCE_NOTE.version.rstrip(b"\0").decode()
