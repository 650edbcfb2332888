/* A frame that the program owns becomes device-visible without a copy: the device works on the very
 * pages, with copies in the place of a kernel, and the program has them back afterwards. */
#include "check.h"

enum { PAGE = 4096, WIDTH = 1920, HEIGHT = 1080, CHANNELS = 3, ELEMENTS = WIDTH * HEIGHT * CHANNELS };

static ze_command_list_handle_t the_list;

static size_t align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static void require_extension(const char *name)
{
    uint32_t count = 0;
    ze_driver_extension_properties_t *extensions;
    int found = 0;

    DO(zeDriverGetExtensionProperties(the_driver, &count, NULL));
    extensions = calloc(count, sizeof(*extensions));
    DO(zeDriverGetExtensionProperties(the_driver, &count, extensions));
    for (uint32_t index = 0; index < count; index++)
        found += strcmp(extensions[index].name, name) == 0;
    free(extensions);
    REQUIRE(found == 1);
}

/* The "kernel": it turns the frame upside down, row by row, by way of the device's own memory. */
static void turn_over(char *frame)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    uint32_t row = WIDTH * CHANNELS;
    ze_copy_region_t whole = {0, 0, 0, row, HEIGHT, 1};
    void *scratch = NULL;

    DO(zeMemAllocDevice(the_context, &desc, ELEMENTS, 0, the_device, &scratch));
    DO(zeCommandListAppendMemoryCopyRegion(the_list, scratch, &whole, row, 0, frame, &whole, row, 0,
                                           NULL, 0, NULL));
    for (uint32_t line = 0; line < HEIGHT; line++)
        DO(zeCommandListAppendMemoryCopy(the_list, frame + line * row,
                                         (char *)scratch + (HEIGHT - 1 - line) * row, row, NULL, 0,
                                         NULL));
    DO(zeCommandListHostSynchronize(the_list, UINT64_MAX));
    DO(zeMemFree(the_context, scratch));
}

static char byte_at(uint32_t line, uint32_t column)
{
    return (char)(line * 31 + column);
}

static void draw(char *frame)
{
    for (uint32_t line = 0; line < HEIGHT; line++)
        for (uint32_t column = 0; column < WIDTH * CHANNELS; column++)
            frame[line * WIDTH * CHANNELS + column] = byte_at(line, column);
}

static void expect_turned(const char *frame)
{
    for (uint32_t line = 0; line < HEIGHT; line++)
        for (uint32_t column = 0; column < WIDTH * CHANNELS; column++)
            REQUIRE(frame[line * WIDTH * CHANNELS + column] == byte_at(HEIGHT - 1 - line, column));
}

int main(void)
{
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    size_t size = align_up(ELEMENTS, PAGE);
    char *frame = aligned_alloc(PAGE, size);
    ze_external_memmap_sysmem_ext_desc_t memory = {
        ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC, NULL, frame, size};
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, &memory};
    ze_memory_allocation_properties_t properties = {ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    void *mapped = NULL;

    begin();
    require_extension("ZE_extension_external_memmap_sysmem");
    DO(zeCommandListCreateImmediate(the_context, the_device, &queue, &the_list));
    for (int round = 0; round < 2; round++) {
        draw(frame);
        DO(zeMemAllocHost(the_context, &desc, size, PAGE, &mapped));
        REQUIRE(mapped == frame);
        turn_over(mapped);
        expect_turned(frame);
        /* Both write, both see it. */
        strcpy(frame, "program");
        DO(zeCommandListAppendMemoryCopy(the_list, (char *)mapped + size - 8, mapped, 8, NULL, 0,
                                         NULL));
        DO(zeCommandListHostSynchronize(the_list, UINT64_MAX));
        REQUIRE(strcmp(frame + size - 8, "program") == 0);
        DO(zeMemFree(the_context, mapped));
        DO(zeMemGetAllocProperties(the_context, frame, &properties, NULL));
        REQUIRE(properties.type == ZE_MEMORY_TYPE_UNKNOWN);
        REQUIRE(strcmp(frame, "program") == 0);
    }
    free(frame);
    DO(zeCommandListDestroy(the_list));
    DO(zeContextDestroy(the_context));
    return 0;
}
