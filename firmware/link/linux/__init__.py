"""System calls that Python lacks or makes dear: one typed function each, no policy."""

from firmware.link.linux._libc import address_of
from firmware.link.linux.areas import Area, areas_of, maps_path, query_areas, read_areas
from firmware.link.linux.fence import ORDERS_STORES, fence
from firmware.link.linux.futex import EVERYBODY, futex_add, futex_wait, futex_wake
from firmware.link.linux.memory import (
    SEALS,
    Mapping,
    create_memory,
    map_anonymous,
    map_apart,
    map_at,
    map_file,
    protect,
    reserve,
    reserve_again,
    seal,
    seals_of,
    unmap,
    view_at,
)
from firmware.link.linux.process import (
    Credentials,
    has_ended,
    has_hung_up,
    peer_credentials,
    peer_pidfd,
    permit_tracing,
    read_process,
    take_descriptor,
    write_process,
)
from firmware.link.linux.timer import create_timer, set_timer

__all__ = [
    "EVERYBODY",
    "ORDERS_STORES",
    "SEALS",
    "Area",
    "Credentials",
    "Mapping",
    "address_of",
    "areas_of",
    "create_memory",
    "create_timer",
    "fence",
    "futex_add",
    "futex_wait",
    "futex_wake",
    "has_ended",
    "has_hung_up",
    "map_anonymous",
    "map_apart",
    "map_at",
    "map_file",
    "maps_path",
    "peer_credentials",
    "peer_pidfd",
    "permit_tracing",
    "protect",
    "query_areas",
    "read_areas",
    "read_process",
    "reserve",
    "reserve_again",
    "seal",
    "seals_of",
    "set_timer",
    "take_descriptor",
    "unmap",
    "view_at",
    "write_process",
]
