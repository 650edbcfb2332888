/* Allocating memory: pointers that the CPU may use, sizes, alignments, errors that leave nothing. */
#include "check.h"

static const ze_host_mem_alloc_desc_t HOST = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
static const ze_device_mem_alloc_desc_t DEVICE = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};

int main(void)
{
    void *host = NULL;
    void *device = NULL;
    void *shared = NULL;
    void *base;
    void *kept = (void *)0x1234;
    size_t size;
    const char *why = NULL;
    ze_base_desc_t last = {(ze_structure_type_t)0x12345, NULL};
    ze_base_desc_t link = {(ze_structure_type_t)0, &last};
    ze_host_mem_alloc_desc_t untagged = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &link};

    begin();
    DO(zeMemAllocHost(the_context, &HOST, 100001, 0, &host));
    memset(host, 0x5A, 100001);
    REQUIRE(((unsigned char *)host)[100000] == 0x5A);
    DO(zeMemAllocShared(the_context, &DEVICE, &HOST, 4096, 8u << 20, the_device, &shared));
    REQUIRE((uintptr_t)shared % (8u << 20) == 0);
    *(volatile int *)shared = 7;
    DO(zeMemAllocDevice(the_context, &DEVICE, 1, 0, the_device, &device));
    DO(zeMemGetAddressRange(the_context, (char *)host + 99999, &base, &size));
    REQUIRE(base == host && size == 100001);
    DO(zeMemGetAddressRange(the_context, device, NULL, &size));
    REQUIRE(size == 1);

    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
           zeMemAllocDevice(the_context, &DEVICE, 0, 0, the_device, &kept));
    DO(zeDriverGetLastErrorDescription(the_driver, &why));
    REQUIRE(strstr(why, "size") != NULL);
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
           zeMemAllocHost(the_context, &HOST, 64, 3, &kept));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeMemAllocHost(the_context, NULL, 64, 0, &kept));
    REQUIRE(kept == NULL);

    /* A link without a tag is passed over like every unknown one, with what comes behind it. */
    DO(zeMemAllocHost(the_context, &untagged, 100, 4096, &kept));
    DO(zeMemGetAddressRange(the_context, kept, &base, &size));
    REQUIRE(base == kept && size == 100);
    DO(zeMemFree(the_context, kept));

    DO(zeMemFree(the_context, host));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, host));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, &size));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeMemFree(the_context, NULL));
    DO(zeMemFree(the_context, device));
    DO(zeMemFree(the_context, shared));
    DO(zeContextDestroy(the_context));
    return 0;
}
