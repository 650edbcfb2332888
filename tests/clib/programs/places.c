/* What pointers name, while many threads allocate, free, map and unmap around each other.
 *
 * Every thread asks about its own memory, about memory that stays, and about its stack. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 60, KEPT = 200, ALLOCATED = 500, PAGE = 4096 };

static char *the_kept[KEPT];
static void *the_reservation;

static void expect_place(const void *pointer, const void *base, size_t size, ze_memory_type_t type,
                         ze_device_handle_t device)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t found = (ze_device_handle_t)(void *)0x1;
    void *found_base = NULL;
    size_t found_size = 0;

    DO(zeMemGetAllocProperties(the_context, pointer, &properties, &found));
    REQUIRE(properties.type == type && found == device);
    if (type == ZE_MEMORY_TYPE_UNKNOWN) {
        REQUIRE(properties.id == 0 && properties.pageSize == 0);
        EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
               zeMemGetAddressRange(the_context, pointer, &found_base, &found_size));
        return;
    }
    REQUIRE(properties.id > 0 && properties.pageSize >= PAGE);
    DO(zeMemGetAddressRange(the_context, pointer, &found_base, &found_size));
    REQUIRE(found_base == base && found_size == size);
}

static void expect_unknown(const void *pointer)
{
    expect_place(pointer, NULL, 0, ZE_MEMORY_TYPE_UNKNOWN, NULL);
}

static void map_and_unmap(char *place, ze_physical_mem_handle_t physical)
{
    expect_unknown(place + 5);
    DO(zeVirtualMemMap(the_context, place, PAGE, physical, 0,
                       ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
    expect_place(place + 5, place, PAGE, ZE_MEMORY_TYPE_HOST, NULL);
    DO(zeVirtualMemUnmap(the_context, place, PAGE));
    expect_unknown(place + 5);
}

static void *work(void *argument)
{
    size_t number = (size_t)argument;
    char *place = (char *)the_reservation + number * PAGE;
    ze_physical_mem_desc_t physical_desc = {ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, NULL,
                                            ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST, PAGE};
    ze_device_mem_alloc_desc_t device_desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t host_desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_physical_mem_handle_t physical;

    DO(zePhysicalMemCreate(the_context, the_device, &physical_desc, &physical));
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = 1 + number * 1000 + (size_t)round;
        char *device = NULL;
        char *host = NULL;

        DO(zeMemAllocDevice(the_context, &device_desc, size, 0, the_device, (void **)&device));
        DO(zeMemAllocHost(the_context, &host_desc, size, 0, (void **)&host));
        for (int count = 0; count < 50; count++) {
            char *kept = the_kept[(size_t)(count * 7 + round) % KEPT];

            expect_place(device + size - 1, device, size, ZE_MEMORY_TYPE_DEVICE, the_device);
            expect_place(host, host, size, ZE_MEMORY_TYPE_HOST, NULL);
            expect_place(kept + PAGE / 2, kept, PAGE, ZE_MEMORY_TYPE_HOST, NULL);
            expect_unknown(&physical);
            expect_unknown(host + size);
        }
        map_and_unmap(place, physical);
        DO(zeMemFree(the_context, host));
        DO(zeMemFree(the_context, device));
    }
    DO(zePhysicalMemDestroy(the_context, physical));
    return NULL;
}

/* In any order of coming and going, the others are found. */
static void go_in_odd_order(void)
{
    static char *pointers[ALLOCATED];
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};

    for (int index = 0; index < ALLOCATED; index++)
        DO(zeMemAllocDevice(the_context, &desc, 100, 0, the_device, (void **)&pointers[index]));
    for (int step = 0; step < 7; step++)
        for (int index = step; index < ALLOCATED; index += 7) {
            int next = (index + 1) % ALLOCATED;

            expect_place(pointers[index] + 99, pointers[index], 100, ZE_MEMORY_TYPE_DEVICE,
                         the_device);
            DO(zeMemFree(the_context, pointers[index]));
            expect_unknown(pointers[index]);
            if (next % 7 > step)
                expect_place(pointers[next], pointers[next], 100, ZE_MEMORY_TYPE_DEVICE,
                             the_device);
        }
}

int main(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    pthread_t threads[THREADS];

    begin();
    DO(zeVirtualMemReserve(the_context, NULL, THREADS * PAGE, &the_reservation));
    for (int index = 0; index < KEPT; index++)
        DO(zeMemAllocHost(the_context, &desc, PAGE, 0, (void **)&the_kept[index]));
    for (size_t index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, work, (void *)index) == 0);
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    go_in_odd_order();
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
           zeMemGetAllocProperties(NULL, the_kept[0], &properties, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeMemGetAllocProperties((ze_context_handle_t)the_device, the_kept[0], &properties,
                                   NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeMemGetAllocProperties(the_context, NULL, &properties, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeMemGetAllocProperties(the_context, the_kept[0], NULL, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           zeMemGetAddressRange(the_context, NULL, NULL, NULL));
    DO(zeMemGetAddressRange(the_context, the_kept[0], NULL, NULL));
    for (int index = 0; index < KEPT; index++)
        DO(zeMemFree(the_context, the_kept[index]));
    DO(zeVirtualMemFree(the_context, the_reservation, THREADS * PAGE));
    return 0;
}
