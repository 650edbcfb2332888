/* A program that has as many mappings as it may can still free its memory, and then make more. */
#include "check.h"

#include <sys/mman.h>

static const ze_host_mem_alloc_desc_t HOST = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

int main(void)
{
    void *first = NULL;
    void *second = NULL;
    void *third = NULL;
    ze_ipc_mem_handle_t handle;
    void *opened = NULL;

    begin();
    DO(zeMemAllocHost(the_context, &HOST, 65536, 0, &first));
    DO(zeMemAllocHost(the_context, &HOST, 65536, 0, &second));
    DO(zeMemGetIpcHandle(the_context, first, &handle));
    DO(zeMemOpenIpcHandle(the_context, the_device, handle, 0, &opened));
    /* Each is shared memory of its own, which the system joins to no other. */
    while (mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        ;

    DO(zeMemCloseIpcHandle(the_context, opened));
    DO(zeMemFree(the_context, first));
    DO(zeMemFree(the_context, second));
    DO(zeMemAllocHost(the_context, &HOST, 65536, 0, &third));
    memset(third, 0x5A, 65536);
    DO(zeMemFree(the_context, third));
    DO(zeContextDestroy(the_context));
    return 0;
}
