/* Limit of an event between two processes that both spin: one word each way.
 *
 *   event DRIVER_CPU DEVICE_CPU
 *
 * "spin COUNT" makes COUNT round trips, in which nobody ever sleeps.
 */
#include "limit.h"

enum { PING = 0, PONG = 8, STOP = 16 };

int main(int argc, char **argv)
{
    if (argc != 3)
        fail("arguments");
    _Atomic uint64_t *word = (void *)memory_of(4096, MAP_SHARED);
    static uint64_t samples[MOST_SAMPLES];
    unsigned count;
    while (scanf(" spin %u", &count) == 1) {
        word[PING] = word[PONG] = word[STOP] = 0;
        pid_t peer = fork_device();
        if (!peer) {
            pin(atoi(argv[2]));
            for (uint64_t n = 1; n <= count; n++) {
                while (word[PING] < n)
                    continue;
                word[PONG] = n;
            }
            _exit(0);
        }
        pin(atoi(argv[1]));
        for (uint64_t n = 1; n <= count; n++) {
            uint64_t start = now();
            word[PING] = n;
            while (word[PONG] < n)
                continue;
            samples[n - 1] = now() - start;
        }
        answer(median(samples, count));
    }
    return 0;
}
