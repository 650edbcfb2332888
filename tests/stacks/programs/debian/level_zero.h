/* The system's headers under the name by which our test programs include the interface. */
#include <level_zero/ze_api.h>

/* Debian's are older than this function. */
static inline ze_result_t zerGetLastErrorDescription(const char **text)
{
    *text = "";
    return ZE_RESULT_SUCCESS;
}
