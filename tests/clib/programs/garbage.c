/* Chains that lead nowhere: what programs leave in structures whose chain they do not use. */
#include <sys/mman.h>

#include "check.h"

enum { PAGE = 4096, HEAD = 16 };

static void query_with(const void *next)
{
    ze_device_properties_t device = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, (void *)next};
    ze_driver_properties_t driver = {ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, (void *)next};

    DO(zeDeviceGetProperties(the_device, &device));
    REQUIRE(device.type == ZE_DEVICE_TYPE_GPU && device.name[0] && device.pNext == next);
    DO(zeDriverGetProperties(the_driver, &driver));
    REQUIRE(driver.driverVersion && driver.pNext == next);
}

static void allocate_with(const void *next)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, next};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, (void *)next};
    void *pointer;

    DO(zeMemAllocDevice(the_context, &desc, PAGE, 0, the_device, &pointer));
    DO(zeMemGetAllocProperties(the_context, pointer, &properties, NULL));
    REQUIRE(properties.type == ZE_MEMORY_TYPE_DEVICE);
    DO(zeMemFree(the_context, pointer));
}

/* What is there of a chain counts, up to the link that is not. */
static void extend_with(const void *next)
{
    ze_device_ip_version_ext_t version = {ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT, (void *)next};
    ze_device_properties_t device = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &version};

    DO(zeDeviceGetProperties(the_device, &device));
    REQUIRE(version.ipVersion);
}

int main(void)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* A link that begins in the last bytes that are there: all of its head, half of it. */
    ze_device_ip_version_ext_t *cut = (void *)(pages + PAGE - HEAD);
    const void *nowhere[] = {(void *)0x834853550000441f, (void *)0x8, (void *)UINTPTR_MAX,
                             (void *)(UINTPTR_MAX - HEAD), pages + PAGE, cut,
                             pages + PAGE - HEAD / 2};

    begin();
    REQUIRE(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    for (size_t index = 0; index < sizeof(nowhere) / sizeof(*nowhere); index++) {
        cut->stype = ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT;
        cut->pNext = NULL;
        query_with(nowhere[index]);
        allocate_with(nowhere[index]);
        extend_with(nowhere[index]);
    }
    DO(zeContextDestroy(the_context));
    return 0;
}
