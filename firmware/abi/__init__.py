"""What the bytes mean: every record, word and number that device and driver share."""

from firmware.abi._family import Decoder
from firmware.abi._malformed import Malformed, Reason
from firmware.abi._record import Buffer, Record, field_of, offset_of
from firmware.abi._wire import Field, Scalar
from firmware.abi._word import Bits, Word

__all__ = [
    "Bits",
    "Buffer",
    "Decoder",
    "Field",
    "Malformed",
    "Reason",
    "Record",
    "Scalar",
    "Word",
    "field_of",
    "offset_of",
]
