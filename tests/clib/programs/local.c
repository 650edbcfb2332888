/* What the library answers by itself, for a test that lets the emulator stand still meanwhile.
 *
 * Tells "ready", does it all when it is told to go, tells "done", and tidies up at the end. */
#include <unistd.h>

#include "check.h"

enum { SIZE = 100000, TIMES = 1000 };

static void ask_about_pointers(char *pointer)
{
    ze_memory_allocation_properties_t properties = {
        ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t device;
    void *base;
    size_t size;

    for (int count = 0; count < TIMES; count++) {
        DO(zeMemGetAllocProperties(the_context, pointer + count, &properties, &device));
        REQUIRE(properties.type == ZE_MEMORY_TYPE_DEVICE && device == the_device);
        DO(zeMemGetAddressRange(the_context, pointer + SIZE - 1, &base, &size));
        REQUIRE(base == pointer && size == SIZE);
        DO(zeMemGetAllocProperties(the_context, &size, &properties, &device));
        REQUIRE(properties.type == ZE_MEMORY_TYPE_UNKNOWN && device == NULL);
        EXPECT(ZE_RESULT_ERROR_ADDRESS_NOT_FOUND,
               zeMemGetAddressRange(the_context, pointer + SIZE, &base, &size));
    }
}

int main(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    char *pointer = NULL;
    char line[8];

    begin();
    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, (void **)&pointer));
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, line, 3) == 3);
    ask_about_pointers(pointer);
    puts("done");
    fflush(stdout);
    REQUIRE(read(0, line, 1) == 0);
    DO(zeMemFree(the_context, pointer));
    return 0;
}
