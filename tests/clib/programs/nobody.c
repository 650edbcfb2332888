/* No emulator listens: every call says so, whoever makes it and however often. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void try(void)
{
    ze_init_driver_type_desc_t desc = {ZE_STRUCTURE_TYPE_INIT_DRIVER_TYPE_DESC, NULL, UINT32_MAX};
    const char *why = "";
    uint32_t count = 0;

    EXPECT(ZE_RESULT_ERROR_UNINITIALIZED, zeInit(0));
    DO(zerGetLastErrorDescription(&why));
    REQUIRE(strstr(why, "no emulator listens at ") == why);
    EXPECT(ZE_RESULT_ERROR_UNINITIALIZED, zeInitDrivers(&count, NULL, &desc));
}

static void *try_in_a_thread(void *unused)
{
    try();
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    pid_t child;
    int status;

    for (int index = 0; index < 4; index++)
        REQUIRE(pthread_create(&threads[index], NULL, try_in_a_thread, NULL) == 0);
    for (int index = 0; index < 4; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    child = fork();
    if (child == 0) {
        try();
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}
