/* Many threads in many calls at once, each with memory of its own. */
#include <pthread.h>

#include "check.h"

enum { THREADS = 100, ROUNDS = 20 };

static void *work(void *unused)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    char mark = (char)(uintptr_t)&desc;

    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        void *pointer = NULL;
        void *base = NULL;

        DO(zeMemAllocHost(the_context, &desc, 8192, 0, &pointer));
        memset(pointer, mark, 8192);
        DO(zeMemGetAddressRange(the_context, (char *)pointer + 77, &base, NULL));
        REQUIRE(base == pointer);
        REQUIRE(((char *)pointer)[8191] == mark);
        DO(zeMemFree(the_context, pointer));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    begin();
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_create(&threads[index], NULL, work, NULL) == 0);
    for (int index = 0; index < THREADS; index++)
        REQUIRE(pthread_join(threads[index], NULL) == 0);
    return 0;
}
