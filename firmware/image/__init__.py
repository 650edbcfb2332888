"""Firmware images: ELF files that are built and read here, bytes in and bytes out."""

from __future__ import annotations

from firmware.image.build import REFERENCE_LIMITS, REFERENCE_NOTE, build_image, reference_image
from firmware.image.errors import REASONS, ImageError, Refusal
from firmware.image.image import FirmwareImage, Segment
from firmware.image.layout import LIMIT_BOUNDS, MEMORY_BASE, MEMORY_SIZE, Bound, SegmentFlags
from firmware.image.load import load
from firmware.image.symbolise import Symbol, SymbolKind, SymbolTable

__all__ = [
    "LIMIT_BOUNDS",
    "MEMORY_BASE",
    "MEMORY_SIZE",
    "REASONS",
    "REFERENCE_LIMITS",
    "REFERENCE_NOTE",
    "Bound",
    "FirmwareImage",
    "ImageError",
    "Refusal",
    "Segment",
    "SegmentFlags",
    "Symbol",
    "SymbolKind",
    "SymbolTable",
    "build_image",
    "load",
    "reference_image",
]
