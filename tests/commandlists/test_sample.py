"""The specification's sample for memory of the system: its list, its wait, results, and end."""

import pytest

from firmware.abi.ids import PAGE_SIZE
from hostdriver import levelzero as ze
from tests.harness.application_memory import bring, heap, peek, poke


@pytest.mark.sentence("MEMMAP-34", "MEMMAP-35")
def test_the_cpu_finds_the_results_after_the_wait_and_each_part_goes_in_its_turn(
    context: ze.Context, device: ze.Device, memory: int
) -> None:
    with heap(2 * PAGE_SIZE) as buffer:
        pointer = bring(context, buffer, 2 * PAGE_SIZE, alignment=PAGE_SIZE)
        commands = context.command_list_create_immediate(device)
        poke(buffer, b"input")
        commands.append_memory_copy(memory, pointer, 5)
        commands.append_memory_copy(pointer + PAGE_SIZE, memory, 5)
        commands.append_memory_fill(pointer, b"res.", 8)

        commands.host_synchronize(ze.INFINITE)

        assert peek(buffer, 8) == b"res.res."
        assert peek(buffer + PAGE_SIZE, 5) == b"input"

        commands.destroy()
        # The mapping works without the list,
        context.memory_write(pointer + 8, b"after")
        assert peek(buffer, 13) == b"res.res.after"
        context.mem_free(pointer)
        # and the buffer without the mapping.
        poke(buffer, b"mine")
        assert peek(buffer, 13) == b"mineres.after"
