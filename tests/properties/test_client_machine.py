"""Life cycles of clients: objects, maps, exports and opens against an oracle of plain Python.

After each step the whole device is checked, what clients see through the page tables is compared
with what the oracle says, and free memory is exactly what the oracle expects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from device.core.paging import walk
from device.core.spec import DeviceSpec
from firmware.abi.control import ExportClose, ObjectKind, SpaceDestroy, Unmap
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.paging import RIGHTS_MASK
from firmware.abi.replies import Done, Mapped, Opened, Refused
from firmware.abi.status import Status
from tests.harness.clientmodel import ModelClient, ModelExport, ModelImport, ModelObject, ModelPage
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

VRAM_PAGES = 512
BASE = 1 << 30
SLOTS = 40
"""Pages of the part of each address space that is used."""

picks = st.integers(0, 63)
"""Chooses among the things that there are."""
lengths = st.integers(1, 8)
now_and_then = st.sampled_from([False] * 7 + [True])
kinds = st.sampled_from([ObjectKind.VRAM, ObjectKind.VRAM, ObjectKind.SYSTEM])


def one_of(things: Sequence[T], pick: int) -> T | None:
    """Return one of the things, mostly one of the last few: those are still of use."""
    if not things:
        return None
    recent = things[-4:] if pick % 8 else things
    return recent[pick % len(recent)]


class ClientMachine(RuleBasedStateMachine):
    @initialize(kind=kinds)
    def power_up(self, kind: ObjectKind) -> None:
        spec = DeviceSpec(vram_size=VRAM_PAGES * PAGE_SIZE, max_clients=4)
        self.pair = DevicePair(spec, image=SMALL_IMAGE)
        self.alive: list[ModelClient] = []
        self.objects: list[ModelObject] = []
        self.exports: list[ModelExport] = []
        self.imports: list[ModelImport] = []
        self.attach(kind)
        self.attach(kind)

    def client(self, pick: int) -> ModelClient:
        """Return one of the clients that are attached, lost sessions included."""
        return self.alive[pick % len(self.alive)]

    # --- clients -----------------------------------------------------------------------------

    @precondition(lambda self: len(self.alive) < 4)
    @rule(kind=kinds)
    def attach(self, kind: ObjectKind) -> None:
        """Attach a client that has something mapped."""
        client = ModelClient(self.pair.attach())
        client.vmid = client.raw.space()
        self.alive.append(client)
        self.create(len(self.alive) - 1, 6, kind)
        self.map(63, 2, 0, 6, wild=False)

    @precondition(lambda self: self.alive)
    @rule(pick=picks, sure=now_and_then)
    def detach(self, pick: int, sure: bool) -> None:
        client = self.client(pick)
        if sure or client.lost:
            self.pair.detach(client.raw)
            self.alive.remove(client)
            self._end(client)

    @precondition(lambda self: self.alive)
    @rule(sure=now_and_then, really=now_and_then)
    def reset(self, sure: bool, really: bool) -> None:
        if not sure or not really:
            return
        self.pair.device.reset(self.pair.now)
        self.pair.step()
        for client in self.alive:
            client.lost = True
            self._end(client)

    @precondition(lambda self: self.alive)
    @rule(pick=picks, sure=now_and_then)
    def destroy_space(self, pick: int, sure: bool) -> None:
        client = self.client(pick)
        if not sure:
            return
        reply = client.raw.call(SpaceDestroy(request=client.raw.request(), vmid=client.vmid or 0))
        if self._told_lost(client, reply):
            return
        assert isinstance(reply, Done)
        client.slots.clear()
        client.vmid = client.raw.space()

    # --- objects and mappings ----------------------------------------------------------------

    @precondition(lambda self: self.alive)
    @rule(pick=picks, pages=lengths, kind=kinds)
    def create(self, pick: int, pages: int, kind: ObjectKind) -> None:
        client = self.client(pick)
        if not client.lost:
            number = client.raw.object(pages * PAGE_SIZE, kind)
            item = ModelObject(number, kind, pages, client)
            client.objects.add(item)
            self.objects.append(item)

    @rule(pick=picks)
    def destroy(self, pick: int) -> None:
        item = one_of(self.objects, pick)
        if item is None or item.owner not in self.alive:
            return
        reply = item.owner.raw.destroy(item.number)
        if self._told_lost(item.owner, reply):
            return
        if not item.owned:
            assert self._status(reply) is Status.BAD_OBJECT
        elif self._mappings(item):
            assert self._status(reply) is Status.IN_USE
        else:
            assert isinstance(reply, Done)
            item.owned = False
            item.owner.objects.remove(item)

    @rule(pick=picks, slot=picks, first=st.integers(0, 7), length=lengths, wild=now_and_then)
    def map(self, pick: int, slot: int, first: int, length: int, *, wild: bool) -> None:
        item = one_of(self.objects, pick)
        if item is None or item.owner not in self.alive:
            return
        client = item.owner
        if not wild:
            first %= item.pages
            length = min(length, item.pages - first)
            slot = self._free(client, length, slot)
        command = client.raw.map_command(
            client.vmid or 0,
            BASE + slot * PAGE_SIZE,
            length * PAGE_SIZE,
            item.number,
            first * PAGE_SIZE,
        )
        reply = client.raw.call(command)
        if self._told_lost(client, reply):
            return
        wanted = range(slot, slot + length)
        if not item.owned:
            assert self._status(reply) is Status.BAD_OBJECT
        elif first + length > item.pages:
            assert self._status(reply) is Status.BAD_RANGE
        elif any(at in client.slots for at in wanted):
            assert self._status(reply) is Status.OVERLAP
        else:
            assert isinstance(reply, Mapped)
            assert reply.page_count == length
            client.slots |= {at: ModelPage(item, first + at - slot) for at in wanted}

    @precondition(lambda self: self.alive)
    @rule(pick=picks, slot=picks, length=lengths)
    def unmap(self, pick: int, slot: int, length: int) -> None:
        client = self.client(pick)
        slot = self._mapped(client, slot)
        command = Unmap(
            request=client.raw.request(),
            vmid=client.vmid or 0,
            va=BASE + slot * PAGE_SIZE,
            size_bytes=length * PAGE_SIZE,
        )
        reply = client.raw.call(command)
        if self._told_lost(client, reply):
            return
        assert isinstance(reply, Mapped)
        cleared = [at for at in range(slot, slot + length) if at in client.slots]
        assert reply.page_count == len(cleared)
        for at in cleared:
            del client.slots[at]

    # --- exports and imports -----------------------------------------------------------------

    @precondition(lambda self: self.alive)
    @rule(
        pick=picks,
        slot=picks,
        length=lengths,
        lead=st.integers(0, PAGE_SIZE - 1),
        tail=st.integers(0, PAGE_SIZE - 1),
    )
    def export(self, pick: int, slot: int, length: int, lead: int, tail: int) -> None:
        client = self.client(pick)
        slot = self._mapped(client, slot)
        while length and any(at not in client.slots for at in range(slot, slot + length)):
            length -= 1
        if client.lost or not length:
            return
        va = BASE + slot * PAGE_SIZE + lead
        size = max(length * PAGE_SIZE - lead - tail, 1)
        last = slot + (lead + size - 1) // PAGE_SIZE
        pages = [client.slots[at] for at in range(slot, last + 1)]
        made = ModelExport(client.raw.export(client.vmid or 0, va, size), pages, client)
        assert made.exported.window_offset == lead
        for item in made.objects():
            item.exports += 1
        client.exports.add(made)
        self.exports.append(made)

    @precondition(lambda self: self.alive)
    @rule(pick=picks, which=picks, slot=picks, wild=now_and_then)
    def open(self, pick: int, which: int, slot: int, wild: bool) -> None:
        client, export = self.client(pick), one_of(self.exports, which)
        if export is None:
            return
        if not wild:
            slot = self._free(client, len(export.pages), slot)
        va = BASE + slot * PAGE_SIZE
        reply = client.raw.call(client.raw.open_command(client.vmid or 0, export.exported, va))
        if self._told_lost(client, reply):
            return
        wanted = range(slot, slot + len(export.pages))
        if not export.live:
            assert self._status(reply) is Status.BAD_TOKEN
        elif any(at in client.slots for at in wanted):
            assert self._status(reply) is Status.OVERLAP
        else:
            assert isinstance(reply, Opened)
            made = ModelImport(reply.import_id, export)
            for at, page in zip(wanted, export.pages, strict=True):
                client.slots[at] = ModelPage(page.item, page.page, made)
            client.imports.add(made)
            self.imports.append(made)
            export.opens += 1

    @precondition(lambda self: self.alive)
    @rule(pick=picks, which=picks, foreign=now_and_then)
    def close(self, pick: int, which: int, foreign: bool) -> None:
        client = self.client(pick)
        own = [opened for opened in self.imports if opened in client.imports]
        opened = one_of(self.imports if foreign else own, which)
        if opened is None:
            return
        command = ExportClose(request=client.raw.request(), import_id=opened.number)
        reply = client.raw.call(command)
        if self._told_lost(client, reply):
            return
        if opened not in client.imports:
            assert self._status(reply) is Status.BAD_OBJECT
            return
        assert isinstance(reply, Done)
        self._close(client, opened)

    @precondition(lambda self: self.alive)
    @rule(pick=picks, which=picks, foreign=now_and_then)
    def put(self, pick: int, which: int, foreign: bool) -> None:
        client, export = self.client(pick), one_of(self.exports, which)
        if export is None:
            return
        if not foreign and export.owner in self.alive:
            client = export.owner
        reply = client.raw.put(export.exported.token)
        if self._told_lost(client, reply):
            return
        if export not in client.exports:
            assert self._status(reply) is Status.BAD_TOKEN
            return
        assert isinstance(reply, Done)
        client.exports.remove(export)
        export.live = False
        export.settle()

    # --- what must hold after each step ------------------------------------------------------

    @invariant()
    def the_device_is_sound(self) -> None:
        self.pair.device.check()

    @invariant()
    def free_memory_is_exact(self) -> None:
        memory = self.pair.device.memory
        held = sum(
            item.pages for item in self.objects if item.alive and item.kind is ObjectKind.VRAM
        )
        assert memory.free_bytes == memory.size - memory.table_bytes - held * PAGE_SIZE
        if not any(client.vmid is not None and not client.lost for client in self.alive):
            assert memory.table_bytes == 0

    @invariant()
    def memory_files_are_open_exactly_while_needed(self) -> None:
        needed = [i for i in self.objects if i.alive and i.kind is ObjectKind.SYSTEM]
        assert len(self.pair.system_memory.open_files) == len(needed)

    @invariant()
    def every_page_is_the_one_that_was_mapped(self) -> None:
        """Two addresses share a page exactly when the oracle says so."""
        place: dict[int, tuple[int, int]] = {}
        for client in self.alive:
            if client.lost or client.vmid is None:
                continue
            state = self.pair.device._state.clients[client.raw.client_id]
            tables = state.spaces[client.vmid].space.tables
            for slot in range(SLOTS):
                found = walk(self.pair.device.memory, tables.root, BASE + slot * PAGE_SIZE)
                if slot not in client.slots:
                    assert found.page == 0
                    continue
                # Every object has frames of its own, wherever it is mapped.
                shown = (client.slots[slot].item.number, client.slots[slot].page)
                assert place.setdefault(found.page & ~RIGHTS_MASK, shown) == shown

    # --- the oracle --------------------------------------------------------------------------

    def _mapped(self, client: ModelClient, pick: int) -> int:
        """Return one of the slots that show something, if any does."""
        taken = sorted(client.slots) or [pick]
        return taken[pick % len(taken)]

    def _free(self, client: ModelClient, count: int, pick: int) -> int:
        """Return one of the first places where so many pages fit."""
        taken = set(client.slots)
        found = [at for at in range(4 * SLOTS) if not taken & set(range(at, at + count))]
        return found[pick % 3]

    def _mappings(self, item: ModelObject) -> bool:
        return any(
            page.item is item and page.via is None
            for client in self.alive
            for page in client.slots.values()
        )

    def _close(self, client: ModelClient, opened: ModelImport) -> None:
        client.slots = {at: page for at, page in client.slots.items() if page.via is not opened}
        client.imports.remove(opened)
        opened.export.opens -= 1
        opened.export.settle()

    def _end(self, client: ModelClient) -> None:
        """Give back what a client had, as its death does."""
        for export in client.exports:
            export.live = False
            export.settle()
        client.exports.clear()
        for opened in list(client.imports):
            self._close(client, opened)
        client.slots.clear()
        for item in client.objects:
            item.owned = False
        client.objects.clear()

    def _told_lost(self, client: ModelClient, reply: object) -> bool:
        """Whether the client's session is lost; then every reply says so."""
        if client.lost:
            assert self._status(reply) is Status.DEVICE_LOST
        return client.lost

    def _status(self, reply: object) -> Status:
        assert isinstance(reply, Refused), reply
        return reply.status

    def teardown(self) -> None:
        """Whatever happened: when everybody has gone everything is back."""
        for client in self.alive:
            self.pair.detach(client.raw)
        self.pair.step()
        self.pair.device.check()
        assert self.pair.device.memory.free_bytes == self.pair.spec.vram_size
        assert self.pair.system_memory.open_files == []


TestClients = ClientMachine.TestCase
TestClients.settings = settings(stateful_step_count=30)
