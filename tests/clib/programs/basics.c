/* Drivers, devices, contexts, and every way to hand in a wrong handle or pointer. */
#include "check.h"

int main(void)
{
    uint32_t count = 0;
    ze_driver_handle_t drivers[3] = {0};
    ze_device_handle_t devices[3] = {0};
    ze_api_version_t version;
    ze_device_properties_t properties = {ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
    ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
    ze_context_handle_t context;
    char garbage[64];

    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeInit(0x10));
    DO(zeInit(0));
    DO(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    DO(zeDriverGet(&count, NULL));
    REQUIRE(count == 1);
    count = 3;
    DO(zeDriverGet(&count, drivers));
    REQUIRE(count == 1 && drivers[0] != NULL && drivers[1] == NULL);
    count = 0;
    DO(zeDeviceGet(drivers[0], &count, NULL));
    REQUIRE(count == 2);
    count = 1;
    DO(zeDeviceGet(drivers[0], &count, devices));
    REQUIRE(count == 1 && devices[0] != NULL && devices[1] == NULL);
    count = 3;
    DO(zeDeviceGet(drivers[0], &count, devices));
    REQUIRE(count == 2 && devices[1] != NULL && devices[2] == NULL);
    count = UINT32_MAX;
    DO(zeDeviceGet(drivers[0], &count, devices));
    REQUIRE(count == 2 && devices[2] == NULL);

    DO(zeDriverGetApiVersion(drivers[0], &version));
    REQUIRE(version == ZE_MAKE_VERSION(1, 18));
    DO(zeDeviceGetProperties(devices[0], &properties));
    REQUIRE(properties.type == ZE_DEVICE_TYPE_GPU && properties.name[0] != '\0');
    REQUIRE(properties.stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);

    /* Chains that no call knows are walked past, garbage where no chain is known is left alone. */
    properties.pNext = NULL;
    DO(zeContextCreate(drivers[0], &desc, &context));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextCreate(NULL, &desc, &context));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(drivers[0], NULL, &context));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeContextCreate(drivers[0], &desc, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeContextCreate((ze_driver_handle_t)devices[0], &desc, &context));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           zeContextDestroy((ze_context_handle_t)(void *)garbage));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextDestroy((ze_context_handle_t)0x10));
    desc.flags = 0x80;
    EXPECT(ZE_RESULT_ERROR_INVALID_ENUMERATION, zeContextCreate(drivers[0], &desc, &context));
    DO(zeContextDestroy(context));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextDestroy(context));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, zeContextDestroy(NULL));
    REQUIRE(zerGetDefaultContext() != NULL);
    DO(zeContextGetStatus(zerGetDefaultContext()));
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
           zeDeviceGetFabricVertexExp(devices[0], (ze_fabric_vertex_handle_t *)garbage));
    return 0;
}
