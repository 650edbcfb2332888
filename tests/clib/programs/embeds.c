/* A program with an interpreter of Python inside, which calls the library, too, and ends before it.
 *
 * embeds PYTHON SCRIPT ROUNDS   the interpreter's library, and what it runs; begun and ended so often */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

enum { SIZE = 4096, ROUNDS_AFTER = 30 };

static atomic_int rounds;
static atomic_bool is_over;

static void *use(void *unused)
{
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};

    (void)unused;
    while (!is_over) {
        ze_ipc_mem_handle_t handle;
        void *pointer = NULL;
        void *base = NULL;

        DO(zeMemAllocHost(the_context, &desc, SIZE, 0, &pointer));
        DO(zeMemGetAddressRange(the_context, pointer, &base, NULL));
        REQUIRE(base == pointer);
        DO(zeMemGetIpcHandle(the_context, pointer, &handle));
        DO(zeMemPutIpcHandle(the_context, handle));
        DO(zeMemFree(the_context, pointer));
        atomic_fetch_add(&rounds, 1);
    }
    return NULL;
}

static void go_on(void)
{
    int before = rounds;

    while (rounds < before + ROUNDS_AFTER)
        sched_yield();
}

/* Begin an interpreter, let it run the script, and end it. */
static void interpret(void *python, const char *script)
{
    void (*initialise)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    int (*finalise)(void) = (int (*)(void))dlsym(python, "Py_FinalizeEx");
    char line[4096];

    REQUIRE(initialise != NULL && run != NULL && finalise != NULL);
    initialise(0);
    snprintf(line, sizeof(line), "exec(compile(open('%s').read(), '%s', 'exec'))", script, script);
    REQUIRE(run(line) == 0);
    REQUIRE(finalise() == 0);
}

int main(int count, char **words)
{
    pthread_t thread;
    void *python;

    REQUIRE(count == 4);
    python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(python != NULL);
    begin();
    REQUIRE(pthread_create(&thread, NULL, use, NULL) == 0);
    for (int round = atoi(words[3]); round > 0; round--) {
        go_on();
        interpret(python, words[2]);
        go_on();
        puts("ended");
        fflush(stdout);
    }
    is_over = true;
    REQUIRE(pthread_join(thread, NULL) == 0);
    return 0;
}
