/* Forks at every stage of a program's life: each child begins anew, and disturbs nobody.
 *
 * orders          all of them
 * orders any run  what a child that is another program does */
#include <spawn.h>

#include "share.h"

extern char **environ;

static void *the_memory;

/* What every process can do for itself, whatever its parents did. */
static void use_driver(const char *text)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_queue_desc_t queue = {ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, NULL, 0, 0, 0,
                                     ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t list;
    char *from = NULL;
    char *to = NULL;

    begin();
    DO(zeMemAllocHost(the_context, &desc, 64, 0, (void **)&from));
    DO(zeMemAllocHost(the_context, &desc, 64, 0, (void **)&to));
    strcpy(from, text);
    DO(zeCommandListCreateImmediate(the_context, the_device, &queue, &list));
    DO(zeCommandListAppendMemoryCopy(list, to, from, 64, NULL, 0, NULL));
    REQUIRE(strcmp(to, text) == 0);
    DO(zeCommandListDestroy(list));
    DO(zeMemFree(the_context, to));
    DO(zeMemFree(the_context, from));
    DO(zeContextDestroy(the_context));
}

static void in_child(void (*act)(void))
{
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        act();
        exit(0);
    }
    end_well(child);
}

static void use_as_child(void)
{
    use_driver("child");
}

static void do_nothing(void)
{
}

static void leave_at_once(void)
{
    _exit(0);
}

static void use_as_grandchild(void)
{
    in_child(use_as_child);
    use_driver("between");
    in_child(use_as_child);
}

static void only_grandchild(void)
{
    in_child(use_as_child);
}

static void be_another_program(void)
{
    execl("/proc/self/exe", "orders", "any", "run", NULL);
    _exit(127);
}

/* Handles of the parent are none here; what it calls with them changes nothing there. */
static void use_what_is_the_parents(void)
{
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextDestroy(the_context));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(the_context, the_memory));
}

static void spawn(void)
{
    char *arguments[] = {"orders", "any", "run", NULL};
    pid_t child;

    REQUIRE(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
    end_well(child);
}

/* The child goes on when its parent is gone, and says so when it is done. */
static void survive_parent(void)
{
    int said[2];
    int gone[2];
    char word = 0;
    pid_t parent;

    REQUIRE(pipe(said) == 0 && pipe(gone) == 0);
    parent = fork();
    REQUIRE(parent >= 0);
    if (parent == 0) {
        pid_t child;

        begin();
        child = fork();
        REQUIRE(child >= 0);
        if (child > 0)
            _exit(0);
        close(gone[1]);
        REQUIRE(read(gone[0], &word, 1) == 0);
        use_driver("orphan");
        REQUIRE(write(said[1], "!", 1) == 1);
        exit(0);
    }
    end_well(parent);
    close(said[1]);
    close(gone[1]);
    REQUIRE(read(said[0], &word, 1) == 1 && word == '!');
    /* Its end, too: nothing of it is left then. */
    REQUIRE(read(said[0], &word, 1) == 0);
    close(said[0]);
    close(gone[0]);
}

static void in_all_ways(void)
{
    in_child(do_nothing);
    in_child(leave_at_once);
    in_child(use_as_child);
    in_child(only_grandchild);
    in_child(use_as_grandchild);
    in_child(be_another_program);
    spawn();
    survive_parent();
}

int main(int count, char **arguments)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    uint32_t drivers = 1;

    (void)arguments;
    if (count > 2) {
        use_driver("another");
        return 0;
    }
    in_all_ways(); /* before the parent has begun */
    DO(zeInit(0));
    in_all_ways();
    DO(zeDriverGet(&drivers, &the_driver));
    in_all_ways();
    begin();
    DO(zeMemAllocHost(the_context, &desc, 64, 0, &the_memory));
    strcpy(the_memory, "parent");
    in_child(use_what_is_the_parents);
    in_all_ways();
    REQUIRE(strcmp(the_memory, "parent") == 0);
    DO(zeMemFree(the_context, the_memory));
    DO(zeContextDestroy(the_context));
    in_all_ways(); /* when all is over */
    use_driver("parent");
    return 0;
}
