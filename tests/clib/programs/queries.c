/* What programs ask at their start: extensions, memories, queue groups, chained properties. */
#include "check.h"

int main(void)
{
    uint32_t count = 0;
    ze_driver_extension_properties_t *extensions;
    ze_driver_ipc_properties_t ipc = {ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES};
    ze_driver_ddi_handles_ext_properties_t tables = {
        ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES};
    ze_driver_properties_t driver = {ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES, &tables};
    ze_device_usablemem_size_ext_properties_t usable = {
        ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES};
    ze_base_properties_t unknown = {(ze_structure_type_t)0x7E57, &usable};
    ze_device_properties_t device = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &unknown};
    ze_device_memory_properties_t memory = {ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES};
    ze_command_queue_group_properties_t groups[8] = {
        {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES}};
    ze_device_compute_properties_t compute = {ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
    ze_pci_ext_properties_t pci = {ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES, (void *)0x1};
    ze_device_handle_t root = the_device;
    ze_device_handle_t child = NULL;
    uint64_t host;
    uint64_t ticks;
    int found = 0;

    begin();
    DO(zeDriverGetExtensionProperties(the_driver, &count, NULL));
    REQUIRE(count > 0);
    extensions = calloc(count, sizeof(*extensions));
    DO(zeDriverGetExtensionProperties(the_driver, &count, extensions));
    for (uint32_t index = 0; index < count; index++)
        if (!strcmp(extensions[index].name, "ZE_extension_ipc_phys_mem_handle_range"))
            found = extensions[index].version == ZE_MAKE_VERSION(1, 0);
    REQUIRE(found);
    DO(zeDriverGetProperties(the_driver, &driver));
    REQUIRE(tables.flags == ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED);
    REQUIRE(driver.driverVersion > 0);
    DO(zeDriverGetIpcProperties(the_driver, &ipc));
    REQUIRE(ipc.flags & ZE_IPC_PROPERTY_FLAG_MEMORY);
    DO(zeDeviceGetProperties(the_device, &device));
    REQUIRE(usable.currUsableMemSize > 0 && usable.currUsableMemSize <= device.maxMemAllocSize);
    REQUIRE(device.pNext == &unknown && unknown.pNext == &usable);
    REQUIRE(device.timerResolution == 1); /* nanoseconds */
    device.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    DO(zeDeviceGetProperties(the_device, &device));
    REQUIRE(device.timerResolution == 1000000000); /* ticks a second */
    device.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    count = 1;
    DO(zeDeviceGetMemoryProperties(the_device, &count, &memory));
    REQUIRE(count == 1 && memory.totalSize >= usable.currUsableMemSize);
    count = 8;
    DO(zeDeviceGetCommandQueueGroupProperties(the_device, &count, groups));
    REQUIRE(count >= 1 && groups[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
    /* Runtimes offer an empty array when they were told that there are none, and ask it of others. */
    count = 0;
    DO(zeDeviceGetSubDevices(the_device, &count, &child));
    REQUIRE(count == 0 && child == NULL);
    DO(zeDeviceGet(the_driver, &count, &child));
    REQUIRE(count == 2 && child == NULL);
    DO(zeDeviceGetComputeProperties(the_device, &compute));
    REQUIRE(compute.numSubGroupSizes > 0 && compute.subGroupSizes[0] > 0);
    /* No chain exists here: what programs leave in pNext is never looked at. */
    DO(zeDevicePciGetPropertiesExt(the_device, &pci));
    DO(zeDeviceGetRootDevice(the_device, &root));
    REQUIRE(root == NULL);
    DO(zeDeviceGetGlobalTimestamps(the_device, &host, &ticks));
    REQUIRE(host > 0);
    DO(zeDeviceGetStatus(the_device));
    free(extensions);
    return 0;
}
