"""The Level Zero provider of the Unified Memory Framework: each kind of memory, and sharing it."""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

SIZE = 1 << 20
CONTEXT_DESC = 0xD
KINDS = {"host": 1, "device": 2, "shared": 3}
UMF = ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libumf.so.1"))
UMF.umfLevelZeroMemoryProviderOps.restype = c_void_p
ZE = ctypes.CDLL("libze_loader.so.1")


def umf(name: str, *arguments: object) -> None:
    """Call a function of the framework, which has to succeed."""
    result = getattr(UMF, name)(*arguments)
    assert result == 0, f"{name}: {result}"


def ze(name: str, *arguments: object) -> None:
    """Call a function of Level Zero, which has to succeed."""
    result = getattr(ZE, name)(*arguments)
    assert result == 0, f"{name}: {result:#x}"


def provider_of(kind: str, context: c_void_p, device: c_void_p) -> c_void_p:
    """Return a provider of one kind of memory."""
    params, provider = c_void_p(), c_void_p()
    umf("umfLevelZeroMemoryProviderParamsCreate", byref(params))
    set_param = "umfLevelZeroMemoryProviderParamsSet"
    umf(f"{set_param}Context", params, context)
    umf(f"{set_param}Device", params, c_void_p() if kind == "host" else device)
    umf(f"{set_param}MemoryType", params, c_int(KINDS[kind]))
    operations = c_void_p(UMF.umfLevelZeroMemoryProviderOps())
    umf("umfMemoryProviderCreate", operations, params, byref(provider))
    umf("umfLevelZeroMemoryProviderParamsDestroy", params)
    return provider


def share(kind: str, provider: c_void_p, memory: c_void_p) -> None:
    """Open memory a second time by its handle; of host memory say why that is refused."""
    size, opened, why = c_size_t(), c_void_p(), c_char_p()
    umf("umfMemoryProviderGetIPCHandleSize", provider, byref(size))
    handle = ctypes.create_string_buffer(size.value)
    umf("umfMemoryProviderGetIPCHandle", provider, memory, c_size_t(SIZE), handle)
    if kind == "host":
        # A provider of host memory has no device, and hands that over.
        assert UMF.umfMemoryProviderOpenIPCHandle(provider, handle, byref(opened)) != 0
        ze("zerGetLastErrorDescription", byref(why))
        print((why.value or b"").decode())
    else:
        umf("umfMemoryProviderOpenIPCHandle", provider, handle, byref(opened))
        assert opened.value not in {None, memory.value}
        umf("umfMemoryProviderCloseIPCHandle", provider, opened, c_size_t(SIZE))
    umf("umfMemoryProviderPutIPCHandle", provider, handle)


def main() -> None:
    """Use a provider of each kind."""
    one, driver, device, context = c_uint32(1), c_void_p(), c_void_p(), c_void_p()
    ze("zeInit", 0)
    ze("zeDriverGet", byref(one), byref(driver))
    ze("zeDeviceGet", driver, byref(one), byref(device))
    ze("zeContextCreate", driver, (c_uint64 * 3)(CONTEXT_DESC, 0, 0), byref(context))
    for kind in KINDS:
        provider = provider_of(kind, context, device)
        memory, page = c_void_p(), c_size_t()
        umf("umfMemoryProviderAlloc", provider, c_size_t(SIZE), c_size_t(4096), byref(memory))
        umf("umfMemoryProviderGetMinPageSize", provider, memory, byref(page))
        if kind != "shared":
            share(kind, provider, memory)
        if kind != "device":
            ctypes.memset(memory, 1, SIZE)
        umf("umfMemoryProviderFree", provider, memory, c_size_t(SIZE))
        UMF.umfMemoryProviderDestroy(provider)
        print(kind, page.value)
    ze("zeContextDestroy", context)


if __name__ == "__main__":
    main()
