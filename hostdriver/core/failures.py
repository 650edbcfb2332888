"""The errors that a call raises by itself, one function a code, so that a check reads as a line."""

from __future__ import annotations

from hostdriver.core.results import ZeError, ZeResult


def address_not_found(description: str) -> ZeError:
    """Return the error for an address that names no memory."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, description)


def device_lost(description: str) -> ZeError:
    """Return the error for work or a session that a fault or a reset ended."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, description)


def in_use(description: str) -> ZeError:
    """Return the error for an object that something still needs."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, description)


def invalid_argument(description: str) -> ZeError:
    """Return the error for a value that has no meaning here."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_ARGUMENT, description)


def invalid_enumeration(description: str) -> ZeError:
    """Return the error for bits or values that the specification does not name."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_ENUMERATION, description)


def invalid_size(description: str) -> ZeError:
    """Return the error for a size that has no meaning."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_SIZE, description)


def invalid_command_list_type(description: str) -> ZeError:
    """Return the error for a command list that does not go with the queue."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, description)


def invalid_synchronization_object(description: str) -> ZeError:
    """Return the error for an event or fence that cannot be used here."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, description)


def null_handle(name: str) -> ZeError:
    """Return the error for a handle that is null."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, f"{name} is null")


def not_ready(description: str) -> ZeError:
    """Return the answer to a wait whose time was up before it was over."""
    return ZeError(ZeResult.ZE_RESULT_NOT_READY, description)


def null_pointer(name: str) -> ZeError:
    """Return the error for a pointer that is null."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_INVALID_NULL_POINTER, f"{name} is null")


def out_of_host_memory(description: str) -> ZeError:
    """Return the error for memory, address space, mappings or descriptors that ran out."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, description)


def overlapping_regions(description: str) -> ZeError:
    """Return the error for two regions that share bytes."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_OVERLAPPING_REGIONS, description)


def unknown(description: str) -> ZeError:
    """Return the error for what neither application nor resources can be blamed for."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_UNKNOWN, description)


def unsupported_alignment(description: str) -> ZeError:
    """Return the error for an address or offset that is not aligned."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, description)


def unsupported_enumeration(description: str) -> ZeError:
    """Return the error for a named value that this driver does not offer."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, description)


def unsupported_feature(description: str) -> ZeError:
    """Return the error for a part of the specification that is switched off or not there."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, description)


def unsupported_size(description: str) -> ZeError:
    """Return the error for a size that is zero, no page multiple or too large."""
    return ZeError(ZeResult.ZE_RESULT_ERROR_UNSUPPORTED_SIZE, description)
