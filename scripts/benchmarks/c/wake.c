/* Limit of waking a sleeping process and being woken by it: two eventfds.
 *
 *   wake DRIVER_CPU DEVICE_CPU
 *
 * "wake COUNT PAUSE" makes COUNT round trips, each after PAUSE microseconds in which both sleep.
 */
#include "limit.h"

#include <sys/eventfd.h>

static void exchange(int to, int from)
{
    uint64_t one = 1, found;
    if (to >= 0 && write(to, &one, sizeof one) != sizeof one)
        fail("write");
    if (from >= 0 && read(from, &found, sizeof found) != sizeof found)
        fail("read");
}

int main(int argc, char **argv)
{
    int request = eventfd(0, EFD_CLOEXEC), reply = eventfd(0, EFD_CLOEXEC);
    if (argc != 3 || request < 0 || reply < 0)
        fail("arguments");
    if (!fork_device()) {
        pin(atoi(argv[2]));
        exchange(-1, request);
        for (;;)
            exchange(reply, request);
    }
    pin(atoi(argv[1]));
    static uint64_t samples[MOST_SAMPLES];
    unsigned count, pause;
    while (scanf(" wake %u %u", &count, &pause) == 2) {
        for (unsigned i = 0; i < count; i++) {
            usleep(pause);
            uint64_t start = now();
            exchange(request, reply);
            samples[i] = now() - start;
        }
        answer(median(samples, count));
    }
    return 0;
}
