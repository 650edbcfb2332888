"""Invariant: no bytes in rings make the device raise, touch others, or lose its own invariants."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given, settings

from firmware.abi.ids import PAGE_SIZE
from firmware.abi.rings import HEAD, HEAD_EVENT, STATE, TAIL, U32_MASK, RingHeader, RingState
from firmware.abi.segment import FenceSlot
from firmware.abi.work import WORK_COMMANDS, WorkOpcode
from tests.harness.engine import LIMITS, Rig, copy, make_spec, nop, signal

BASE = 0x10_0000

opcodes = st.one_of(st.sampled_from([int(code) for code in WorkOpcode]), st.integers(0, 0xFFFF))
numbers = st.one_of(
    st.integers(BASE, BASE + 8 * PAGE_SIZE),
    st.sampled_from([0, 1, 8, PAGE_SIZE, 1 << 20, 1 << 32, 1 << 48, 1 << 63, (1 << 64) - 1]),
    st.integers(0, (1 << 64) - 1),
)


@st.composite
def entries(draw: st.DrawFn) -> bytes:
    """Draw 64 bytes: noise, or a command whose fields are any numbers."""
    if draw(st.booleans()):
        return draw(st.binary(min_size=64, max_size=64))
    opcode = draw(opcodes)
    record = WORK_COMMANDS.get(opcode)
    raw = bytearray(64)
    raw[:2] = opcode.to_bytes(2, "little")
    raw[2:4] = draw(st.sampled_from([0, 0, 0, 1, 2, 4, 7, 0x8000])).to_bytes(2, "little")
    for part in record.FIELDS[3:] if record else ():
        value = draw(numbers) & ((1 << 8 * part.size) - 1)
        raw[part.offset : part.end] = value.to_bytes(part.size, "little")
    return bytes(raw)


@settings(max_examples=150)
@given(
    commands=st.lists(entries(), max_size=60),
    tail=st.one_of(st.none(), st.integers(0, U32_MASK)),
    noise=st.binary(min_size=64, max_size=64),
)
def test_any_bytes_end_in_a_defined_state(
    commands: list[bytes], tail: int | None, noise: bytes
) -> None:
    rig = Rig(make_spec(vram_size=1 << 20))
    client, neighbour = rig.client(), rig.client()
    for each in (client, neighbour):
        each.map(BASE, 8 * PAGE_SIZE)
    neighbour.poke(BASE, b"n" * (8 * PAGE_SIZE))
    lane, other = client.queue(), neighbour.queue()

    lane.publish(*commands)
    # The host's own line of the ring is the host's to spoil; the device's is not read back.
    if tail is not None:
        client.words.store32(lane.queue.header + TAIL, tail)
    client.words.u8[lane.queue.header + HEAD : lane.queue.header + HEAD + 8] = noise[:8]
    client.words.u8[lane.queue.header + HEAD_EVENT : lane.queue.header + 0x40] = noise[:60]
    fault_ring = client.plan.fault_ring_offset
    client.words.u8[fault_ring + HEAD : fault_ring + HEAD + 8] = noise[8:16]
    rig.scheduler.kick(lane.queue)
    other.submit(nop(), copy(BASE, BASE + PAGE_SIZE, 64), signal(0, 1))
    rig.run(wait=True)

    state = client.words.load32(lane.queue.header + STATE)
    assert state in (RingState.RUNNING, RingState.STOPPED)
    assert lane.completed == lane.queue.completed <= len(commands) + 64
    assert other.completed == 3
    assert neighbour.slot(0).value == 1
    assert neighbour.peek(BASE, 8 * PAGE_SIZE) == b"n" * (8 * PAGE_SIZE)
    rig.memory.check()
    client.space.check()

    lane.reset()
    lane.submit(nop())
    rig.run()
    assert client.words.load32(lane.queue.header + STATE) == RingState.RUNNING
    assert lane.completed == lane.queue.taken


@settings(max_examples=50)
@given(data=st.data())
def test_host_may_change_every_byte_of_its_segment_between_calls(data: st.DataObject) -> None:
    rig = Rig(make_spec(vram_size=1 << 20))
    client = rig.client()
    client.map(BASE, 8 * PAGE_SIZE)
    lanes = [client.queue(entries=8) for _ in range(2)]
    size = RingHeader.SIZE + 8 * 64
    targets = [(lane.queue.header, size) for lane in lanes]
    targets.append((client.plan.fences_offset, LIMITS.fence_count * FenceSlot.SIZE))
    targets.append((client.plan.fault_ring_offset, size))
    targets.append((client.plan.registers_offset, 0x40))

    for _ in range(data.draw(st.integers(1, 8))):
        start, length = data.draw(st.sampled_from(targets))
        at = start + data.draw(st.integers(0, length - 64)) // 8 * 8
        noise = data.draw(st.one_of(entries(), st.just(bytes(64))))
        client.words.u8[at : at + 64] = noise
        for lane in lanes:
            rig.scheduler.kick(lane.queue)
            client.engine.faults.take_acknowledgement()
        for _ in range(3):
            rig.step()
            while rig.chunks:
                rig.finish_chunk()
    rig.memory.check()
