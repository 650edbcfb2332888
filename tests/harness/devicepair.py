"""A real device and raw clients in one process, stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from device.core.device import Device
from device.core.effects import Disconnect, Effect, Halted, Notify, RunChunk, WakeAt
from device.core.ports import Ports
from device.core.spec import DeviceSpec
from device.mcu import BootCode
from firmware.abi.handshake import Purpose
from firmware.image import REFERENCE_LIMITS, REFERENCE_NOTE, build_image, reference_image
from tests.harness.deviceworld import CountedTokens, HeapMemory, HeapPort
from tests.harness.stepped_client import RawClient

if TYPE_CHECKING:
    from device.core.firmware import Loader
    from device.core.memory import Chunk
    from firmware.abi.ids import Feature

IMAGE = reference_image()
SMALL_IMAGE = build_image(
    REFERENCE_NOTE,
    msgspec.structs.replace(
        REFERENCE_LIMITS,
        control_ring_entries=64,
        max_ring_entries=64,
        payload_size=1 << 16,
        ring_pool_size=1 << 16,
    ),
)
"""Firmware with small rings: segments are made in no time."""
EMULATOR_ID = 0xE0E0_1234
MOST_ROUNDS = 10_000


class DevicePair:
    """A device over plain memory. Time stands still unless a test moves `now`.

    Chunks of large copies run at once, or wait in `chunks` while `hold_chunks` is set.
    """

    def __init__(
        self,
        spec: DeviceSpec | None = None,
        *,
        vram_size: int = 4 << 20,
        image: bytes | None = IMAGE,
        loader: Loader | None = None,
        strict: bool = True,
        cpu_count: int = 2,
    ) -> None:
        self.spec = spec or DeviceSpec(vram_size=vram_size)
        self.vram = bytearray(self.spec.vram_size)
        self.tokens = CountedTokens()
        self.system_memory = HeapMemory()
        self.now = 1_000
        self.hold_chunks = False
        self.chunks: list[Chunk] = []
        self.effects: list[Effect] = []
        """Effects of the last step, chunks left out."""
        self.ports: dict[int, HeapPort] = {}
        self.device = Device(
            self.spec,
            memoryview(self.vram),
            Ports(tokens=self.tokens, system_memory=self.system_memory, cpu_count=cpu_count),
            loader or BootCode(),
            image,
            self.now,
            emulator_id=EMULATOR_ID,
            strict=strict,
        )

    def attach(self, purpose: Purpose = Purpose.WORK, features: Feature | None = None) -> RawClient:
        """Attach a client."""
        plan = self.device.segment_plan
        port = HeapPort(memoryview(bytearray(plan.size)))
        if features is None:
            client_id = self.device.attach(port, purpose, self.now)
        else:
            client_id = self.device.attach(port, purpose, self.now, features=features)
        self.ports[client_id] = port
        return RawClient(port.segment, self.step, lambda: self.device.ring(client_id))

    def port(self, client: RawClient) -> HeapPort:
        """Return the port of a client."""
        return self.ports[client.client_id]

    def detach(self, client: RawClient) -> None:
        """Let a client die."""
        self.device.detach(client.client_id, self.now)

    def step(self) -> None:
        """Let the device work until it has nothing more to do."""
        self.effects = []
        for _ in range(MOST_ROUNDS):
            for effect in self.device.work(self.now):
                self._carry_out(effect)
            if not self.device.has_work:
                return
        raise AssertionError("the device never comes to rest")

    def finish_chunks(self) -> None:
        """Run the chunks that were held, and step."""
        while self.chunks:
            self._run(self.chunks.pop(0))
            self.step()

    def notices(self, client: RawClient) -> list[Notify]:
        """Return the notices of the last step for one client."""
        found = [effect for effect in self.effects if isinstance(effect, Notify)]
        return [notice for notice in found if notice.client_id == client.client_id]

    def wakes(self) -> list[int]:
        """Return the ticks of the last step at which the device wants to work again."""
        return [effect.tick for effect in self.effects if isinstance(effect, WakeAt)]

    def disconnected(self) -> list[Disconnect]:
        """Return the disconnections of the last step."""
        return [effect for effect in self.effects if isinstance(effect, Disconnect)]

    def halted(self) -> list[str]:
        """Return why the device halted in the last step, if it did."""
        return [effect.reason for effect in self.effects if isinstance(effect, Halted)]

    def _carry_out(self, effect: Effect) -> None:
        if not isinstance(effect, RunChunk):
            self.effects.append(effect)
        elif self.hold_chunks:
            self.chunks.append(effect.chunk)
        else:
            self._run(effect.chunk)

    def _run(self, chunk: Chunk) -> None:
        chunk.run()
        self.device.chunk_done(chunk, self.now)
