"""Specification files: TOML whose keys are the fields of `DeviceSpec`.

Sizes are numbers of bytes or texts such as "8 GiB"; page sizes are a list of sizes, extensions a
list of names.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypeVar, cast

from device.core._spec_checks import Latencies, MappableHandles, Profile, SpecError
from firmware.abi.extensions import EXTENSIONS_BY_NAME, Extension
from firmware.abi.ids import PageSizes
from firmware.abi.sizes import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_EXPECTED_SIZE: Final = 'bytes or a text such as "64 KiB"'
NamedT = TypeVar("NamedT", Profile, MappableHandles)


def read_size(key: str, value: object) -> int:
    """Return a size in bytes, from a number or a text such as "64 KiB" (see `parse_size`).

    Raises:
        SpecError: neither.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise SpecError(key, _EXPECTED_SIZE, repr(value))
    try:
        return parse_size(value)
    except ValueError as error:
        raise SpecError(key, _EXPECTED_SIZE, str(error)) from None


def _parse_page_sizes(key: str, value: object) -> PageSizes:
    known = {int(size) for size in PageSizes}
    found = PageSizes(0)
    for item in _items(key, value):
        size = read_size(key, item)
        if size not in known:
            raise SpecError(key, 'sizes among "4 KiB", "64 KiB", "2 MiB", "1 GiB"', repr(item))
        found |= PageSizes(size)
    return found


def _parse_extensions(key: str, value: object) -> Extension:
    found = Extension(0)
    for item in _items(key, value):
        if not isinstance(item, str) or item not in EXTENSIONS_BY_NAME:
            raise SpecError(key, "names of Level Zero extensions", repr(item))
        found |= EXTENSIONS_BY_NAME[item]
    return found


def _parse_profile(key: str, value: object) -> Profile:
    return _parse_name(Profile, key, value)


def _parse_mappable_handles(key: str, value: object) -> MappableHandles:
    return _parse_name(MappableHandles, key, value)


def _parse_name(kind: type[NamedT], key: str, value: object) -> NamedT:
    known = {member.name.lower(): member for member in kind}
    if not isinstance(value, str) or value not in known:
        raise SpecError(key, " or ".join(known), repr(value))
    return known[value]


def _parse_latencies(key: str, value: object) -> Latencies:
    if not isinstance(value, dict):
        raise SpecError(key, "a table", repr(value))
    table = cast("dict[str, int]", value)
    _check_keys(table, [item.name for item in fields(Latencies)], f"{key}.")
    return Latencies(**table)


def _items(key: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise SpecError(key, "a list", repr(value))
    return cast("list[object]", value)


_PARSERS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "vram_size": read_size,
    "max_allocation_size": read_size,
    "interleave_bytes": read_size,
    "chunk_bytes": read_size,
    "cache_size": read_size,
    "page_sizes": _parse_page_sizes,
    "extensions": _parse_extensions,
    "profile": _parse_profile,
    "mappable_handles": _parse_mappable_handles,
    "latencies": _parse_latencies,
}


def parse_values(values: dict[str, object], known: Iterable[str]) -> None:
    """Turn what a TOML document holds into arguments of `DeviceSpec`, in place.

    Raises:
        SpecError: a key that is not `known`, or a value that cannot be read.
    """
    _check_keys(values, known, "")
    for key, value in values.items():
        if key in _PARSERS:
            values[key] = _PARSERS[key](key, value)


def _check_keys(table: Mapping[str, object], known: Iterable[str], prefix: str) -> None:
    names = sorted(known)
    for key in table:
        if key not in names:
            raise SpecError(f"{prefix}{key}", f"one of {', '.join(names)}", "an unknown key")
