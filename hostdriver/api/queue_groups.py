"""Groups of queues: which engines a queue's ordinal means (zeDeviceGetCommandQueueGroupProperties).

A device that computes has a first group that computes and copies. A second one, of the copy
engines, can only copy; the specification of the device may leave it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from firmware.abi.control import QueueKind
from hostdriver.api.device_structures import CommandQueueGroupProperties
from hostdriver.core.failures import invalid_argument
from hostdriver.core.query_enums import CommandQueueGroupPropertyFlags

if TYPE_CHECKING:
    from firmware.abi.segment import SpecBlock

LARGEST_PATTERN: Final = 1024
"""Bytes of the largest pattern that memory is filled with."""
_COPY: Final = CommandQueueGroupPropertyFlags.COPY
_COMPUTE_AND_COPY: Final = CommandQueueGroupPropertyFlags.COMPUTE | _COPY


class QueueGroup(NamedTuple):
    """One group."""

    kind: QueueKind
    """Engines that serve its queues."""
    properties: CommandQueueGroupProperties


def queue_groups(spec: SpecBlock) -> tuple[QueueGroup, ...]:
    """Return the groups of a device; their places are the ordinals."""
    groups: list[QueueGroup] = []
    if spec.compute_engine_count:
        groups.append(_group(QueueKind.COMPUTE, _COMPUTE_AND_COPY, spec.compute_engine_count))
    if spec.copy_group or not groups:
        groups.append(_group(QueueKind.COPY, _COPY, spec.copy_engine_count))
    return tuple(groups)


def check_queue(spec: SpecBlock, ordinal: int, index: int) -> QueueGroup:
    """Return the group of a queue that a descriptor names.

    Raises:
        ZeError: there is no such group, or no such queue in it.
    """
    groups = queue_groups(spec)
    if not 0 <= ordinal < len(groups):
        raise invalid_argument(f"desc.ordinal is {ordinal}, the device has {len(groups)} groups")
    group = groups[ordinal]
    count = group.properties.num_queues
    if not 0 <= index < count:
        raise invalid_argument(f"desc.index is {index}, group {ordinal} has {count} queues")
    return group


def _group(kind: QueueKind, flags: CommandQueueGroupPropertyFlags, count: int) -> QueueGroup:
    properties = CommandQueueGroupProperties(
        flags=flags, max_memory_fill_pattern_size=LARGEST_PATTERN, num_queues=count
    )
    return QueueGroup(kind, properties)
