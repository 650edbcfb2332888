"""The device: doorbells, finished chunks and time go in, effects come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from device.core.blocks import Blocks
from device.core.errors import DeviceError
from device.core.inside import Inside
from device.core.lifecycle import Trigger
from device.core.micro_controller import MicroController
from device.core.publisher import Publisher
from device.core.pump import Pump
from device.core.supervisor import Supervisor
from firmware.abi.ids import ABI_MINOR, Feature
from firmware.abi.status import Status

if TYPE_CHECKING:
    from device.core.effects import Effect
    from device.core.firmware import BootRefused, Loader
    from device.core.inside import Rounds
    from device.core.memory import Chunk, MemoryController
    from device.core.ports import ClientPort, Ports
    from device.core.spec import DeviceSpec
    from firmware.abi.handshake import Purpose
    from firmware.abi.registers import DeviceStatus, Phase
    from firmware.abi.statistics import DeviceStatistics
    from firmware.link.layout import SegmentPlan

ALL_FEATURES: Final = Feature(sum(Feature))


@final
class Device:
    """One emulated GPU.

    Owner: the shell, which calls one method at a time, carries out the effects in their order, and
    calls `work` while `has_work` is true, when a `WakeAt` is due, and after `ring`, `chunk_done`
    and `detach`. A notice for a client that has gone is to be ignored.

    Bytes of clients never raise here. A bug of ours while one client is served ends that client's
    session (`Disconnect`); if `check` then fails the device halts (`Halted`). With `strict`, for
    tests, every bug raises.
    """

    def __init__(  # noqa: PLR0913 - the world of a device
        self,
        spec: DeviceSpec,
        vram: memoryview,
        ports: Ports,
        loader: Loader,
        firmware_image: bytes | None = None,
        now: int = 0,
        *,
        device_index: int = 0,
        emulator_id: int = 0,
        strict: bool = False,
    ) -> None:
        """Power the device up, and boot it when there is an image.

        Args:
            spec: what it is.
            vram: its memory: writable, zeroed, `spec.vram_size` bytes, nobody else's.
            ports: the world around it.
            loader: boot code of its micro-controller.
            firmware_image: first image; refused or missing, the device has to be booted.
            now: device time in nanoseconds.
            device_index: which device of the emulator it is.
            emulator_id: random number of the emulator.
            strict: raise on bugs instead of ending one client.
        """
        self._blocks = Blocks.build(spec, vram, ports, device_index, emulator_id)
        state = self._state = self._blocks.state
        hardware = self._blocks.hardware
        self._mcu = MicroController(loader, state.lifecycle, hardware, spec)
        self._publisher = Publisher(state, self._blocks.memory, hardware.reports, ports.cpu_count)
        self._supervisor = Supervisor(self._blocks, self._mcu, self._publisher, strict=strict)
        self._pump = Pump(self._blocks, self._mcu, self._publisher, self._supervisor)
        self.rounds: Rounds = self._pump
        """Does the rounds of work; something may come in front of it that passes calls on."""
        self.inside = Inside(self._blocks, self._mcu, self._publisher, self._supervisor, self._pump)
        """Its parts, for those who come in between them."""
        state.now = now
        if firmware_image is not None:
            self.boot(firmware_image, now)

    @property
    def memory(self) -> MemoryController:
        """The memory controller, for fault injection and observers."""
        return self._blocks.memory

    @property
    def phase(self) -> Phase:
        """Phase of the device."""
        return self._state.lifecycle.phase

    @property
    def last_bug(self) -> Exception | None:
        """The last bug of ours that ended a client's session, for a dump."""
        return self._supervisor.last_bug

    @property
    def status(self) -> DeviceStatus:
        """Register STATUS, without what concerns one client."""
        return self._blocks.hardware.reports.status()

    @property
    def features(self) -> Feature:
        """Features that a client may agree on."""
        return self._blocks.hardware.configuration.features

    @property
    def spec(self) -> DeviceSpec:
        """The specification, limited by the firmware that runs."""
        return self._blocks.hardware.configuration.spec

    @property
    def segment_plan(self) -> SegmentPlan:
        """Layout of the segment that the next client needs.

        Raises:
            DeviceError: DEVICE_LOST (detail: register STATUS) while clients cannot attach.
        """
        return self._blocks.sessions.plan()

    @property
    def has_work(self) -> bool:
        """Whether another call of `work` is useful now; looks at every doorbell page."""
        return self.rounds.watch(1)

    def watch(self, looks: int) -> bool:
        """Return `has_work` as soon as it is true, looking at the doorbells up to `looks` times.

        One look takes 0.2 us for each client: whoever polls would spend more on the call.
        """
        return self.rounds.watch(looks)

    def doorbells(self) -> list[tuple[memoryview, bytes]] | None:
        """Return the doorbell words of each client, and what stood there when they were taken.

        Whoever polls may compare them by itself instead of asking `watch`: before they change, only
        time, a finished chunk or another call gives the device something to do. None: now `watch`
        has to be asked.
        """
        # What came in front of the rounds may have reasons of its own.
        return self._pump.doorbells() if self.rounds is self._pump else None

    def boot(self, image: bytes, now: int) -> BootRefused | None:
        """Boot a firmware image; return why it was refused, or None.

        Raises:
            DeviceError: IN_USE (detail: register STATUS) unless the phase is RESET or BOOT.
        """
        self._state.now = now
        if not self._state.lifecycle.allows(Trigger.BOOTED):
            raise DeviceError(Status.IN_USE, int(self.status))
        refused = self._mcu.boot(image)
        self._publisher.everything()
        return refused

    def attach(
        self,
        port: ClientPort,
        purpose: Purpose,
        now: int,
        *,
        features: Feature = ALL_FEATURES,
        abi_minor: int = ABI_MINOR,
    ) -> int:
        """Attach a client and return its number; its segment is complete then.

        Args:
            port: the client.
            purpose: why it attaches.
            now: device time in nanoseconds.
            features: what it wants; it gets what the device has of them.
            abi_minor: the highest minor version that it speaks.

        Raises:
            DeviceError: DEVICE_LOST (detail: register STATUS) while clients cannot attach; LIMIT
                (detail: most clients); MISMATCH (detail: size that the segment must have).
        """
        self._state.now = now
        client = self._blocks.sessions.attach(port, purpose, features, abi_minor)
        self._publisher.everything()
        return client.client_id

    def detach(self, client_id: int, now: int) -> None:
        """Forget a client that has gone, at any point; unknown numbers are ignored.

        What it had comes back at once, save what a chunk in flight uses: that comes back, and the
        device lets go of the segment, when the chunk is done.
        """
        self._state.now = now
        client = self._state.clients.get(client_id)
        if client is not None:
            self._blocks.sessions.detach(client)
            self._publisher.everything()
            self._pump.dirty = True

    def ring(self, client_id: int) -> None:
        """Note that a client rang its bell; unknown numbers are ignored."""
        client = self._state.clients.get(client_id)
        if client is not None:
            client.rung = True

    def note_interrupt(self, client_id: int) -> None:
        """Count an interrupt that the shell raised; those of observers count nowhere."""
        client = self._state.clients.get(client_id)
        if client is not None and client.counted:
            self._state.interrupts += 1

    def work(self, now: int) -> list[Effect]:
        """Look at the doorbells, answer control commands, give each queue in line one turn."""
        self._state.now = now
        return self.rounds.work(now)

    def chunk_done(self, chunk: Chunk, now: int) -> None:
        """Take back a chunk that was run; `chunk.error` says how it went.

        Raises:
            InternalError: a chunk that is not in flight.
        """
        self._state.now = now
        self._pump.chunk_done(chunk)

    def prepare_sleep(self) -> None:
        """Ask every client to ring its bell; then fence, and sleep only if `has_work` is false."""
        self._pump.prepare_sleep()

    def scrub(self, budget_bytes: int) -> int:
        """Zero frames that may hold a former owner's bytes, for idle time; return the bytes."""
        return self._blocks.memory.scrub_some(budget_bytes)

    def drain(self, now: int) -> None:
        """Take no new clients; those that are here go on."""
        self._state.now = now
        self._supervisor.drain()

    def reset(self, now: int) -> None:
        """Return to the state after boot; sessions that exist are lost, new ones work.

        Memory that a chunk in flight uses is free when the chunk is done.

        Raises:
            DeviceError: DEVICE_LOST (detail: register STATUS) when the device halted.
        """
        self._state.now = now
        self._supervisor.reset()
        self._pump.dirty = True

    def statistics(self) -> DeviceStatistics:
        """Return the counters of the device."""
        return self._blocks.hardware.reports.device()

    def check(self) -> None:
        """Raise InvariantError when anything contradicts anything; costs a walk of all tables."""
        self._supervisor.check()
