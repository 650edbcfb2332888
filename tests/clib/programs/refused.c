/* The emulator does not take programs: prints why. */
#include "check.h"

int main(void)
{
    const char *why = "";

    EXPECT(ZE_RESULT_ERROR_UNINITIALIZED, zeInit(0));
    DO(zerGetLastErrorDescription(&why));
    puts(why);
    return 0;
}
