"""Control commands on memory that processes share: exports, what is opened, and their files."""

from firmware.abi._record import wire
from firmware.abi._wire import U32, U64, raw
from firmware.abi.control_kinds import ControlCommand, ControlOpcode
from firmware.abi.ids import CONTROL_MESSAGE_SIZE, Rights


class Export(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT):
    """Snapshot the objects mapped in a range under a new random token."""

    vmid: int = wire(U32, "Address space.")
    va: int = wire(U64, "First byte, any alignment.", at=0x10)
    size_bytes: int = wire(U64, "Bytes, any number above zero.")


class ExportOpen(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT_OPEN):
    """Open an export and map its pages at `va`: every object in the exporter's order."""

    vmid: int = wire(U32, "Address space of the importer.")
    rights: Rights = wire(U32, "Rights of the new mapping.", flags=Rights)
    token: bytes = wire(raw(16), "Token of the export.")
    va: int = wire(U64, "First virtual address, page aligned; the window begins at va + offset.")
    size_bytes: int = wire(U64, "Size of the window as the handle tells it.")
    window_offset: int = wire(U64, "Offset of the window in its first page, from the handle.")


class ExportClose(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT_CLOSE):
    """Unmap an opened export and give up its references."""

    import_id: int = wire(U64, "Import that EXPORT_OPEN made.")


class ExportPut(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT_PUT):
    """Revoke an export: it opens no more; what is open lives until its last close."""

    token: bytes = wire(raw(16), "Token of the export; must be this client's.")


class ExportFind(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT_FIND):
    """Tell the live export of the memory whose file is on the socket under this request number.

    Who has an object's memory file may open it. An export counts that shows one object from the
    first byte of that file on; the newest is told.
    """


class ExportObject(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.EXPORT_OBJECT):
    """Export part of one object, mapped or not, under a new random token."""

    object_id: int = wire(U64, "Object.")
    object_offset: int = wire(U64, "First byte of the object, any alignment.")
    size_bytes: int = wire(U64, "Bytes, any number above zero.")


class ImportFiles(ControlCommand, size=CONTROL_MESSAGE_SIZE, opcode=ControlOpcode.IMPORT_FILES):
    """Ask for the memory files behind an opened export, for the CPU's mappings.

    The payload takes records (`FileExtent`), their files travel on the socket with the reply. One
    reply tells what fits: `first` says where the next one goes on.
    """

    import_id: int = wire(U64, "Import that EXPORT_OPEN made.")
    first: int = wire(U32, "Parts in memory files to leave out at the beginning.")
    capacity: int = wire(U32, "Records that fit into the payload.")
    payload_offset: int = wire(U32, "Where the records go.")
