"""What a SYCL program does with memory: allocate, copy in, across and out, fill, wait."""

from __future__ import annotations

import dpctl
import numpy as np
from dpctl.memory import MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared

SIZE = 1 << 20

(device,) = dpctl.get_devices()
print(device.name)
queue = dpctl.SyclQueue(device)
numbers = np.random.default_rng(1).integers(0, 256, SIZE, dtype=np.uint8)
for kind in (MemoryUSMDevice, MemoryUSMHost, MemoryUSMShared):
    first, second = kind(SIZE, queue=queue), kind(SIZE, queue=queue)
    first.copy_from_host(numbers)
    second.copy_from_device(first)
    assert (second.copy_to_host() == numbers).all()
    second.memset(7)
    assert (second.copy_to_host() == 7).all()
    print(second.get_usm_type())

ordered = dpctl.SyclQueue(device, property="in_order")
there, back = MemoryUSMDevice(SIZE, queue=ordered), np.zeros_like(numbers)
written = ordered.memcpy_async(there, numbers, SIZE)
ordered.memcpy_async(back, there, SIZE, [written]).wait()
assert (back == numbers).all()
print("in order")
