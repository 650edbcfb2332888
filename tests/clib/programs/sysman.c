/* Managing devices: the same handles as the core's, memory as it is at this moment.
 *
 * sysman CARDS PARTS    how many devices there are, of how many sub-devices each */
#include "check.h"

/* Page tables stand in device memory too: below the root, two a level across a border. */
enum { MEBI = 1 << 20, SIZE = 4 * MEBI, MOST_TABLES = 2 * 3 * 4096 };

static zes_mem_handle_t memory_of(ze_device_handle_t device)
{
    zes_mem_handle_t memory = NULL;
    zes_mem_handle_t again = NULL;
    uint32_t count = 0;

    DO(zesDeviceEnumMemoryModules(device, &count, NULL));
    REQUIRE(count == 1);
    DO(zesDeviceEnumMemoryModules(device, &count, &memory));
    DO(zesDeviceEnumMemoryModules(device, &count, &again));
    REQUIRE(memory != NULL && memory == again);
    return memory;
}

static void look_at_cards(uint32_t expected, uint32_t parts)
{
    zes_driver_handle_t driver = NULL;
    zes_device_handle_t devices[8];
    zes_uuid_t seen = {{0}};
    uint32_t count = 0;

    DO(zesInit(0));
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, zesInit(2));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zesDriverGet(NULL, NULL));
    DO(zesDriverGet(&count, NULL));
    REQUIRE(count == 1);
    DO(zesDriverGet(&count, &driver));
    count = 0;
    DO(zesDeviceGet(driver, &count, NULL));
    REQUIRE(count == expected);
    DO(zesDeviceGet(driver, &count, devices));
    for (uint32_t index = 0; index < count; index++) {
        zes_device_ext_properties_t more = {ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES};
        zes_base_properties_t unknown = {(zes_structure_type_t)0x7E57, &more};
        zes_device_properties_t card = {ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, &unknown};
        zes_device_handle_t found = NULL;
        ze_bool_t on_part = 7;
        uint32_t part = 7;

        /* What a program left in the core's chain is never looked at, and stays. */
        card.core.pNext = (void *)0x1;
        DO(zesDeviceGetProperties(devices[index], &card));
        REQUIRE(card.core.pNext == (void *)0x1 && card.pNext == &unknown);
        REQUIRE(card.core.type == ZE_DEVICE_TYPE_GPU && card.core.timerResolution == 1);
        REQUIRE(card.numSubdevices == parts);
        REQUIRE(!strcmp(card.modelName, card.core.name) && card.modelName[0]);
        REQUIRE(!strcmp(card.serialNumber, "unknown") && card.driverVersion[0]);
        REQUIRE(!memcmp(&more.uuid, &card.core.uuid, sizeof(more.uuid)));
        REQUIRE(more.type == ZES_DEVICE_TYPE_GPU);
        REQUIRE(more.flags == ZES_DEVICE_PROPERTY_FLAG_ECC);
        REQUIRE(memcmp(&more.uuid, &seen, sizeof(seen)));
        seen = more.uuid;
        DO(zesDriverGetDeviceByUuidExp(driver, more.uuid, &found, &on_part, &part));
        REQUIRE(found == devices[index] && !on_part && part == 0);
    }
    memset(&seen, 0xEE, sizeof(seen));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zesDriverGetDeviceByUuidExp(driver, seen, devices, &(ze_bool_t){0}, &(uint32_t){0}));
}

static void *allocate(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *found = NULL;

    DO(zeMemAllocDevice(the_context, &desc, SIZE, 0, the_device, &found));
    return found;
}

static void look_at_memory(zes_mem_handle_t memory)
{
    zes_mem_properties_t properties = {ZES_STRUCTURE_TYPE_MEM_PROPERTIES};
    zes_mem_state_t state = {ZES_STRUCTURE_TYPE_MEM_STATE, (void *)0x1};
    ze_device_memory_properties_t core = {ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
    uint32_t count = 1;
    uint64_t before;
    void *pointer;

    DO(zeDeviceGetMemoryProperties(the_device, &count, &core));
    DO(zesMemoryGetProperties(memory, &properties));
    REQUIRE(properties.physicalSize == core.totalSize);
    REQUIRE(properties.busWidth == (int32_t)core.maxBusWidth && properties.numChannels == -1);
    REQUIRE(properties.location == ZES_MEM_LOC_DEVICE && !properties.onSubdevice);
    pointer = allocate();
    DO(zesMemoryGetState(memory, &state));
    REQUIRE(state.health == ZES_MEM_HEALTH_OK && state.size == properties.physicalSize);
    before = state.free;
    REQUIRE(before <= state.size - SIZE);
    DO(zeMemFree(the_context, pointer));
    DO(zesMemoryGetState(memory, &state));
    REQUIRE(state.free >= before + SIZE && state.free <= before + SIZE + MOST_TABLES);
}

static void look_at_traffic(zes_mem_handle_t memory)
{
    ze_command_queue_desc_t desc = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t list = NULL;
    zes_mem_bandwidth_t before;
    zes_mem_bandwidth_t after;
    char *pointer = allocate();

    desc.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    DO(zeCommandListCreateImmediate(the_context, the_device, &desc, &list));
    DO(zesMemoryGetBandwidth(memory, &before));
    DO(zeCommandListAppendMemoryCopy(list, pointer, pointer + MEBI, MEBI, NULL, 0, NULL));
    DO(zesMemoryGetBandwidth(memory, &after));
    REQUIRE(after.readCounter == before.readCounter + MEBI);
    REQUIRE(after.writeCounter == before.writeCounter + MEBI);
    REQUIRE(after.maxBandwidth == before.maxBandwidth && after.maxBandwidth > 0);
    REQUIRE(after.timestamp > before.timestamp);
    DO(zeCommandListDestroy(list));
    DO(zeMemFree(the_context, pointer));
}

static void be_refused(zes_mem_handle_t memory)
{
    zes_mem_state_t state = {ZES_STRUCTURE_TYPE_MEM_STATE};
    uint32_t count = 0;

    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zesMemoryGetState(NULL, &state));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zesMemoryGetState(memory, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zesMemoryGetState((zes_mem_handle_t)the_device, &state));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zesMemoryGetState((zes_mem_handle_t)&state, &state));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zesDeviceEnumPowerDomains(NULL, &count, NULL));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
           zesDeviceEnumPowerDomains(the_device, &count, NULL));
}

int main(int argc, char **argv)
{
    uint32_t cards = (uint32_t)strtoul(argv[argc - 2], NULL, 10);
    uint32_t parts = (uint32_t)strtoul(argv[argc - 1], NULL, 10);
    zes_mem_handle_t memory;

    REQUIRE(argc == 3);
    /* On the core's handle, before anybody called zesInit. */
    begin();
    memory = memory_of(the_device);
    look_at_memory(memory);
    look_at_traffic(memory);
    be_refused(memory);
    DO(zeContextDestroy(the_context));
    look_at_cards(cards, parts);
    return 0;
}
