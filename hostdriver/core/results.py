"""How a call fails: one exception with the specification's code and a sentence of cause.

ZeError       what the application sees: a `ZeResult` and one plain sentence
Refusal       what the device answered to one command; the layer above knows what it means there

`failed` turns a refusal into the error that it is unless a call says otherwise.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from firmware.abi.status import Status
from hostdriver.core.ze_result import ZeResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from firmware.abi.control import ControlOpcode


@final
class ZeError(Exception):
    """A call that failed and left everything as it was before."""

    def __init__(self, result: ZeResult, description: str) -> None:
        super().__init__(f"{result.name} ({result:#x}): {description}")
        self.result = result
        """Code of the specification."""
        self.description = description
        """One sentence: which argument, which address, expected and found."""


@final
class Refusal(Exception):
    """The device refused a command and changed nothing."""

    def __init__(self, opcode: ControlOpcode, status: Status, detail: int, expected: int) -> None:
        super().__init__(f"{opcode.name}: {status.name}, {_REASONS[status].format(detail=detail)}")
        self.opcode = opcode
        self.status = status
        self.detail = detail
        """First bad address, limit or offset; see `Status`."""
        self.expected = expected
        """What the device expected there, where that is a number."""

    @property
    def reason(self) -> str:
        """The cause in words, without a full stop."""
        return _REASONS[self.status].format(detail=self.detail)


def failed(
    refusal: Refusal, doing: str, meanings: Mapping[Status, ZeResult] | None = None
) -> ZeError:
    """Return the error that a refusal is to the application.

    Args:
        refusal: what the device said.
        doing: what the call was about to do, as the beginning of a sentence.
        meanings: codes of this call that differ from the usual ones.
    """
    result = (meanings or {}).get(refusal.status, RESULT_OF_STATUS[refusal.status])
    return ZeError(result, f"{doing}: {refusal.reason}")


RESULT_OF_STATUS: Final = MappingProxyType(
    {
        Status.OK: ZeResult.ZE_RESULT_SUCCESS,
        # The driver wrote these bytes, so that the application cannot be at fault.
        Status.MALFORMED: ZeResult.ZE_RESULT_ERROR_UNKNOWN,
        Status.UNKNOWN_OPCODE: ZeResult.ZE_RESULT_ERROR_UNKNOWN,
        Status.BAD_PAYLOAD: ZeResult.ZE_RESULT_ERROR_UNKNOWN,
        Status.BAD_SPACE: ZeResult.ZE_RESULT_ERROR_UNKNOWN,
        Status.BAD_QUEUE: ZeResult.ZE_RESULT_ERROR_UNKNOWN,
        Status.BAD_OBJECT: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.BAD_RANGE: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.BAD_ALIGNMENT: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
        Status.BAD_RIGHTS: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.OVERLAP: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.NOT_MAPPED: ZeResult.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
        Status.NOT_EXPORTABLE: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.OUT_OF_DEVICE_MEMORY: ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
        Status.OUT_OF_HOST_MEMORY: ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY,
        Status.LIMIT: ZeResult.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
        Status.IN_USE: ZeResult.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
        Status.BAD_TOKEN: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.BAD_DESCRIPTOR: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.CLIENT_MEMORY: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.PERMISSION: ZeResult.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS,
        Status.UNSUPPORTED: ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
        Status.DEVICE_LOST: ZeResult.ZE_RESULT_ERROR_DEVICE_LOST,
        Status.FAULT: ZeResult.ZE_RESULT_ERROR_DEVICE_LOST,
        Status.BAD_TAIL: ZeResult.ZE_RESULT_ERROR_DEVICE_LOST,
        Status.MISMATCH: ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT,
        Status.INTERNAL: ZeResult.ZE_RESULT_ERROR_DEVICE_LOST,
    }
)
"""What each status is to the application, where a call does not say otherwise."""

_REASONS: Final = MappingProxyType(
    {
        Status.OK: "nothing is wrong",
        Status.MALFORMED: "the driver sent a command that is malformed at byte {detail:#x}",
        Status.UNKNOWN_OPCODE: "the device does not know this command",
        Status.BAD_SPACE: "the device knows no such address space",
        Status.BAD_OBJECT: "the device knows no such memory object",
        Status.BAD_QUEUE: "the device knows no such queue",
        Status.BAD_RANGE: "the range is empty, wraps or leaves its object at {detail:#x}",
        Status.BAD_ALIGNMENT: "{detail:#x} is not a multiple of the page size",
        Status.BAD_RIGHTS: "the memory does not have these rights",
        Status.BAD_PAYLOAD: "the driver's payload lies outside the payload area",
        Status.OVERLAP: "the range is mapped already at {detail:#x}",
        Status.NOT_MAPPED: "nothing is mapped at {detail:#x}",
        Status.NOT_EXPORTABLE: "the memory at {detail:#x} cannot be exported",
        Status.OUT_OF_DEVICE_MEMORY: "the device has only {detail:#x} bytes left",
        Status.OUT_OF_HOST_MEMORY: "the emulator has no host memory, descriptor or mapping left",
        Status.LIMIT: "the device allows no more than {detail}",
        Status.IN_USE: "it is still in use",
        Status.BAD_TOKEN: "no live export has this handle: it was put, or its process ended",
        Status.BAD_DESCRIPTOR: "the descriptor is no sealed memory file of a sufficient size",
        Status.CLIENT_MEMORY: "the application's memory at {detail:#x} cannot be reached as asked",
        Status.PERMISSION: "the system denies the device access to the application's memory",
        Status.UNSUPPORTED: "the device does not support it",
        Status.DEVICE_LOST: "the device was reset or lost",
        Status.FAULT: "a command faulted",
        Status.BAD_TAIL: "the ring's tail is more than the ring's size ahead of its head",
        Status.MISMATCH: "the export has another size or offset, {detail:#x}",
        Status.INTERNAL: "the device ended this session after an internal error",
    }
)

__all__ = ["RESULT_OF_STATUS", "Refusal", "ZeError", "ZeResult", "failed"]
