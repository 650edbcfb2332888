/* How programs begin with the management interface: it has the drivers and devices of the core. */
#include "channel.h"
#include "generated/own.h"

ze_result_t emuzero_own_zesInit(zes_init_flags_t flags)
{
    if (flags & ~(uint32_t)ZES_INIT_FLAG_PLACEHOLDER)
        return ZE_RESULT_ERROR_INVALID_ENUMERATION;
    return emuzero_connect();
}

ze_result_t emuzero_own_zesDriverGet(uint32_t *pCount, zes_driver_handle_t *phDrivers)
{
    return zeDriverGet(pCount, phDrivers);
}
