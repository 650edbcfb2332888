"""Opening and closing handles: between two processes, in every form, and every refusal."""

import pytest

from firmware.abi.control import ExportClose, ExportOpen
from firmware.abi.ipc import ExportKind
from firmware.abi.replies import Opened
from firmware.abi.status import Status
from hostdriver.api import exporting, memory, opening
from hostdriver.api.structures import AddressRange, IpcPhysMemHandleRangeExtDesc
from hostdriver.core.ipc import Named, build_handle
from hostdriver.core.questions import ReadTicket, Release, Reserve, TicketFile
from hostdriver.core.results import ZeError, ZeResult
from tests.harness.fake_session import ARENA, FakeSession, Steps
from tests.harness.levelzero import LARGE, PAGE, fails, mapped

SIZE = PAGE + 5
OFFSET = 4097


class Peer:
    """An exporter and the importer beside it."""

    def __init__(self, **importer: int) -> None:
        self.out = FakeSession()
        self.exporter = self.out.state()
        self.session = FakeSession(self.out.device)
        self.state = self.session.state(**importer)
        self.va = mapped(self.out, self.exporter, 2)

    def get(self, size: int = SIZE) -> bytes:
        chain = [IpcPhysMemHandleRangeExtDesc(size)]
        return self.out.run(exporting.get_handle(self.exporter, self.va + OFFSET, chain))

    def open(self, handle: bytes, device: int | None = 0, flags: int = 0) -> int:
        return self.session.run(opening.open_handle(self.state, device, handle, flags))

    def close(self, ptr: int | None) -> None:
        self.session.run(opening.close_handle(self.state, ptr))

    @property
    def free(self) -> int:
        assert self.state.arena is not None
        return self.state.arena.statistics().free_bytes


@pytest.fixture(name="peer")
def make_peer() -> Peer:
    return Peer()


@pytest.mark.sentence("RANGE-15", "RANGE-33")
def test_pointer_is_where_the_window_begins(peer: Peer) -> None:
    pointer = peer.open(peer.get())

    (command,) = peer.session.commands(ExportOpen)
    assert (command.window_offset, command.size_bytes) == (OFFSET % 4096, SIZE)
    assert pointer == command.va + OFFSET % 4096
    assert command.va % PAGE == 0
    peer.state.check()


@pytest.mark.sentence("RANGE-34")
@pytest.mark.case("R11")
def test_range_describes_itself(peer: Peer) -> None:
    pointer = peer.open(peer.get())

    for inside in (0, 1, SIZE - 1):
        found = memory.get_address_range(peer.state, pointer + inside)
        assert found == AddressRange(pointer, SIZE)
    for outside in (-1, SIZE):
        with fails("ADDRESS_NOT_FOUND"):
            memory.get_address_range(peer.state, pointer + outside)


@pytest.mark.sentence("RANGE-31")
@pytest.mark.case("I15")
def test_every_open_is_a_pointer_of_its_own(peer: Peer) -> None:
    handle = peer.get()
    pointers = {peer.open(handle) for _ in range(20)}

    assert len(pointers) == len(peer.state.imports) == 20
    for pointer in pointers:
        peer.close(pointer)
    assert peer.free == ARENA[1]


def test_large_window_stands_on_a_large_page(peer: Peer) -> None:
    named = Named(
        token=bytes(16),
        kind=ExportKind.ALLOCATION,
        device=0,
        emulator_id=peer.state.emulator_id,
        offset=0,
        size=3 * LARGE,
    )
    peer.session.refuse(ExportOpen, Status.BAD_TOKEN)

    with fails("INVALID_ARGUMENT", "no live export"):
        peer.open(build_handle(named, 9, 1))
    assert peer.session.commands(ExportOpen)[0].va % LARGE == 0
    assert peer.free == ARENA[1]


@pytest.mark.sentence("RANGE-36")
def test_close_gives_mapping_and_addresses_back(peer: Peer) -> None:
    pointer = peer.open(peer.get())

    peer.close(pointer)

    assert len(peer.session.commands(ExportClose)) == 1
    assert peer.free == ARENA[1]
    with fails("ADDRESS_NOT_FOUND"):
        memory.get_address_range(peer.state, pointer)


@pytest.mark.error("MemCloseIpcHandle", "NP", "IA")
@pytest.mark.decision("C25")
def test_close_takes_only_the_pointer_that_was_opened(peer: Peer) -> None:
    pointer = peer.open(peer.get())

    for wrong, name in (
        (None, "INVALID_NULL_POINTER"),
        (pointer + 1, "INVALID_ARGUMENT"),
        (pointer - 1, "INVALID_ARGUMENT"),
        (1 << 40, "INVALID_ARGUMENT"),
    ):
        with fails(name):
            peer.close(wrong)
    peer.close(pointer)
    with fails("INVALID_ARGUMENT"):
        peer.close(pointer)


@pytest.mark.parametrize("lost", [True, False])
def test_close_that_fails_can_be_repeated(peer: Peer, lost: bool) -> None:
    pointer = peer.open(peer.get())
    if lost:
        error = ZeError(ZeResult.ZE_RESULT_ERROR_DEVICE_LOST, "the device is gone")
        peer.session.script(ExportClose, error)
    else:
        peer.session.refuse(ExportClose, Status.INTERNAL)

    with fails("DEVICE_LOST"):
        peer.close(pointer)
    peer.close(pointer)

    assert peer.free == ARENA[1]


def test_two_threads_cannot_close_the_same_pointer(peer: Peer) -> None:
    pointer = peer.open(peer.get())
    steps = Steps(peer.session, opening.close_handle(peer.state, pointer))

    with fails("INVALID_ARGUMENT", "another thread"):
        peer.close(pointer)
    steps.finish()


@pytest.mark.error("MemOpenIpcHandle", "IA")
@pytest.mark.decision("C11")
@pytest.mark.case("I09")
def test_handle_that_was_put_opens_no_more(peer: Peer) -> None:
    handle = peer.get()
    peer.out.run(exporting.put_handle(peer.exporter, handle))

    with fails("INVALID_ARGUMENT", "it was put, or its process ended"):
        peer.open(handle)
    assert peer.free == ARENA[1]
    assert len(peer.state.imports) == 0


def test_own_handle_opens_in_its_own_process(peer: Peer) -> None:
    pointer = peer.out.run(opening.open_handle(peer.exporter, 0, peer.get()))

    assert memory.get_address_range(peer.exporter, pointer).size == SIZE


def test_descriptor_that_was_received_opens_by_itself(peer: Peer) -> None:
    handle = peer.get()
    sent = peer.out.tickets[int.from_bytes(handle[:4], "little")]
    peer.session.tickets[5] = TicketFile(5, sent.identity, sent.content)
    number = (5).to_bytes(4, "little")

    for rest in (bytes(60), b"\x5a" * 60, handle[4:], peer.get()[4:]):
        pointer = peer.open(number + rest)
        assert memory.get_address_range(peer.state, pointer).size == SIZE
    tokens = {command.token for command in peer.session.commands(ExportOpen)}
    assert tokens == {handle[24:40]}


@pytest.mark.case("I17")
def test_unchanged_handle_touches_no_descriptor(peer: Peer) -> None:
    peer.open(peer.get())

    assert peer.session.questions(ReadTicket) == []


@pytest.mark.case("I25", "R10")
@pytest.mark.parametrize("position", range(4, 64))
def test_corrupted_handle_opens_nothing(peer: Peer, position: int) -> None:
    handle = bytearray(peer.get())
    handle[position] ^= 0x40

    with fails("INVALID_ARGUMENT"):
        peer.open(bytes(handle))
    assert peer.session.commands(ExportOpen) == []


@pytest.mark.error("MemOpenIpcHandle", "IA")
@pytest.mark.case("I25")
@pytest.mark.parametrize("handle", [b"\xff" * 64, bytes(64), b"abcd" * 16])
def test_bytes_that_are_no_handle_open_nothing(peer: Peer, handle: bytes) -> None:
    with fails("INVALID_ARGUMENT", "/run/fake.sock"):
        peer.open(handle)


@pytest.mark.error("MemOpenIpcHandle", "NH", "IE", "UE")
@pytest.mark.decision("C30")
def test_open_errors_in_their_order(peer: Peer) -> None:
    handle = peer.get()
    cases = [
        (None, bytes(3), 4, "INVALID_NULL_HANDLE"),
        (1, bytes(3), 4, "INVALID_ARGUMENT"),
        (0, bytes(3), 4, "INVALID_ENUMERATION"),
        (0, bytes(3), 0, "INVALID_ARGUMENT"),
    ]
    for device, raw, flags, name in cases:
        with fails(name):
            peer.open(raw, device, flags)
    for flags in range(4):
        peer.open(handle, 0, flags)


@pytest.mark.sentence("RANGE-30", "RANGE-37")
@pytest.mark.decision("C36")
def test_range_needs_its_extension_plain_memory_does_not() -> None:
    peer = Peer(extensions=0)
    plain = peer.out.run(exporting.get_handle(peer.exporter, peer.va))

    with fails("UNSUPPORTED_FEATURE", "ZE_extension_ipc_phys_mem_handle_range"):
        peer.open(peer.get())
    pointer = peer.open(plain)
    assert memory.get_address_range(peer.state, pointer) == AddressRange(pointer, 2 * PAGE)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": ExportKind.EVENT_POOL}, "EVENT_POOL"),
        ({"device": 1}, "no access"),
        ({"size": 0}, "no address space"),
        ({"size": (1 << 64) - 1}, "no address space"),
        ({"offset": (1 << 64) - 1}, "no address space"),
    ],
)
def test_handle_of_something_else_is_refused(
    peer: Peer, changes: dict[str, int], words: str
) -> None:
    values = {
        "token": bytes(16),
        "kind": ExportKind.RANGE,
        "device": 0,
        "emulator_id": peer.state.emulator_id,
        "offset": 0,
        "size": 4096,
    }
    named = Named(**(values | changes))  # type: ignore[arg-type]

    with fails("INVALID_ARGUMENT", words):
        peer.open(build_handle(named, 9, 1))
    assert peer.session.asked == []


@pytest.mark.sentence("RANGE-35")
def test_no_address_space_is_out_of_host_memory() -> None:
    peer = Peer()
    peer.state.arena = None
    peer.session.script(Reserve, None)

    with fails("OUT_OF_HOST_MEMORY"):
        peer.open(peer.get())


@pytest.mark.sentence("RANGE-35")
@pytest.mark.case("R09")
@pytest.mark.parametrize(
    ("status", "name"),
    [
        (Status.OUT_OF_DEVICE_MEMORY, "OUT_OF_DEVICE_MEMORY"),
        (Status.LIMIT, "OUT_OF_DEVICE_MEMORY"),
        (Status.OUT_OF_HOST_MEMORY, "OUT_OF_HOST_MEMORY"),
        (Status.MISMATCH, "INVALID_ARGUMENT"),
    ],
)
def test_refusal_of_the_device_leaves_nothing_open(status: Status, name: str) -> None:
    peer = Peer()
    peer.state.arena = None
    peer.session.refuse(ExportOpen, status)

    with fails(name):
        peer.open(peer.get())
    assert len(peer.session.questions(Release)) == 1
    assert len(peer.state.imports) == 0
    peer.open(peer.get())


def test_device_that_maps_elsewhere_is_not_believed(peer: Peer) -> None:
    reply = Opened(
        opcode=0x51,
        status=Status.OK,
        request=0,
        import_id=7,
        va=PAGE,
        mapped_size=PAGE,
        window_offset=0,
        size_bytes=SIZE,
        object_count=1,
        file_count=0,
    )
    peer.session.script(ExportOpen, reply)

    with fails("UNKNOWN", hex(PAGE)):
        peer.open(peer.get())
    assert [command.import_id for command in peer.session.commands(ExportClose)] == [7]
    assert peer.free == ARENA[1]


def test_interrupted_open_gives_addresses_of_the_arena_back(peer: Peer) -> None:
    peer.session.script(ExportOpen, KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        peer.open(peer.get())
    assert peer.free == ARENA[1]


def test_interrupted_open_outside_the_arena_asks_no_more(peer: Peer) -> None:
    peer.state.arena = None
    peer.session.script(ExportOpen, KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        peer.open(peer.get())
    assert peer.session.questions(Release) == []
