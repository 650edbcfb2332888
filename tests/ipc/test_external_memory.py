"""External memory: descriptors that carry memory, handles with them, and imports of them."""

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from hostdriver import levelzero as ze
from hostdriver.testing.pair import Pair, pair
from tests.harness.levelzero import fails

PAGE = 64 << 10
DMA_BUF = ze.ExternalMemoryTypeFlags.DMA_BUF
OPAQUE = ze.ExternalMemoryTypeFlags.OPAQUE_FD
WIN32 = ze.ExternalMemoryTypeFlags.OPAQUE_WIN32
EXPORT = [ze.ExternalMemoryExportDesc(DMA_BUF)]
SIZE = 100_000
KINDS = ["device", "host"]


class Peer:
    """One program of the pair."""

    def __init__(self, driver: ze.Driver) -> None:
        self.driver = driver
        self.device = driver.devices[0]
        self.context = driver.create_context()

    def allocate(
        self, kind: str, size: int, chain: Sequence[ze.ChainedDesc] = (), alignment: int = 0
    ) -> int:
        if kind == "host":
            return self.context.mem_alloc_host(size, alignment, ze.HostMemAllocDesc(p_next=chain))
        desc = ze.DeviceMemAllocDesc(p_next=chain)
        return self.context.mem_alloc_device(self.device, size, alignment, desc)

    def bring(self, kind: str, fd: int, size: int = 0) -> int:
        return self.allocate(kind, size, [ze.ExternalMemoryImportFd(DMA_BUF, fd)])

    def descriptor_of(self, pointer: int) -> int:
        handle = self.context.mem_get_ipc_handle(pointer)
        return self.context.mem_get_file_descriptor_from_ipc_handle_exp(handle)


@contextmanager
def passed(descriptor: int) -> Iterator[int]:
    """Return a descriptor as another process receives it: another number for the same file."""
    number = os.dup(descriptor)
    try:
        yield number
    finally:
        os.close(number)


@pytest.fixture(name="both", params=["spec", "intel"], scope="module")
def make_both(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with pair(profile=request.param) as made:
        yield made


@pytest.fixture(name="spec", scope="module")
def make_spec() -> Iterator[Pair]:
    with pair() as made:
        made.connect("importer")
        yield made


@pytest.fixture(name="peers")
def make_peers(spec: Pair) -> Iterator[tuple[Peer, Peer]]:
    with spec.connect("importer") as other:
        yield Peer(spec.driver), Peer(other)
        spec.assert_nothing_left()


@pytest.mark.case("I27")
@pytest.mark.parametrize("kind", KINDS)
def test_a_descriptor_passes_memory_to_another_process(peers: tuple[Peer, Peer], kind: str) -> None:
    exporter, importer = peers
    pointer = exporter.allocate(kind, SIZE, EXPORT)
    fd = exporter.descriptor_of(pointer)
    exporter.context.memory_write(pointer + SIZE - 4, b"last")

    with passed(fd) as received:
        imported = importer.bring(kind, received)

    assert importer.context.mem_get_address_range(imported + 7) == (imported, SIZE)
    assert importer.context.memory_read(imported + SIZE - 4, 4) == b"last"
    importer.context.memory_write(imported, b"back")
    assert exporter.context.memory_read(pointer, 4) == b"back"
    importer.context.mem_free(imported)
    exporter.context.mem_free(pointer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_may_map_the_descriptor_itself(peers: tuple[Peer, Peer], kind: str) -> None:
    exporter, _ = peers
    pointer = exporter.allocate(kind, SIZE, EXPORT)

    with mmap.mmap(exporter.descriptor_of(pointer), SIZE, mmap.MAP_SHARED) as view:
        view[:5] = b"by me"
        exporter.context.memory_copy(pointer + SIZE - 5, pointer, 5)
        assert view[SIZE - 5 : SIZE] == b"by me"

    exporter.context.mem_free(pointer)


def test_imported_host_memory_is_seen_by_the_cpu(peers: tuple[Peer, Peer]) -> None:
    exporter, importer = peers
    pointer = exporter.allocate("host", SIZE, EXPORT)
    imported = importer.bring("host", exporter.descriptor_of(pointer))

    importer.context.host_view(imported, 5)[:] = b"there"

    assert bytes(exporter.context.host_view(pointer, 5)) == b"there"
    importer.context.mem_free(imported)
    exporter.context.mem_free(pointer)


@pytest.mark.parametrize("kind", KINDS)
def test_imported_memory_outlives_its_exporter(spec: Pair, kind: str) -> None:
    with spec.connect() as one, spec.connect() as other:
        exporter, importer = Peer(one), Peer(other)
        pointer = exporter.allocate(kind, SIZE, EXPORT)
        exporter.context.memory_write(pointer, b"stays")
        imported = importer.bring(kind, exporter.descriptor_of(pointer))
        one.close()

        assert importer.context.memory_read(imported, 5) == b"stays"
        importer.context.mem_free(imported)


@pytest.mark.case("I27")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", ["whole", "zero"])
def test_the_handle_of_exported_memory_opens_by_bytes_and_by_descriptor(
    peers: tuple[Peer, Peer], kind: str, rest: str
) -> None:
    exporter, importer = peers
    pointer = exporter.allocate(kind, SIZE, EXPORT)
    handle = exporter.context.mem_get_ipc_handle(pointer)
    exporter.context.memory_write(pointer, b"shared")
    fd = int.from_bytes(handle[:4], "little")

    with passed(fd) as received:
        tail = handle[4:] if rest == "whole" else bytes(60)
        opened = importer.context.mem_open_ipc_handle(
            importer.device, received.to_bytes(4, "little") + tail
        )

    assert importer.context.mem_get_address_range(opened) == (opened, SIZE)
    assert importer.context.memory_read(opened, 6) == b"shared"
    importer.context.mem_close_ipc_handle(opened)
    exporter.context.mem_put_ipc_handle(handle)
    assert os.fstat(fd).st_size >= SIZE
    exporter.context.mem_free(pointer)
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(fd)


@pytest.mark.case("I27")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chain", [EXPORT, []], ids=["exported", "plain"])
def test_handle_and_descriptor_lead_to_each_other(
    peers: tuple[Peer, Peer], kind: str, chain: Sequence[ze.ChainedDesc]
) -> None:
    exporter, importer = peers
    context = exporter.context
    pointer = exporter.allocate(kind, SIZE, chain)
    handle = context.mem_get_ipc_handle(pointer)
    fd = context.mem_get_file_descriptor_from_ipc_handle_exp(handle)

    assert fd == int.from_bytes(handle[:4], "little")
    assert context.mem_get_ipc_handle_from_file_descriptor_exp(fd) == handle
    with passed(fd) as received:
        theirs = importer.context.mem_get_ipc_handle_from_file_descriptor_exp(received)
        assert importer.context.mem_get_file_descriptor_from_ipc_handle_exp(theirs) == received
    # The handle names the memory without the descriptor.
    opened = importer.context.mem_open_ipc_handle(importer.device, theirs)
    context.memory_write(pointer, b"named")
    assert importer.context.memory_read(opened, 5) == b"named"
    importer.context.mem_close_ipc_handle(opened)
    importer.context.mem_put_ipc_handle(theirs)
    for _ in range(2):
        context.mem_put_ipc_handle(handle)
    with fails("INVALID_ARGUMENT"):
        importer.context.mem_open_ipc_handle(importer.device, handle)
    context.mem_free(pointer)


def test_a_descriptor_leads_to_a_handle_again_after_the_last_put(peers: tuple[Peer, Peer]) -> None:
    exporter, _ = peers
    pointer = exporter.allocate("device", SIZE, EXPORT)
    handle = exporter.context.mem_get_ipc_handle(pointer)
    fd = int.from_bytes(handle[:4], "little")
    exporter.context.mem_put_ipc_handle(handle)

    again = exporter.context.mem_get_ipc_handle_from_file_descriptor_exp(fd)

    assert again[:4] == handle[:4]
    exporter.context.mem_free(pointer)


@pytest.mark.error("MemGetIpcHandleFromFileDescriptorExp", "IA")
@pytest.mark.error("MemGetFileDescriptorFromIpcHandleExp", "IA")
def test_descriptors_and_handles_of_something_else_are_refused(peers: tuple[Peer, Peer]) -> None:
    exporter, _ = peers
    foreign = os.memfd_create("foreign", os.MFD_ALLOW_SEALING)
    os.ftruncate(foreign, PAGE)
    for number in (foreign, 0, -1, 1 << 20):
        with fails("INVALID_ARGUMENT", f"{number}"):
            exporter.context.mem_get_ipc_handle_from_file_descriptor_exp(number)
        with fails("INVALID_ARGUMENT", f"{number}"):
            exporter.bring("device", number)
    os.close(foreign)
    pointer = exporter.allocate("device", SIZE)
    handle = exporter.context.mem_get_ipc_handle(pointer)
    with fails("INVALID_ARGUMENT"):
        exporter.context.mem_get_file_descriptor_from_ipc_handle_exp(bytes(64))
    with fails("INVALID_ARGUMENT"):
        exporter.context.mem_get_file_descriptor_from_ipc_handle_exp(handle[:60])
    exporter.context.mem_free(pointer)
    with fails("INVALID_ARGUMENT"):
        exporter.context.mem_get_file_descriptor_from_ipc_handle_exp(handle)


@pytest.mark.decision("C38")
@pytest.mark.decision("C38", profile="intel")
@pytest.mark.parametrize("target", ["device", "host", "physical"])
def test_who_closes_the_given_descriptor(both: Pair, target: str) -> None:
    peer = Peer(both.driver)
    pointer = peer.allocate("host" if target == "host" else "device", PAGE, EXPORT)
    received = os.dup(peer.descriptor_of(pointer))
    stays = both.device.spec.profile == 0
    given = ze.ExternalMemoryImportFd(OPAQUE, received)

    with fails("UNSUPPORTED_SIZE"):
        peer.bring("device", received, PAGE + 1)
    assert os.fstat(received)
    if target == "physical":
        desc = ze.PhysicalMemDesc(PAGE, p_next=[given])
        peer.context.physical_mem_destroy(peer.context.physical_mem_create(peer.device, desc))
    else:
        peer.context.mem_free(peer.allocate(target, 0, [given]))

    if stays:
        os.close(received)
    else:
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(received)
    peer.context.mem_free(pointer)
    both.assert_nothing_left()


@pytest.mark.parametrize("kind", [ze.PhysicalMemFlags(1), ze.PhysicalMemFlags(2)])
def test_physical_memory_by_descriptor(peers: tuple[Peer, Peer], kind: ze.PhysicalMemFlags) -> None:
    exporter, importer = peers
    exported = exporter.context.physical_mem_create(
        exporter.device, ze.PhysicalMemDesc(2 * PAGE, kind, EXPORT)
    )
    asked = [ze.ExternalMemoryExportFd(DMA_BUF)]
    (answer,) = exporter.context.physical_mem_get_properties(exported, asked).p_next
    assert isinstance(answer, ze.ExternalMemoryExportFd)
    given = [ze.ExternalMemoryImportFd(DMA_BUF, answer.fd)]
    imported = importer.context.physical_mem_create(
        importer.device, ze.PhysicalMemDesc(2 * PAGE, kind, given)
    )
    places: list[int] = []
    for peer, physical in ((exporter, exported), (importer, imported)):
        va = peer.context.virtual_mem_reserve(PAGE)
        peer.context.virtual_mem_map(va, PAGE, physical, PAGE)
        places.append(va)

    exporter.context.memory_write(places[0], b"second page")

    assert importer.context.memory_read(places[1], 11) == b"second page"
    with mmap.mmap(answer.fd, 2 * PAGE, mmap.MAP_SHARED) as view:
        assert view[PAGE : PAGE + 11] == b"second page"
    if kind == ze.PhysicalMemFlags.ALLOCATE_ON_HOST:
        assert bytes(importer.context.host_view(places[1], 11)) == b"second page"
    else:
        with fails("INVALID_ARGUMENT", "out of the CPU's reach"):
            importer.context.host_view(places[1], 11)
    for peer, va, physical in zip(peers, places, (exported, imported), strict=True):
        peer.context.virtual_mem_free(va, PAGE)
        peer.context.physical_mem_destroy(physical)
    exporter.context.mem_put_ipc_handle(answer.fd.to_bytes(4, "little") + bytes(60))


def test_what_has_no_descriptor_is_refused(peers: tuple[Peer, Peer]) -> None:
    exporter, _ = peers
    context, device = exporter.context, exporter.device
    for chain in (EXPORT, [ze.ExternalMemoryImportFd(DMA_BUF, 0)]):
        with fails("UNSUPPORTED_FEATURE", "shared memory"):
            context.mem_alloc_shared(PAGE, 0, device, ze.DeviceMemAllocDesc(p_next=chain))
    for flags, error in ((WIN32, "UNSUPPORTED_ENUMERATION"), (1 << 20, "INVALID_ENUMERATION")):
        kinds = ze.ExternalMemoryTypeFlags(flags)
        for chained in (ze.ExternalMemoryExportDesc(kinds), ze.ExternalMemoryImportFd(kinds, 0)):
            with fails(error):
                exporter.allocate("host", PAGE, [chained])
            with fails(error):
                context.physical_mem_create(device, ze.PhysicalMemDesc(PAGE, p_next=[chained]))


def test_a_descriptor_that_only_names_memory_imports_nothing(peers: tuple[Peer, Peer]) -> None:
    exporter, importer = peers
    pointer = exporter.allocate("device", SIZE)
    with fails("INVALID_ARGUMENT", "does not carry it", "export descriptor"):
        importer.bring("device", exporter.descriptor_of(pointer))
    exporter.context.mem_free(pointer)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_that_was_freed_is_imported_no_more(peers: tuple[Peer, Peer], kind: str) -> None:
    exporter, importer = peers
    pointer = exporter.allocate(kind, SIZE, EXPORT)
    with passed(exporter.descriptor_of(pointer)) as received:
        exporter.context.mem_free(pointer)
        with fails("INVALID_ARGUMENT", f"{received}", "freed"):
            importer.bring(kind, received)


def test_exported_device_memory_counts_as_device_memory(spec: Pair) -> None:
    peer = Peer(spec.driver)
    before = spec.statistics().free_bytes
    pointer = peer.allocate("device", 8 << 20, EXPORT)
    assert before - spec.statistics().free_bytes >= 8 << 20
    with fails("INVALID_ARGUMENT", "out of the CPU's reach"):
        peer.context.host_view(pointer, 1)
    peer.context.mem_free(pointer)
    spec.assert_nothing_left()


@pytest.mark.case("I27")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chain", [EXPORT, []], ids=["exported", "plain"])
def test_properties_tell_the_descriptor_that_stands_in_the_handle(
    peers: tuple[Peer, Peer], kind: str, chain: Sequence[ze.ChainedDesc]
) -> None:
    context = peers[0].context
    pointer = peers[0].allocate(kind, SIZE, chain)
    asked = [ze.ExternalMemoryExportFd(DMA_BUF)]

    (answer,) = context.mem_get_alloc_properties(pointer + 9, asked).p_next

    assert isinstance(answer, ze.ExternalMemoryExportFd)
    assert answer.fd == int.from_bytes(context.mem_get_ipc_handle(pointer)[:4], "little")
    context.mem_free(pointer)
    shared = context.mem_alloc_shared(PAGE)
    with fails("UNSUPPORTED_FEATURE", "shared memory"):
        context.mem_get_alloc_properties(shared, asked)
    context.mem_free(shared)
    with fails("INVALID_ARGUMENT", "no allocation"):
        context.mem_get_alloc_properties(pointer, asked)
