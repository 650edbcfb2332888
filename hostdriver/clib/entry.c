/* The functions that are more than a call of the driver; `functions.c` watches and exports them. */
#include <string.h>

#include "call.h"
#include "channel.h"
#include "generated/own.h"
#include "handles.h"
#include "tables.h"

enum { THE_DRIVER = 1, DEFAULT_CONTEXT = 1, GPU = ZE_INIT_DRIVER_TYPE_FLAG_GPU };

static ze_driver_handle_t the_driver(void)
{
    return emuzero_handle_of(EMUZERO_TYPE_ze_driver_handle_t, THE_DRIVER);
}

/* Tell a caller about our one driver, in the way of all counted queries. */
static ze_result_t give_driver(uint32_t *count, ze_driver_handle_t *drivers)
{
    if (drivers != NULL && *count > 0) {
        drivers[0] = the_driver();
        if (drivers[0] == NULL)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (drivers == NULL || *count == 0 || *count > 1)
        *count = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_own_zeInit(ze_init_flags_t flags)
{
    if (flags & ~(uint32_t)(ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY))
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (flags && !(flags & ZE_INIT_FLAG_GPU_ONLY))
        return ZE_RESULT_ERROR_UNINITIALIZED;
    return emuzero_connect();
}

ze_result_t emuzero_own_zeDriverGet(uint32_t *pCount, ze_driver_handle_t *phDrivers)
{
    ze_result_t result;

    if (pCount == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    result = emuzero_connect();
    return result == ZE_RESULT_SUCCESS ? give_driver(pCount, phDrivers) : result;
}

ze_result_t emuzero_own_zeInitDrivers(uint32_t *pCount, ze_driver_handle_t *phDrivers,
                                         ze_init_driver_type_desc_t *desc)
{
    ze_result_t result;

    if (pCount == NULL || desc == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (desc->flags == 0)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    if (!(desc->flags & GPU)) {
        *pCount = 0;
        return ZE_RESULT_SUCCESS;
    }
    result = emuzero_connect();
    return result == ZE_RESULT_SUCCESS ? give_driver(pCount, phDrivers) : result;
}

ze_result_t emuzero_own_zeDriverGetLastErrorDescription(ze_driver_handle_t hDriver,
                                                           const char **ppString)
{
    uint64_t number;

    if (hDriver == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!emuzero_number_of(hDriver, EMUZERO_TYPE_ze_driver_handle_t, &number))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (ppString == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *ppString = emuzero_error();
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_own_zerGetLastErrorDescription(const char **ppString)
{
    if (ppString == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *ppString = emuzero_error();
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_own_zeDriverGetExtensionFunctionAddress(ze_driver_handle_t hDriver,
                                                               const char *name,
                                                               void **ppFunctionAddress)
{
    uint64_t number;

    if (hDriver == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!emuzero_number_of(hDriver, EMUZERO_TYPE_ze_driver_handle_t, &number))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (name == NULL || ppFunctionAddress == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *ppFunctionAddress = emuzero_find_function(name);
    if (*ppFunctionAddress != NULL)
        return ZE_RESULT_SUCCESS;
    emuzero_set_error("%.200s is no function that this driver serves", name);
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_context_handle_t default_context(void)
{
    if (emuzero_connect() != ZE_RESULT_SUCCESS)
        return NULL;
    return emuzero_handle_of(EMUZERO_TYPE_ze_context_handle_t, DEFAULT_CONTEXT);
}

ze_context_handle_t emuzero_own_zeDriverGetDefaultContext(ze_driver_handle_t hDriver)
{
    uint64_t number;

    if (!emuzero_number_of(hDriver, EMUZERO_TYPE_ze_driver_handle_t, &number))
        return NULL;
    return default_context();
}

ze_context_handle_t emuzero_own_zerGetDefaultContext(void)
{
    return default_context();
}

uint32_t emuzero_own_zerTranslateDeviceHandleToIdentifier(ze_device_handle_t hDevice)
{
    uint64_t number;

    if (!emuzero_number_of(hDevice, EMUZERO_TYPE_ze_device_handle_t, &number))
        return UINT32_MAX;
    return (uint32_t)number - 1;
}

ze_device_handle_t emuzero_own_zerTranslateIdentifierToDeviceHandle(uint32_t identifier)
{
    uint64_t number = (uint64_t)identifier + 1;

    if (emuzero_connect() != ZE_RESULT_SUCCESS || !emuzero_sees_device(number))
        return NULL;
    return emuzero_handle_of(EMUZERO_TYPE_ze_device_handle_t, number);
}
