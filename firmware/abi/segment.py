"""The shared segment: one sealed memory file per client, made by the device.

Superblock, register page, doorbell page, control and reply rings, fault ring, specification block,
fence slots, work-ring pool and payload area follow each other; the superblock says where. A client
takes every offset from the superblock and never computes one.
"""

from typing import Final

from firmware.abi._record import Record, constant, offset_of, wire
from firmware.abi._wire import U16, U32, U64, raw
from firmware.abi.extensions import Extension
from firmware.abi.ids import Feature, PageSizes
from firmware.abi.status import Status

SEGMENT_MAGIC: Final = 0x4F52_455A_554D_4531
"""The bytes `1EMUZERO` in memory."""
SUPERBLOCK_OFFSET: Final = 0


class Superblock(Record, size=256):
    """First bytes of the segment: versions, identity and where everything is (byte offsets)."""

    magic: int = constant(U64, SEGMENT_MAGIC, "The bytes `1EMUZERO`.")
    abi_major: int = wire(U16, "ABI major version of the device.")
    abi_minor: int = wire(U16, "ABI minor version that was agreed.")
    device_index: int = wire(U32, "Which device of the emulator this segment belongs to.")
    features: Feature = wire(U64, "Features that were agreed.", flags=Feature)
    segment_size: int = wire(U64, "Size of the segment in bytes.")
    emulator_id: int = wire(U64, "Random number of this emulator; part of every IPC handle.")
    client_id: int = wire(U64, "Number of this client, never reused by this emulator.")
    registers_offset: int = wire(U32, "Register page.", at=0x40)
    doorbells_offset: int = wire(U32, "Doorbell words, one u32 a queue.")
    doorbell_count: int = wire(U32, "Doorbell words in the page.")
    spec_offset: int = wire(U32, "Specification block (`SpecBlock`).")
    control_ring_offset: int = wire(U32, "Header of the control ring (host to device).")
    control_ring_entries: int = wire(U32, "Entries of the control ring.")
    reply_ring_offset: int = wire(U32, "Header of the reply ring (device to host).")
    reply_ring_entries: int = wire(U32, "Entries of the reply ring.")
    fault_ring_offset: int = wire(U32, "Header of the fault ring (device to host).")
    fault_ring_entries: int = wire(U32, "Entries of the fault ring.")
    fences_offset: int = wire(U32, "Fence slots of pool 0.")
    fence_count: int = wire(U32, "Fence slots in pool 0.")
    ring_pool_offset: int = wire(U32, "Area in which the device places work rings.")
    ring_pool_size: int = wire(U32, "Size of that area in bytes.")
    payload_offset: int = wire(U32, "Payload area for indirect buffers.")
    payload_size: int = wire(U32, "Size of the payload area in bytes.")


class SpecBlock(Record, size=512):
    """What the device is: read by the driver at start, constant while the device runs."""

    name: bytes = wire(raw(64), "Name, UTF-8, zero padded.")
    uuid: bytes = wire(raw(16), "Identity of the device.")
    vendor_id: int = wire(U32, "PCI vendor.")
    device_id: int = wire(U32, "PCI device.")
    pci_address: int = wire(U32, "Domain << 16 | bus << 8 | device << 3 | function.")
    subdevice_count: int = wire(U32, "Sub-devices (tiles); 0 when the device is whole.")
    vram_size: int = wire(U64, "Device memory in bytes.")
    max_allocation_size: int = wire(U64, "Largest object without relaxed limits, in bytes.")
    va_bits: int = wire(U32, "Width of a GPU virtual address.")
    page_sizes: int = wire(U32, "Leaf sizes supported, a mask of byte counts.", shown=PageSizes)
    timer_hz: int = wire(U64, "Ticks a second of the device clock.")
    extensions: int = wire(U64, "Level Zero extensions offered.", shown=Extension)
    profile: int = wire(U32, "Behaviour profile: 0 `spec`, 1 `intel`.")
    copy_engine_count: int = wire(U32, "Copy engines that run rings side by side.")
    compute_engine_count: int = wire(U32, "Compute engines.")
    max_queues: int = wire(U32, "Work queues a client may have.")
    max_spaces: int = wire(U32, "Address spaces a client may have.")
    max_objects: int = wire(U32, "Memory objects a client may have.")
    max_range_objects: int = wire(U32, "Objects that one exported range may hold; 0: no limit.")
    min_ring_entries: int = wire(U32, "Smallest work ring, in entries.")
    max_ring_entries: int = wire(U32, "Largest work ring, in entries.")
    memory_bus_width: int = wire(U32, "Width of the memory bus in bits.")
    memory_clock_mhz: int = wire(U32, "Memory clock in megahertz.")
    core_clock_mhz: int = wire(U32, "Core clock in megahertz.")
    ip_version: int = wire(U32, "Version of the hardware, as programs compare it.")
    copy_group: int = wire(U32, "1: there is a group of queues that can only copy.")
    cache_size: int = wire(U64, "Cache in bytes, a number that programs read.")
    mappable_handles: int = wire(
        U32, "1: the descriptor in a handle of device memory is the memory's own file."
    )


class FenceSlot(Record, size=128):
    """One fence: waiters compare `value`, 64 bits, signalled when value >= target.

    Hosts add to `host_sleepers` atomically: slots of a pool are slept on by several processes. A
    count that a killed process leaves too high costs a needless wake-up and nothing else.
    """

    value: int = wire(U64, "Seqno reached.")
    status: int = wire(U32, "`Status` of what ended the fence early, else 0.", shown=Status)
    host_sleepers: int = wire(U32, "Host threads asleep on the low half of `value` (futex).")
    device_waits: int = wire(U32, "Rings of all devices that wait for this slot.")
    armed: int = wire(U64, "Counters: value that the last signal asked for will store.", at=0x18)
    start_ticks: int = wire(U64, "Device time when the signalling command began.", at=0x40)
    end_ticks: int = wire(U64, "Device time when the signalling command ended.")


# Byte offsets in a slot, for single loads and stores.
FENCE_VALUE: Final = offset_of(FenceSlot, "value")
FENCE_STATUS: Final = offset_of(FenceSlot, "status")
FENCE_HOST_SLEEPERS: Final = offset_of(FenceSlot, "host_sleepers")
FENCE_DEVICE_WAITS: Final = offset_of(FenceSlot, "device_waits")
FENCE_ARMED: Final = offset_of(FenceSlot, "armed")
FENCE_START_TICKS: Final = offset_of(FenceSlot, "start_ticks")
FENCE_END_TICKS: Final = offset_of(FenceSlot, "end_ticks")
