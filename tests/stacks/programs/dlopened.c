/* A driver without a loader: opened, its tables fetched by their getters, used, closed, again. */
#include <dlfcn.h>
#include <level_zero/ze_ddi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../clib/programs/require.h"

enum { ROUNDS = 3, SIZE = 4096, SLOTS_OF_NEWER_VERSIONS = 64 };

typedef ze_result_t (*getter)(ze_api_version_t version, void *table);

/* A table as this program knows it, and what lies behind it. */
#define TABLE(type)                                                                                \
    struct {                                                                                       \
        type table;                                                                                \
        void *behind[SLOTS_OF_NEWER_VERSIONS];                                                     \
    }

static void fill(void *driver, const char *name, void *table, size_t size)
{
    /* POSIX has functions be pointers, which ISO C does not know of. */
    void *found = dlsym(driver, name);
    getter get;
    void **behind = (void **)((char *)table + size);

    REQUIRE(found != NULL);
    memcpy(&get, &found, sizeof(get));
    memset(table, 0, size);
    for (int index = 0; index < SLOTS_OF_NEWER_VERSIONS; index++)
        behind[index] = driver;
    REQUIRE(get(ZE_API_VERSION_CURRENT, table) == ZE_RESULT_SUCCESS);
    for (int index = 0; index < SLOTS_OF_NEWER_VERSIONS; index++)
        REQUIRE(behind[index] == driver);
}

#define FILL(driver, type, into) fill(driver, "zeGet" #type "ProcAddrTable", &(into), sizeof((into).table))

static void use(const char *path)
{
    void *driver = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    TABLE(ze_global_dditable_t) global;
    TABLE(ze_driver_dditable_t) drivers;
    TABLE(ze_device_dditable_t) devices;
    TABLE(ze_context_dditable_t) contexts;
    TABLE(ze_mem_dditable_t) memories;
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_driver_handle_t the_driver;
    ze_device_handle_t the_device;
    ze_context_handle_t context;
    uint32_t count = 1;
    char *memory;

    REQUIRE(driver != NULL);
    FILL(driver, Global, global);
    FILL(driver, Driver, drivers);
    FILL(driver, Device, devices);
    FILL(driver, Context, contexts);
    FILL(driver, Mem, memories);
    REQUIRE(global.table.pfnInit(0) == ZE_RESULT_SUCCESS);
    REQUIRE(drivers.table.pfnGet(&count, &the_driver) == ZE_RESULT_SUCCESS);
    REQUIRE(devices.table.pfnGet(the_driver, &count, &the_device) == ZE_RESULT_SUCCESS);
    REQUIRE(contexts.table.pfnCreate(the_driver, &desc, &context) == ZE_RESULT_SUCCESS);
    REQUIRE(memories.table.pfnAllocHost(context, &host, SIZE, 0, (void **)&memory) ==
            ZE_RESULT_SUCCESS);
    memset(memory, 1, SIZE);
    REQUIRE(memories.table.pfnFree(context, memory) == ZE_RESULT_SUCCESS);
    REQUIRE(contexts.table.pfnDestroy(context) == ZE_RESULT_SUCCESS);
    REQUIRE(dlclose(driver) == 0);
}

int main(int count, char **arguments)
{
    int before;

    REQUIRE(count == 2);
    use(arguments[1]);
    before = count_descriptors();
    for (int round = 1; round < ROUNDS; round++)
        use(arguments[1]);
    REQUIRE(count_descriptors() == before);
    return 0;
}
