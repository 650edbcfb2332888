"""Which enumerations of the facts are written where, under which names."""

from __future__ import annotations

from typing import Final, NamedTuple


class Enumeration(NamedTuple):
    """One enumeration of the facts and how it is written down."""

    source: str
    """Name in the facts."""
    name: str
    """Name in Python."""
    doc: str
    cut: str | None = None
    """What is cut off the members' names; None: the enumeration's own name."""

    @property
    def is_flags(self) -> bool:
        """Whether the members are bits of a word."""
        return self.source.endswith("_flag_t")

    @property
    def prefix(self) -> str:
        """What is cut off the members' names."""
        return self.source.removesuffix("t").upper() if self.cut is None else self.cut


class Module(NamedTuple):
    """One generated module."""

    path: str
    title: str
    enumerations: tuple[Enumeration, ...]
    again: tuple[str, str] | None = None
    """Module and name that it offers besides."""


E = Enumeration

RESULT: Final = Module(
    "hostdriver/core/ze_result.py",
    "Result codes of Level Zero",
    (E("ze_result_t", "ZeResult", "Outcome of a call, by the names of the specification.", ""),),
)
STRUCTURES: Final = Module(
    "hostdriver/core/structure_types.py",
    "Tags of Level Zero's structures",
    (E("ze_structure_type_t", "StructureType", "Tag of a structure in a chain."),),
)
MEMORY: Final = Module(
    "hostdriver/core/enums.py",
    "Enumerations of Level Zero about contexts and memory",
    (
        E("ze_context_flag_t", "ContextFlags", "Flags of `ContextDesc`."),
        E(
            "ze_device_mem_alloc_flag_t",
            "DeviceMemAllocFlags",
            "Flags of `DeviceMemAllocDesc`: wishes, which change nothing here.",
        ),
        E("ze_device_property_flag_t", "DevicePropertyFlags", "Flags of `DeviceProperties`."),
        E("ze_device_type_t", "DeviceType", "What a device is."),
        E(
            "ze_driver_memory_free_policy_ext_flag_t",
            "DriverMemoryFreePolicyExtFlags",
            "When freed memory is given back.",
        ),
        E(
            "ze_external_memory_type_flag_t",
            "ExternalMemoryTypeFlags",
            "Kinds of handle for memory that other programs made.",
        ),
        E("ze_host_mem_alloc_flag_t", "HostMemAllocFlags", "Flags of `HostMemAllocDesc`."),
        E("ze_ipc_mem_handle_type_flag_t", "IpcMemHandleTypeFlags", "Kinds of IPC handle."),
        E("ze_ipc_memory_flag_t", "IpcMemoryFlags", "How opened memory is cached."),
        E(
            "ze_memory_access_attribute_t",
            "MemoryAccessAttribute",
            "What a device may do with a virtual range.",
        ),
        E("ze_memory_advice_t", "MemoryAdvice", "How memory is going to be used."),
        E(
            "ze_memory_atomic_attr_exp_flag_t",
            "MemoryAtomicAttrExpFlags",
            "Which atomic operations a shared allocation is to support.",
        ),
        E(
            "ze_memory_compression_hints_ext_flag_t",
            "MemoryCompressionHintsExtFlags",
            "Whether memory may be compressed.",
        ),
        E("ze_memory_type_t", "MemoryType", "What kind of memory a pointer names."),
        E("ze_physical_mem_flag_t", "PhysicalMemFlags", "Where physical memory is made."),
        E(
            "ze_relaxed_allocation_limits_exp_flag_t",
            "RelaxedAllocationLimitsExpFlags",
            "Limits that an allocation may pass.",
        ),
        E(
            "ze_relaxed_allocation_limits_ext_flag_t",
            "RelaxedAllocationLimitsExtFlags",
            "Limits that an allocation may pass.",
        ),
    ),
    again=("hostdriver.core.structure_types", "StructureType"),
)
QUERIES: Final = Module(
    "hostdriver/core/query_enums.py",
    "Enumerations of Level Zero about drivers and devices",
    (
        E("ze_api_version_t", "ApiVersion", "Version of the interface.", "ZE_API_"),
        E("ze_bandwidth_unit_t", "BandwidthUnit", "Unit of a bandwidth."),
        E(
            "ze_command_queue_group_property_flag_t",
            "CommandQueueGroupPropertyFlags",
            "What queues of a group can do.",
        ),
        E(
            "ze_device_cache_property_flag_t",
            "DeviceCachePropertyFlags",
            "Whether a program may divide a cache.",
        ),
        E(
            "ze_device_event_properties_flag_t",
            "DeviceEventPropertiesFlags",
            "What counter-based events of a device can do.",
        ),
        E("ze_device_fp_flag_t", "DeviceFpFlags", "What a kind of floating-point number can do."),
        E("ze_device_memory_ext_type_t", "DeviceMemoryExtType", "How memory is built."),
        E(
            "ze_device_memory_property_flag_t",
            "DeviceMemoryPropertyFlags",
            "Flags of `DeviceMemoryProperties`.",
        ),
        E("ze_device_module_flag_t", "DeviceModuleFlags", "What kernels may use."),
        E(
            "ze_device_p2p_property_flag_t",
            "DeviceP2pPropertyFlags",
            "What a device may do to a peer.",
        ),
        E(
            "ze_device_readonly_memory_capability_t",
            "DeviceReadonlyMemoryCapability",
            "What a device does with memory that was mapped to be read only.",
        ),
        E(
            "ze_driver_ddi_handle_ext_flag_t",
            "DriverDdiHandleExtFlags",
            "Whether handles begin with the tables of their functions.",
        ),
        E("ze_init_driver_type_flag_t", "InitDriverTypeFlags", "Which drivers are wanted."),
        E("ze_init_flag_t", "InitFlags", "Which drivers are wanted (zeInit)."),
        E("ze_ipc_property_flag_t", "IpcPropertyFlags", "What may be shared between processes."),
        E("ze_latency_unit_t", "LatencyUnit", "Unit of a latency."),
        E("ze_memory_access_cap_flag_t", "MemoryAccessCapFlags", "How memory may be accessed."),
    ),
)
WORK: Final = Module(
    "hostdriver/core/work_enums.py",
    "Enumerations of Level Zero about queues, lists, events and fences",
    (
        E("ze_command_list_flag_t", "CommandListFlags", "Flags of `CommandListDesc`."),
        E("ze_command_queue_flag_t", "CommandQueueFlags", "Flags of `CommandQueueDesc`."),
        E("ze_command_queue_mode_t", "CommandQueueMode", "Whether a queue waits for its work."),
        E("ze_command_queue_priority_t", "CommandQueuePriority", "Which queue goes first."),
        E("ze_event_counter_based_flag_t", "EventCounterBasedFlags", "Uses of a counting event."),
        E(
            "ze_event_pool_counter_based_exp_flag_t",
            "EventPoolCounterBasedExpFlags",
            "Lists for which the events of a pool count.",
        ),
        E("ze_event_pool_flag_t", "EventPoolFlags", "Flags of `EventPoolDesc`."),
        E(
            "ze_event_query_kernel_timestamps_ext_flag_t",
            "EventQueryKernelTimestampsExtFlags",
            "Which times of a command can be asked for.",
        ),
        E("ze_event_scope_flag_t", "EventScopeFlags", "Whose caches an event flushes."),
        E("ze_event_sync_mode_flag_t", "EventSyncModeFlags", "How an event is waited for."),
        E("ze_fence_flag_t", "FenceFlags", "Flags of `FenceDesc`."),
    ),
)
SYSMAN: Final = Module(
    "hostdriver/core/sysman_enums.py",
    "Enumerations of Level Zero about managing devices",
    (
        E("zes_device_property_flag_t", "SysmanDevicePropertyFlags", "What a device is like."),
        E("zes_device_type_t", "SysmanDeviceType", "What a device is."),
        E("zes_mem_health_t", "MemHealth", "How many faults a memory has had."),
        E("zes_mem_loc_t", "MemLoc", "Where a memory is."),
        E("zes_mem_type_t", "MemType", "How a memory is built."),
    ),
)
MODULES: Final = (RESULT, STRUCTURES, MEMORY, QUERIES, WORK, SYSMAN)
