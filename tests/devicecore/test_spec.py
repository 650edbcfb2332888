"""The device specification: defaults, files, refusals, and what the driver is told."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from device.core.spec import DeviceSpec, Latencies, Profile, SpecError
from firmware.abi.boot import FirmwareLimits
from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension, extension_name
from firmware.abi.ids import PageSizes
from firmware.abi.segment import SpecBlock
from firmware.abi.sizes import parse_size

ROOT = Path(__file__).parents[2]
LIMITS = FirmwareLimits(
    control_ring_entries=64,
    fault_ring_entries=64,
    min_ring_entries=32,
    max_ring_entries=4096,
    max_queues=8,
    max_clients=4,
    max_spaces=128,
    max_objects=1000,
    fence_count=16,
    payload_size=4096,
    ring_pool_size=4096,
)


def documented() -> str:
    return (ROOT / "docs" / "device.toml").read_text(encoding="utf-8")


def test_the_documented_file_is_the_default_device() -> None:
    assert DeviceSpec.from_toml(documented()) == DeviceSpec()


def test_the_documented_file_names_every_key() -> None:
    lines = documented().splitlines()
    keys = {line.split(" = ")[0] for line in lines if " = " in line and line[0] not in "#[ "}

    own = {item.name for item in fields(DeviceSpec)} - {"latencies"}
    assert keys == own | {item.name for item in fields(Latencies)}


def test_an_empty_file_is_the_default_device() -> None:
    assert DeviceSpec.from_toml("") == DeviceSpec()


def test_a_file_sets_sizes_lists_and_tables() -> None:
    spec = DeviceSpec.from_toml(
        """
        name = "small"
        vram_size = "64 MiB"
        chunk_bytes = 8192
        page_sizes = ["4 KiB", 65536]
        extensions = ["ZE_extension_subgroups"]
        profile = "intel"
        ecc = false
        [latencies]
        command_ticks = 7
        """
    )

    assert spec == DeviceSpec(
        name="small",
        vram_size=64 << 20,
        chunk_bytes=8192,
        page_sizes=PageSizes.SMALL | PageSizes.MEDIUM,
        extensions=Extension.EXT_SUBGROUPS,
        profile=Profile.INTEL,
        ecc=False,
        latencies=Latencies(command_ticks=7),
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("vram_size = ", "file"),
        ("vram = 3", "vram"),
        ("vram_size = '8 G'", "vram_size"),
        ("vram_size = true", "vram_size"),
        ("vram_size = '3GB'", "vram_size"),
        ("chunk_bytes = '64 kB'", "chunk_bytes"),
        ("vram_size = 65537", "vram_size"),
        ("vram_size = 4096", "vram_size"),
        ("page_sizes = 4096", "page_sizes"),
        ("page_sizes = ['8 KiB']", "page_sizes"),
        ("page_sizes = ['64 KiB']", "page_sizes"),
        ("extensions = ['ZE_extension_of_mine']", "extensions"),
        ("extensions = [1]", "extensions"),
        ("profile = 'nvidia'", "profile"),
        ("profile = 1", "profile"),
        ("mappable_handles = true", "mappable_handles"),
        ("mappable_handles = 'sometimes'", "mappable_handles"),
        ("latencies = 1", "latencies"),
        ("[latencies]\nfence_ticks = 1", "latencies.fence_ticks"),
        ("[latencies]\ncommand_ticks = -1", "latencies.command_ticks"),
        ("name = ''", "name"),
        (f"name = '{'x' * 64}'", "name"),
        ("name = 1", "name"),
        ("ecc = 1", "ecc"),
        ("pci_address = '3:0.0'", "pci_address"),
        ("pci_address = '0000:f0:00.0'", "pci_address"),
        ("pci_address = 3", "pci_address"),
        ("channels = 3", "channels"),
        ("tlb_entries = 1000", "tlb_entries"),
        ("max_clients = 0", "max_clients"),
        ("max_clients = true", "max_clients"),
        ("max_clients = 1.5", "max_clients"),
        ("max_queues = 1024", "max_queues"),
        ("min_ring_entries = 16384", "min_ring_entries"),
        ("chunk_bytes = 5000", "chunk_bytes"),
    ],
)
def test_what_no_device_can_have_is_refused_by_key(text: str, key: str) -> None:
    with pytest.raises(SpecError) as refusal:
        DeviceSpec.from_toml(text)

    assert refusal.value.key == key
    assert key in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["65536K", "64M", "64m", "64MiB", "64 MiB", "67108864", "67108864 B"]
)
def test_sizes_are_those_of_the_command_line(text: str) -> None:
    spec = DeviceSpec.from_toml(f'vram_size = "{text}"\nmax_allocation_size = "64M"')

    assert spec.vram_size == parse_size(text) == 64 << 20


def test_a_unit_that_may_be_of_1000_is_refused_with_the_one_of_1024() -> None:
    with pytest.raises(SpecError, match=r"'3GB' may mean powers of 1000 .* write 3GiB"):
        DeviceSpec.from_toml('vram_size = "3GB"')


def test_a_refusal_says_what_was_expected_and_found() -> None:
    with pytest.raises(SpecError, match=r"channels: expected a power of two, found 3"):
        DeviceSpec(channels=3)


def test_the_lower_limit_counts() -> None:
    limited = DeviceSpec(max_clients=2, max_spaces=64).limited(LIMITS)

    assert (limited.max_clients, limited.max_spaces) == (2, 64)
    assert (limited.max_queues, limited.max_objects, limited.fence_count) == (8, 1000, 16)
    assert (limited.min_ring_entries, limited.max_ring_entries) == (32, 4096)


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(SpecError, match="min_ring_entries"):
        DeviceSpec(max_ring_entries=16).limited(LIMITS)


def test_the_block_tells_the_driver_what_the_device_is() -> None:
    spec = DeviceSpec(vram_size=64 << 20, profile=Profile.INTEL, max_queues=5)

    block = spec.to_block(device_index=2)

    assert SpecBlock.unpack(block.pack()) == block
    assert block.name.rstrip(b"\0") == b"emuzero virtual GPU"
    assert block.vram_size == 64 << 20
    assert block.max_allocation_size == 64 << 20
    assert (block.max_queues, block.profile, block.va_bits) == (5, 1, 48)
    assert block.pci_address == 5 << 8
    assert block.page_sizes == 0x4021_1000
    assert block.timer_hz == 1_000_000_000


def test_devices_of_one_emulator_differ_in_identity() -> None:
    spec = DeviceSpec()

    identities = {spec.uuid(index) for index in range(64)}

    assert len(identities) == 64
    assert {len(identity) for identity in identities} == {16}
    assert spec.uuid(3) == DeviceSpec().uuid(3)


def test_extensions_are_those_of_the_facts() -> None:
    facts = json.loads((ROOT / "firmware" / "facts" / "level_zero.json").read_text("utf-8"))
    prefixes = ("ZE_extension_", "ZE_experimental_")
    texts = [value for value in facts["macros"].values() if isinstance(value, str)]

    assert set(EXTENSIONS_BY_NAME) == {text for text in texts if text.startswith(prefixes)}


def test_every_extension_has_one_bit_and_one_name() -> None:
    assert sum(Extension) == (1 << len(Extension)) - 1
    assert len(Extension) <= 64
    assert extension_name(Extension.EXP_SUB_ALLOCATIONS) == "ZE_experimental_sub_allocations"
