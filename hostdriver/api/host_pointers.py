"""The application's memory made known to the driver beforehand, without becoming an allocation.

An extension of Intel's driver: applications name memory that they are going to copy from and to.
Devices here reach such memory anyway; what remains is the driver's word about which there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firmware.abi.ids import VA_LIMIT
from hostdriver.core.failures import in_use, invalid_argument, invalid_size
from hostdriver.core.questions import FindMissing
from hostdriver.core.results import ZeError, ZeResult

if TYPE_CHECKING:
    from hostdriver.core.intervals import Interval
    from hostdriver.core.state import DriverState


async def import_pointer(state: DriverState, start: int, size: int) -> None:
    """Make memory known (zexDriverImportExternalPointer); a part of known memory is known already.

    Raises:
        ZeError: null, or no bytes; beyond the address space, or memory that is not there; it
            overlaps what is known in part: begins in it, ends in it, or goes from one to another.
    """
    end = start + size
    if start <= 0 or size <= 0 or end > VA_LIMIT:
        raise invalid_argument(f"{size:#x} bytes at {start:#x} are no memory of an application")
    first, last = state.host_pointers.at(start), state.host_pointers.at(end - 1)
    if first is not None and first == last:
        return
    for other in state.host_pointers.overlapping(start, end):
        raise _overlap(start, size, other, begins=first is not None, ends=last is not None)
    missing = await FindMissing(start, size)
    if missing is not None:
        raise invalid_argument(f"the memory at {start:#x} is not there from {missing:#x} on")
    state.host_pointers.insert(start, end, None)


def release_pointer(state: DriverState, pointer: int) -> None:
    """Forget the known memory that holds a pointer (zexDriverReleaseImportedPointer).

    Raises:
        ZeError: there is none.
    """
    state.host_pointers.remove(find_base(state, pointer))


def find_base(state: DriverState, pointer: int) -> int:
    """Return where the known memory that holds a pointer begins.

    Raises:
        ZeError: there is none.
    """
    found = state.host_pointers.at(pointer)
    if found is None:
        raise invalid_argument(f"{pointer:#x} is in no memory that was imported")
    return found.start


def _overlap(start: int, size: int, other: Interval[None], *, begins: bool, ends: bool) -> ZeError:
    text = f"{size:#x} bytes at {start:#x} overlap what was imported at {other.start:#x}"
    if begins and ends:
        return ZeError(ZeResult.ZE_RESULT_ERROR_OVERLAPPING_REGIONS, text)
    return in_use(text) if begins else invalid_size(text)
