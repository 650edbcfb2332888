/* More threads wait than the channel has slots: calls go on, and so do the threads, however they
 * were told to end meanwhile. */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "check.h"

enum { THREADS = 100, ROUNDS = 2 };

static ze_event_handle_t event;

static void *wait_for_event(void *unused)
{
    (void)unused;
    DO(zeEventHostSynchronize(event, UINT64_MAX));
    return NULL;
}

static char state_of(const char *thread)
{
    char path[300];
    char text[200] = {0};
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
    file = fopen(path, "r");
    if (file == NULL)
        return 'X';
    REQUIRE(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    return strrchr(text, ')')[2];
}

/* Return once so many threads sleep. */
static void await_sleepers(int wanted)
{
    int found;

    do {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *entry;

        sched_yield();
        found = 0;
        REQUIRE(tasks != NULL);
        while ((entry = readdir(tasks)) != NULL)
            found += isdigit(entry->d_name[0]) && state_of(entry->d_name) == 'S';
        closedir(tasks);
    } while (found < wanted);
}

static void wait_together(bool are_cancelled)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    pthread_t threads[THREADS];
    void *pointer = NULL;

    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, wait_for_event, NULL) == 0);
    await_sleepers(THREADS);
    for (int index = 0; index < THREADS && are_cancelled; index++)
        REQUIRE(pthread_cancel(threads[index]) == 0);
    DO(zeMemAllocHost(the_context, &desc, 8192, 0, &pointer));
    DO(zeMemFree(the_context, pointer));
    DO(zeEventHostSignal(event));
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    DO(zeEventHostReset(event));
}

int main(void)
{
    ze_event_pool_desc_t desc = {ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, NULL,
                                 ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1};
    ze_event_desc_t event_desc = {ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t pool;

    begin();
    DO(zeEventPoolCreate(the_context, &desc, 0, NULL, &pool));
    DO(zeEventCreate(pool, &event_desc, &event));
    for (int round = 0; round < ROUNDS; round++)
        wait_together(false);
    for (int round = 0; round < ROUNDS; round++)
        wait_together(true);
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
    return 0;
}
