/* A child after fork has a session of its own; the parent and its memory are undisturbed. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

int main(void)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *ours = NULL;
    int status;

    begin();
    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &ours));
    memcpy(ours, "parent", 7);
    for (int round = 0; round < 3; round++) {
        pid_t child = fork();

        if (child == 0) {
            void *theirs = NULL;

            /* What the parent allocated is a foreign pointer, its context a stale handle. */
            EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextGetStatus(the_context));
            begin();
            EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, ours));
            DO(zeMemAllocHost(the_context, &desc, 4096, 0, &theirs));
            memcpy(theirs, "child", 6);
            exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        REQUIRE(strcmp(ours, "parent") == 0);
    }
    DO(zeMemFree(the_context, ours));
    return 0;
}
