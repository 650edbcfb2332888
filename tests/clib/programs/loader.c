/* What runtimes ask of the loader in whose place the library stands. */
#include <stdbool.h>

#include "check.h"

/* Runtimes find these by name; the interface's headers of loaders declare them. */
ze_result_t zelLoaderGetVersions(size_t *count, zel_component_version_t *versions);
ze_result_t zelLoaderTranslateHandle(zel_handle_type_t type, void *in, void **out);
ze_result_t zelRegisterTeardownCallback(zel_loader_teardown_callback_t ours,
                                        zel_application_teardown_callback_t *theirs,
                                        uint32_t *index);
bool zelCheckIsLoaderInTearDown(void);

static void torn_down(void)
{
}

int main(void)
{
    zel_application_teardown_callback_t take_back = NULL;
    zel_component_version_t versions[2];
    uint32_t index = 99;
    size_t count = 0;
    void *same = NULL;

    DO(zelLoaderGetVersions(&count, NULL));
    REQUIRE(count == 1);
    count = 2;
    DO(zelLoaderGetVersions(&count, versions));
    REQUIRE(count == 1 && !strcmp(versions[0].component_name, "loader"));
    /* Runtimes take newer ways from 1.18 on. */
    REQUIRE(versions[0].component_lib_version.major == 1);
    REQUIRE(versions[0].component_lib_version.minor >= 18);
    begin();
    DO(zelLoaderTranslateHandle(ZEL_HANDLE_DEVICE, the_device, &same));
    REQUIRE(same == the_device);
    /* Loaders linked into runtimes register, and take it back without looking at what they got. */
    DO(zelRegisterTeardownCallback(torn_down, &take_back, &index));
    take_back(index);
    REQUIRE(!zelCheckIsLoaderInTearDown());
    DO(zeContextDestroy(the_context));
    return 0;
}
