"""Which engines the ordinal of a queue means."""

import pytest

from firmware.abi.control import QueueKind
from hostdriver.api.queue_groups import check_queue, queue_groups
from tests.harness.blocks import spec_block
from tests.harness.levelzero import fails

SPEC = spec_block(compute_engine_count=2, copy_engine_count=3)


def test_ordinals_name_groups_and_indices_queues() -> None:
    assert check_queue(SPEC, 0, 1).kind is QueueKind.COMPUTE
    assert check_queue(SPEC, 1, 2).kind is QueueKind.COPY


@pytest.mark.parametrize(("ordinal", "index"), [(2, 0), (-1, 0), (0, 2), (1, 3), (0, -1)])
def test_what_there_is_not_is_refused(ordinal: int, index: int) -> None:
    with fails("INVALID_ARGUMENT", "desc."):
        check_queue(SPEC, ordinal, index)


def test_a_device_that_cannot_compute_copies_still() -> None:
    (group,) = queue_groups(spec_block(compute_engine_count=0, copy_group=0))
    assert group.kind is QueueKind.COPY
    assert group.properties.num_queues == 2
