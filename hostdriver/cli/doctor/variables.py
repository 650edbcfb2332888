"""Environment variables that would hide the driver, or make it refuse."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from hostdriver.cli.doctor.finding import Finding, fine, problem, warning
from hostdriver.core.results import ZeError
from hostdriver.core.visibility import (
    MASK_VARIABLE,
    Hierarchy,
    read_visibility,
)
from hostdriver.runtime.discovery import DISABLED_VARIABLE, disabled_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ON: Final = "1"
_SWITCHES: Final = {
    "ZE_ENABLE_NULL_DRIVER": "the loader then offers a driver that does nothing, and no other",
    "ZE_ENABLE_VALIDATION_LAYER": "",
    "ZEL_ENABLE_LOADER_LOGGING": "",
    "ZE_ENABLE_TRACING_LAYER": "",
}


def check_variables(
    environment: Mapping[str, str] = os.environ, device_count: int = 1
) -> Iterator[Finding]:
    """Yield what is to be said of the variables; so many devices there would be."""
    for name, harm in _SWITCHES.items():
        if environment.get(name) != _ON:
            continue
        if harm:
            yield problem("environment", f"{name}=1: {harm}", f"unset {name}")
        else:
            yield fine("environment", f"{name}=1: the loader's, which the driver does not mind")
    try:
        disabled_in(environment.get(DISABLED_VARIABLE, ""))
    except ZeError as error:
        yield problem("environment", error.description, f"unset {DISABLED_VARIABLE}")
    yield from _visibility(environment, device_count)


def _visibility(environment: Mapping[str, str], device_count: int) -> Iterator[Finding]:
    try:
        visibility = read_visibility(environment)
    except ZeError as error:
        yield problem("environment", error.description, "correct it, or unset it")
        return
    if visibility.mask is None:
        return
    text = f"{MASK_VARIABLE}={environment[MASK_VARIABLE]}"
    # With FLAT and COMBINED numbers count sub-devices, of which there may be more.
    is_plain = visibility.hierarchy is Hierarchy.COMPOSITE
    if is_plain and all(entry.number >= device_count for entry in visibility.mask):
        devices = f"{device_count} device{'s' if device_count > 1 else ''}"
        yield problem(
            "environment",
            f"{text} leaves none of {devices}",
            f"unset {MASK_VARIABLE}, or run with more devices: emuzero run --devices N",
        )
    else:
        yield warning("environment", f"{text} hides devices", "none, if that is meant")
