/* A Level Zero program: what a call takes that the driver in the emulator answers, and a beginning.
 *
 * calls              asked by lines
 *   call COUNT PAUSE   zeDeviceGetStatus, the median of COUNT, each after PAUSE microseconds
 * calls begin        prints the nanoseconds from zeInit to the list of devices, and ends */
#include "limit.h"

#include "need.h"

static ze_device_handle_t the_device;

static uint64_t begin(void)
{
    uint64_t begun = now();
    uint32_t count = 1;
    ze_driver_handle_t driver;
    need(zeInit(0));
    need(zeDriverGet(&count, &driver));
    count = 1;
    need(zeDeviceGet(driver, &count, &the_device));
    return now() - begun;
}

static double measure(uint32_t count, uint32_t pause)
{
    static uint64_t samples[MOST_SAMPLES];
    for (uint32_t index = 0; index < count; index++) {
        if (pause)
            usleep(pause);
        uint64_t begun = now();
        need(zeDeviceGetStatus(the_device));
        samples[index] = now() - begun;
    }
    return median(samples, count);
}

int main(int argc, char **argv)
{
    uint64_t taken = begin();
    uint32_t count, pause;
    if (argc > 1 && !strcmp(argv[1], "begin")) {
        answer((double)taken);
        return 0;
    }
    while (scanf(" call %u %u", &count, &pause) == 2 && count && count <= MOST_SAMPLES)
        answer(measure(count, pause));
    return 0;
}
