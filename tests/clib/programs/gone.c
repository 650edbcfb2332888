/* A device is lost under the program while its emulator goes on: every call that needs the device
   says so, none hangs. Tells "ready" first. */
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { PATIENCE_SECONDS = 15 };

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

int main(void)
{
    ze_device_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *pointer = NULL;
    void *other = NULL;
    char byte;
    time_t begun;

    begin();
    DO(zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &pointer));
    puts("ready");
    fflush(stdout);
    REQUIRE(read(0, &byte, 1) == 0);
    begun = now();
    for (int round = 0; round < 3; round++)
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST,
               zeMemAllocDevice(the_context, &desc, 4096, 0, the_device, &other));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeMemFree(the_context, pointer));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeDeviceGetStatus(the_device));
    REQUIRE(now() - begun < PATIENCE_SECONDS);
    return 0;
}
