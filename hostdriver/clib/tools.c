/* The tables of the tools interface (zet), which has no functions here.
 *
 * Loaders of the 1.8 line fetch them in zeInit, and fail where a driver lacks one. So each is there,
 * and leaves the caller's table as it is: empty, for which loaders refuse the calls. */
#include "platform.h"

static ze_result_t leave_empty(ze_api_version_t version, const void *table)
{
    if (table == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if ((uint32_t)version >> 16 != EMUZERO_API_VERSION >> 16)
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    return ZE_RESULT_SUCCESS;
}

#define EMPTY_TABLE(getter)                                              \
    EMUZERO_EXPORT ze_result_t getter(ze_api_version_t version, void *table); \
    EMUZERO_EXPORT ze_result_t getter(ze_api_version_t version, void *table)  \
    {                                                                    \
        return leave_empty(version, table);                              \
    }

EMPTY_TABLE(zetGetCommandListProcAddrTable)
EMPTY_TABLE(zetGetContextProcAddrTable)
EMPTY_TABLE(zetGetDebugProcAddrTable)
EMPTY_TABLE(zetGetDeviceProcAddrTable)
EMPTY_TABLE(zetGetKernelProcAddrTable)
EMPTY_TABLE(zetGetMetricProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupProcAddrTable)
EMPTY_TABLE(zetGetMetricGroupExpProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryProcAddrTable)
EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable)
EMPTY_TABLE(zetGetMetricStreamerProcAddrTable)
EMPTY_TABLE(zetGetModuleProcAddrTable)
EMPTY_TABLE(zetGetTracerExpProcAddrTable)
