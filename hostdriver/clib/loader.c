/* What programs ask of the loader itself, for when this library stands in its place. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

enum { LOADER_MAJOR = 1, LOADER_MINOR = 32, LOADER_PATCH = 0 };

static const char LOADER[] = "loader";

static void fill_version(zel_component_version_t *version)
{
    memset(version, 0, sizeof(*version));
    memcpy(version->component_name, LOADER, sizeof(LOADER));
    version->spec_version = (ze_api_version_t)EMUZERO_API_VERSION;
    version->component_lib_version.major = LOADER_MAJOR;
    version->component_lib_version.minor = LOADER_MINOR;
    version->component_lib_version.patch = LOADER_PATCH;
}

EMUZERO_EXPORT ze_result_t zelLoaderGetVersions(size_t *num_elems,
                                                zel_component_version_t *versions)
{
    if (num_elems == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (versions != NULL && *num_elems > 0)
        fill_version(versions);
    if (versions == NULL || *num_elems > 1)
        *num_elems = 1;
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT ze_result_t zelLoaderGetVersionsInternal(size_t *num_elems,
                                                        zel_component_version_t *versions)
{
    return zelLoaderGetVersions(num_elems, versions);
}

EMUZERO_EXPORT ze_result_t zelLoaderGetVersion(zel_component_version_t *version)
{
    if (version == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    fill_version(version);
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT ze_result_t zelGetLoaderVersion(zel_component_version_t *version)
{
    return zelLoaderGetVersion(version);
}

/* There is one driver and nothing between it and the program: handles are what they are. */
EMUZERO_EXPORT ze_result_t zelLoaderTranslateHandle(zel_handle_type_t handleType, void *handleIn,
                                                    void **handleOut)
{
    (void)handleType;
    if (handleOut == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *handleOut = handleIn;
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT ze_result_t zelLoaderTranslateHandleInternal(zel_handle_type_t handleType,
                                                            void *handleIn, void **handleOut)
{
    return zelLoaderTranslateHandle(handleType, handleIn, handleOut);
}

EMUZERO_EXPORT ze_result_t zeLoaderInit(void)
{
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT void *zeLoaderGetTracingHandle(void)
{
    return NULL;
}

EMUZERO_EXPORT ze_result_t zelGetTracerApiProcAddrTable(ze_api_version_t version, void *table)
{
    (void)version;
    return table == NULL ? ZE_RESULT_ERROR_INVALID_NULL_POINTER : ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT ze_result_t zelSetDriverTeardown(void)
{
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT void zelSetDelayLoaderContextTeardown(void)
{
}

EMUZERO_EXPORT void zelLoaderContextTeardown(void)
{
}

EMUZERO_EXPORT bool zelCheckIsLoaderInTearDown(void)
{
    return false;
}

/* What a program calls to take its registration back; loaders linked into programs call it unasked. */
static void forget_callback(uint32_t index)
{
    (void)index;
}

/* Calls are served until the process is gone: there is no teardown that anybody had to be told. */
EMUZERO_EXPORT ze_result_t zelRegisterTeardownCallback(
    zel_loader_teardown_callback_t application_callback,
    zel_application_teardown_callback_t *loader_callback, uint32_t *index)
{
    (void)application_callback;
    if (loader_callback == NULL || index == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *loader_callback = forget_callback;
    *index = 0;
    return ZE_RESULT_SUCCESS;
}

EMUZERO_EXPORT ze_result_t zelEnableTracingLayer(void)
{
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

EMUZERO_EXPORT ze_result_t zelDisableTracingLayer(void)
{
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

EMUZERO_EXPORT ze_result_t zelGetTracingLayerState(bool *enabled)
{
    if (enabled == NULL)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    *enabled = false;
    return ZE_RESULT_SUCCESS;
}
