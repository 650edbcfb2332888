"""Extents: the lists that control commands take from the payload area, or leave there."""

from firmware.abi._record import Record, wire
from firmware.abi._wire import U16, U32, U64
from firmware.abi.ids import Rights
from firmware.abi.paging import Aperture, Pte


class MapExtent(Record, size=40):
    """One extent of MAP_LIST."""

    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")
    object_id: int = wire(U64, "Object; 0 maps null pages.")
    object_offset: int = wire(U64, "First byte of the object.")
    rights: Rights = wire(U32, "Rights of the mapping.", flags=Rights)


class RangeExtent(Record, size=24):
    """One range of UNMAP_LIST or PROTECT_LIST."""

    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")
    rights: Rights = wire(U32, "PROTECT_LIST: new rights; else zero.", flags=Rights)


class FileExtent(Record, size=32):
    """One part of an opened export that stands in a memory file, as IMPORT_FILES tells it."""

    offset: int = wire(U64, "First byte, from the first page of the opened memory on.")
    size_bytes: int = wire(U64, "Bytes.")
    file_offset: int = wire(U64, "First byte in the file.")
    descriptor: int = wire(U32, "Which of the descriptors that came is the file, from 0 on.")


class TranslationExtent(Record, size=40):
    """One coalesced extent that QUERY found."""

    va: int = wire(U64, "First virtual address.")
    size_bytes: int = wire(U64, "Bytes.")
    address: int = wire(U64, "First address in the aperture.")
    entry: int = wire(U64, "Page-table entry of the first page.", shown=Pte)
    aperture: int = wire(U16, "`Aperture`; 0xffff for null pages.", shown=Aperture)
    level: int = wire(U16, "Level of the first page's leaf.")
    rights: Rights = wire(U32, "Rights.", flags=Rights)
