"""Life cycles of clients: objects, maps, exports and opens against an oracle of plain Python.

After each step the whole device is checked, what clients see through the page tables is compared
with what the oracle says, and free memory is exactly what the oracle expects.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from device.core.paging import walk
from device.core.spec import DeviceSpec
from firmware.abi.control import ExportClose, ObjectKind, SpaceDestroy, Unmap
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.paging import RIGHTS_MASK
from firmware.abi.replies import Done, Mapped, Refused
from firmware.abi.status import Status
from tests.harness.clientmodel import ModelClient, ModelExport, ModelImport, ModelObject, ModelPage
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

VRAM_PAGES = 512
BASE = 1 << 30
SLOTS = 24
"""Pages of the part of each address space that is used."""


slots = st.integers(0, SLOTS - 1)
lengths = st.integers(1, 8)


class ClientMachine(RuleBasedStateMachine):
    clients = Bundle("clients")
    objects = Bundle("objects")
    exports = Bundle("exports")
    imports = Bundle("imports")

    @initialize()
    def power_up(self) -> None:
        spec = DeviceSpec(vram_size=VRAM_PAGES * PAGE_SIZE, max_clients=4)
        self.pair = DevicePair(spec, image=SMALL_IMAGE)
        self.alive: list[ModelClient] = []
        self.all_objects: list[ModelObject] = []

    # --- clients -----------------------------------------------------------------------------

    @precondition(lambda self: len(self.alive) < 4)
    @rule(target=clients)
    def attach(self) -> ModelClient:
        client = ModelClient(self.pair.attach())
        client.vmid = client.raw.space()
        self.alive.append(client)
        return client

    @rule(client=consumes(clients))
    def detach(self, client: ModelClient) -> None:
        self.pair.detach(client.raw)
        self.alive.remove(client)
        self._end(client)

    @precondition(lambda self: self.alive)
    @rule()
    def reset(self) -> None:
        self.pair.device.reset(self.pair.now)
        self.pair.step()
        for client in self.alive:
            client.lost = True
            self._end(client)

    @rule(client=clients)
    def destroy_space(self, client: ModelClient) -> None:
        if client.vmid is None:
            return
        reply = client.raw.call(SpaceDestroy(request=client.raw.request(), vmid=client.vmid))
        if self._told_lost(client, reply):
            return
        assert isinstance(reply, Done)
        self._clear(client, range(2 * SLOTS + 8))
        client.vmid = client.raw.space()

    # --- objects and mappings ----------------------------------------------------------------

    @rule(
        target=objects,
        client=clients,
        pages=lengths,
        kind=st.sampled_from([ObjectKind.VRAM, ObjectKind.VRAM, ObjectKind.SYSTEM]),
    )
    def create(self, client: ModelClient, pages: int, kind: ObjectKind) -> object:
        if client.lost:
            return multiple()
        number = client.raw.object(pages * PAGE_SIZE, kind)
        item = ModelObject(number, kind, pages, client)
        client.objects.add(item)
        self.all_objects.append(item)
        return item

    @rule(item=objects)
    def destroy(self, item: ModelObject) -> None:
        client = item.owner
        if client not in self.alive:
            return
        reply = client.raw.destroy(item.number)
        if self._told_lost(client, reply):
            return
        if not item.owned:
            assert isinstance(reply, Refused)
            assert reply.status is Status.BAD_OBJECT
        elif self._mappings(item):
            assert isinstance(reply, Refused)
            assert reply.status is Status.IN_USE
        else:
            assert isinstance(reply, Done)
            item.owned = False
            client.objects.remove(item)

    @rule(item=objects, slot=slots, first=st.integers(0, 7), length=lengths)
    def map(self, item: ModelObject, slot: int, first: int, length: int) -> None:
        client = item.owner
        if client not in self.alive:
            return
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

    @rule(client=clients, pick=slots, length=lengths)
    def unmap(self, client: ModelClient, pick: int, length: int) -> None:
        slot = self._mapped(client, pick)
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
        assert reply.page_count == self._clear(client, range(slot, slot + length))

    # --- exports and imports -----------------------------------------------------------------

    @rule(
        target=exports,
        client=clients,
        pick=slots,
        length=lengths,
        lead=st.integers(0, PAGE_SIZE - 1),
        tail=st.integers(0, PAGE_SIZE - 1),
    )
    def export(self, client: ModelClient, pick: int, length: int, lead: int, tail: int) -> object:
        slot = self._mapped(client, pick)
        while length and any(at not in client.slots for at in range(slot, slot + length)):
            length -= 1
        if client.lost or not length:
            return multiple()
        va = BASE + slot * PAGE_SIZE + lead
        size = max(length * PAGE_SIZE - lead - tail, 1)
        last = slot + (lead + size - 1) // PAGE_SIZE
        pages = [client.slots[at] for at in range(slot, last + 1)]
        made = ModelExport(client.raw.export(client.vmid or 0, va, size), pages, client)
        assert made.exported.window_offset == lead
        for item in made.objects():
            item.exports += 1
        client.exports.add(made)
        return made

    @rule(target=imports, client=clients, export=exports, slot=slots, anywhere=st.booleans())
    def open(self, client: ModelClient, export: ModelExport, slot: int, anywhere: bool) -> object:
        if not anywhere:
            count = len(export.pages)
            free = [
                at for at in range(2 * SLOTS) if not set(range(at, at + count)) & set(client.slots)
            ]
            slot = free[slot % len(free)]
        command = client.raw.open_command(
            client.vmid or 0, export.exported, BASE + slot * PAGE_SIZE
        )
        wanted = range(slot, slot + len(export.pages))
        fits = export.live and not any(at in client.slots for at in wanted)
        if client.lost or not fits:
            reply = client.raw.call(command)
            if not self._told_lost(client, reply):
                wrong = Status.OVERLAP if export.live else Status.BAD_TOKEN
                assert self._status(reply) is wrong
            return multiple()
        opened = client.raw.open(client.vmid or 0, export.exported, BASE + slot * PAGE_SIZE)
        made = ModelImport(opened.import_id, export)
        for at, page in zip(wanted, export.pages, strict=True):
            client.slots[at] = ModelPage(page.item, page.page, made)
        client.imports.add(made)
        export.opens += 1
        return made

    @rule(client=clients, opened=imports)
    def close(self, client: ModelClient, opened: ModelImport) -> None:
        command = ExportClose(request=client.raw.request(), import_id=opened.number)
        reply = client.raw.call(command)
        if self._told_lost(client, reply):
            return
        if opened not in client.imports:
            assert self._status(reply) is Status.BAD_OBJECT
            return
        assert isinstance(reply, Done)
        self._close(client, opened)

    @rule(client=clients, export=exports)
    def put(self, client: ModelClient, export: ModelExport) -> None:
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
            item.pages for item in self.all_objects if item.alive and item.kind is ObjectKind.VRAM
        )
        assert memory.free_bytes == memory.size - memory.table_bytes - held * PAGE_SIZE
        if not any(client.vmid is not None and not client.lost for client in self.alive):
            assert memory.table_bytes == 0

    @invariant()
    def memory_files_are_open_exactly_while_needed(self) -> None:
        needed = [i for i in self.all_objects if i.alive and i.kind is ObjectKind.SYSTEM]
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
            for slot in range(2 * SLOTS + 8):
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

    def _mappings(self, item: ModelObject) -> bool:
        return any(
            page.item is item and page.via is None
            for client in self.alive
            for page in client.slots.values()
        )

    def _clear(self, client: ModelClient, wanted: range) -> int:
        cleared = [at for at in wanted if at in client.slots]
        for at in cleared:
            del client.slots[at]
        return len(cleared)

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
