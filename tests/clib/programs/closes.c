/* A program that closes every descriptor and uses the numbers anew: what it has there then is left
 * alone, by its calls, by a child's beginning and by a child's calls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "share.h"

enum { FILES = 30, CALLS = 100, FIRST = 3 };

static void close_all_others(void)
{
    REQUIRE(close_range(FIRST, ~0U, 0) == 0);
}

static void open_files(int *files)
{
    for (int index = 0; index < FILES; index++) {
        files[index] = memfd_create("own", 0);
        REQUIRE(files[index] >= FIRST);
    }
}

static void look_at_files(const int *files)
{
    for (int index = 0; index < FILES; index++) {
        struct stat status;

        REQUIRE(fstat(files[index], &status) == 0);
        REQUIRE(status.st_size == 0);
    }
}

static void allocate(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *pointer = NULL;

    /* The emulator hears of the end when it next looks. */
    while (zeMemAllocHost(the_context, &desc, 8192, 0, &pointer) != ZE_RESULT_ERROR_DEVICE_LOST)
        ;
    for (int count = 0; count < CALLS; count++)
        EXPECT(ZE_RESULT_ERROR_DEVICE_LOST,
               zeMemAllocHost(the_context, &desc, 8192, 0, &pointer));
}

int main(void)
{
    int files[FILES];
    pid_t child;

    begin();
    close_all_others();
    open_files(files);
    allocate();
    look_at_files(files);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        look_at_files(files);
        begin();
        DO(zeContextDestroy(the_context));
        look_at_files(files);
        return 0;
    }
    end_well(child);
    look_at_files(files);
    return 0;
}
