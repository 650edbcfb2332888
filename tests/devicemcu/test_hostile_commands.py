"""Any bytes in the control ring: one refusal each, nothing changed, everybody else served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from firmware.abi.control import CONTROL_COMMANDS, ControlOpcode
from firmware.abi.ids import PAGE_SIZE
from firmware.abi.replies import REPLIES, Refused
from firmware.abi.status import Status
from tests.harness.devicepair import SMALL_IMAGE, DevicePair

if TYPE_CHECKING:
    from tests.harness.stepped_client import RawClient

VA = 1 << 30
UNKNOWN = sorted(set(range(256)) - set(CONTROL_COMMANDS))


def test_every_command_of_the_contract_is_carried_out() -> None:
    pair = DevicePair()
    firmware = pair.device._mcu.firmware

    assert set(firmware._operations) == set(ControlOpcode) == set(REPLIES)  # type: ignore[union-attr]


def answer(client: RawClient, data: bytes) -> Refused | None:
    client.send(data)
    client.step()
    (reply,) = client.replies()
    assert reply.opcode == int.from_bytes(data[:2], "little")
    assert reply.request == int.from_bytes(data[4:8], "little")
    return reply if isinstance(reply, Refused) else None


@given(st.sampled_from(UNKNOWN), st.binary(min_size=62, max_size=62))
def test_unknown_operations_are_refused(opcode: int, rest: bytes) -> None:
    client = DevicePair(vram_size=1 << 20, image=SMALL_IMAGE).attach()

    refused = answer(client, opcode.to_bytes(2, "little") + rest)

    assert refused is not None
    assert refused.status is Status.UNKNOWN_OPCODE


@given(st.sampled_from(sorted(CONTROL_COMMANDS)), st.data())
def test_a_reserved_byte_is_refused_where_it_is(opcode: int, data: st.DataObject) -> None:
    pair = DevicePair(vram_size=1 << 20, image=SMALL_IMAGE)
    client = pair.attach()
    record = CONTROL_COMMANDS[opcode]
    gaps = [part for part in record.PARTS if part.name.startswith("reserved_")]
    part = data.draw(st.sampled_from(gaps))
    entry = bytearray(64)
    entry[:2] = opcode.to_bytes(2, "little")
    entry[data.draw(st.integers(part.offset, part.end - 1))] = 0x55

    refused = answer(client, bytes(entry))

    assert refused is not None
    assert (refused.status, refused.detail) == (Status.MALFORMED, part.offset)
    pair.device.check()


numbers = st.sampled_from([0, 1, 2, 3, 4096, 8192, 1 << 16, VA, (1 << 48) - 4096, (1 << 64) - 4096])


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(CONTROL_COMMANDS)),
            st.lists(numbers, min_size=7, max_size=7),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_plausible_commands_never_break_the_device(
    commands: list[tuple[int, list[int], bool]],
) -> None:
    pair = DevicePair(vram_size=1 << 20, image=SMALL_IMAGE)
    client, bystander = pair.attach(), pair.attach()
    vmid = bystander.space()
    bystander.map(vmid, VA, PAGE_SIZE, bystander.object(PAGE_SIZE))
    for request, (opcode, values, narrow) in enumerate(commands):
        entry = bytearray(opcode.to_bytes(8, "little"))
        entry[4:8] = request.to_bytes(4, "little")
        for value in values:
            size = 4 if narrow else 8
            entry += (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        answer(client, bytes(entry[:64].ljust(64, b"\0")))
        pair.device.check()

    assert bystander.unmap(vmid, VA, PAGE_SIZE) == 1
    pair.detach(client)
    pair.detach(bystander)
    assert pair.device.memory.free_bytes == pair.spec.vram_size
    pair.device.check()


@settings(max_examples=50)
@given(st.binary(min_size=64, max_size=64 * 8))
def test_random_bytes_never_break_the_device(data: bytes) -> None:
    pair = DevicePair(vram_size=1 << 20, image=SMALL_IMAGE)
    client = pair.attach()
    for at in range(0, len(data) - 63, 64):
        answer(client, data[at : at + 64])

    pair.device.check()
