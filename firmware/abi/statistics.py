"""Records of GET_STATISTICS and GET_PROPERTIES."""

from firmware.abi._record import Record, wire
from firmware.abi._wire import U32, U64, raw
from firmware.abi.control import ObjectFlags, ObjectKind, QueueKind
from firmware.abi.registers import DeviceStatus
from firmware.abi.rings import RingState


class DeviceStatistics(Record, size=512):
    """Counters of one device since boot, and what is in use now."""

    name: bytes = wire(raw(64), "Name of the device.")
    status: DeviceStatus = wire(U32, "Register STATUS.", word=DeviceStatus)
    device_index: int = wire(U32, "Its number.")
    reset_count: int = wire(U32, "Resets.")
    client_count: int = wire(U32, "Clients attached, observers not counted.")
    uptime_ticks: int = wire(U64, "Device time in nanoseconds.")
    vram_size: int = wire(U64, "Device memory in bytes.")
    free_bytes: int = wire(U64, "Free device memory.")
    table_bytes: int = wire(U64, "Device memory that holds page tables.")
    retired_bytes: int = wire(U64, "Device memory that was retired.")
    object_count: int = wire(U64, "Memory objects.")
    space_count: int = wire(U64, "Address spaces.")
    queue_count: int = wire(U64, "Work queues.")
    export_count: int = wire(U64, "Live exports.")
    import_count: int = wire(U64, "Open imports.")
    mapped_pages: int = wire(U64, "4 KiB pages mapped in all spaces.")
    bytes_read: int = wire(U64, "Bytes that engines read from device memory.")
    bytes_written: int = wire(U64, "Bytes that engines wrote to device memory.")
    bus_bytes_read: int = wire(U64, "Bytes that engines read from system memory.")
    bus_bytes_written: int = wire(U64, "Bytes that engines wrote to system memory.")
    scrubbed_bytes: int = wire(U64, "Bytes zeroed before frames changed owner.")
    ecc_corrected: int = wire(U64, "Correctable memory errors.")
    ecc_uncorrected: int = wire(U64, "Uncorrectable memory errors.")
    tlb_hits: int = wire(U64, "Translations found in TLBs.")
    tlb_misses: int = wire(U64, "Translations that needed a walk.")
    tlb_invalidations: int = wire(U64, "Invalidate operations.")
    control_commands: int = wire(U64, "Control commands answered, not those of observers.")
    work_commands: int = wire(U64, "Work commands completed.")
    faults: int = wire(U64, "Fault records written.")
    doorbells: int = wire(U64, "Doorbell words of clients seen to change, not of observers.")
    interrupts: int = wire(U64, "Interrupts raised at clients, not at observers.")


class ClientStatistics(Record, size=192):
    """One client of a device."""

    client_id: int = wire(U64, "Its number.")
    pid: int = wire(U32, "Its process.")
    name: bytes = wire(raw(32), "Name it gave itself.", at=0x10)
    object_count: int = wire(U64, "Memory objects.")
    object_bytes: int = wire(U64, "Their size.")
    vram_bytes: int = wire(U64, "Device memory charged to it.")
    space_count: int = wire(U32, "Address spaces.")
    queue_count: int = wire(U32, "Work queues.")
    export_count: int = wire(U32, "Live exports.")
    import_count: int = wire(U32, "Open imports.")
    mapped_pages: int = wire(U64, "4 KiB pages mapped.")
    control_commands: int = wire(U64, "Control commands answered.")
    work_commands: int = wire(U64, "Work commands completed.")
    faults: int = wire(U64, "Fault records written.")


class QueueStatistics(Record, size=128):
    """One work queue."""

    client_id: int = wire(U64, "Client that owns it.")
    queue_id: int = wire(U32, "Its number.")
    vmid: int = wire(U32, "Address space.")
    kind: QueueKind = wire(U32, "Engines that serve it.", kinds=QueueKind)
    state: RingState = wire(U32, "State of the ring.", kinds=RingState)
    head: int = wire(U32, "Consumer's index.")
    tail: int = wire(U32, "Producer's index as last read.")
    entry_count: int = wire(U32, "Size of the ring.")
    completed: int = wire(U64, "Seqno of the last command completed.", at=0x28)
    bytes_copied: int = wire(U64, "Bytes moved by its commands.")
    faults: int = wire(U64, "Fault records written.")
    waits: int = wire(U64, "Fence waits that had to hold the ring.")


class SpaceStatistics(Record, size=128):
    """One address space."""

    client_id: int = wire(U64, "Client that owns it.")
    vmid: int = wire(U32, "Its number.")
    root_address: int = wire(U64, "VRAM address of its root table.", at=0x10)
    mapped_pages: int = wire(U64, "4 KiB pages mapped.")
    table_count: int = wire(U64, "Table pages.")
    tlb_hits: int = wire(U64, "Translations found in its TLB.")
    tlb_misses: int = wire(U64, "Translations that needed a walk.")
    tlb_invalidations: int = wire(U64, "Invalidate operations.")
    tlb_entries: int = wire(U64, "Translations held now.")


class ObjectProperties(Record, size=64):
    """One memory object."""

    object_id: int = wire(U64, "Its number.")
    kind: ObjectKind = wire(U32, "What is behind it.", kinds=ObjectKind)
    flags: ObjectFlags = wire(U32, "How it was made.", flags=ObjectFlags)
    size_bytes: int = wire(U64, "Size.")
    page_size: int = wire(U64, "Page size that its memory allows.")
    mapping_count: int = wire(U64, "Mappings of it, in any space of any client.")
    export_count: int = wire(U64, "Exports that hold it: live ones, and put ones still open.")
    bus_address: int = wire(U64, "First bus address, else zero.")


class ExportProperties(Record, size=64):
    """One export, as its importer sees it."""

    import_id: int = wire(U64, "The import that was asked about.")
    exporter_client: int = wire(U64, "Client that exported.")
    size_bytes: int = wire(U64, "Size of the window.")
    window_offset: int = wire(U64, "Offset of the window in its first page.")
    object_count: int = wire(U32, "Objects along it.")
    open_count: int = wire(U32, "Imports open now.")
    exporter_pid: int = wire(U32, "Process that exported.")
    live: int = wire(U32, "1 while it can be opened, 0 after put or the exporter's death.")
