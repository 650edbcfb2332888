"""Status codes of replies, rings and fence slots."""

from enum import IntEnum


class Status(IntEnum):
    """Outcome of a command. Every refusal leaves the device as it was before the command."""

    OK = 0
    """The command was carried out."""
    MALFORMED = 1
    """The bytes do not decode; `detail` is the offset of the field."""
    UNKNOWN_OPCODE = 2
    """No operation has this opcode; `detail` is the opcode."""
    BAD_SPACE = 3
    """No such address space."""
    BAD_OBJECT = 4
    """No such object of this client."""
    BAD_QUEUE = 5
    """No such queue."""
    BAD_RANGE = 6
    """A range that is empty, wraps, leaves its object or exceeds the address space."""
    BAD_ALIGNMENT = 7
    """An address, offset or size that is not a multiple of the page size."""
    BAD_RIGHTS = 8
    """Rights that the object does not have."""
    BAD_PAYLOAD = 9
    """The payload lies outside the segment's payload area."""
    OVERLAP = 10
    """Part of the range is mapped already; `detail` is where."""
    NOT_MAPPED = 11
    """Part of the range is not mapped; `detail` is the first hole."""
    NOT_EXPORTABLE = 12
    """Part of the range is mapped to memory that this export cannot carry; `detail` is where."""
    OUT_OF_DEVICE_MEMORY = 13
    """Not enough free device memory; `detail` is what is free, in bytes."""
    OUT_OF_HOST_MEMORY = 14
    """The host gives the device no more memory."""
    LIMIT = 15
    """A limit of the device specification; `detail` is the limit."""
    IN_USE = 16
    """Something still uses it: mappings, queues or another request."""
    BAD_TOKEN = 17
    """No live export has this token."""
    BAD_DESCRIPTOR = 18
    """No descriptor came with the request, or it is not sealed, too small or not memory."""
    CLIENT_MEMORY = 19
    """The client's own pages cannot be reached as asked; `detail` is the first bad address."""
    PERMISSION = 20
    """The system denies the device access to the client's memory."""
    UNSUPPORTED = 21
    """This device does not offer it."""
    DEVICE_LOST = 22
    """The device was reset or lost after this client attached."""
    FAULT = 23
    """A work command faulted; the fault record says how."""
    BAD_TAIL = 24
    """A tail further ahead of head than the ring has entries."""
    MISMATCH = 25
    """The request's size or offset differs from the export's; `detail` is the export's."""
    INTERNAL = 26
    """A bug of the device while it served this client; its session ends."""
