/* A program with an interpreter of Python inside, which calls the library, too, and ends before it.
 *
 * embeds PYTHON SCRIPT ROUNDS   the interpreter's library, and what it runs; begun and ended so often */
#include <dlfcn.h>
#include <pthread.h>

#include "work.h"

enum { ROUNDS = 30 };

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
    ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    pthread_t thread;
    void *python;

    REQUIRE(count == 4);
    python = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    REQUIRE(python != NULL);
    begin();
    DO(zeMemAllocHost(the_context, &desc, 4096, 0, &kept));
    REQUIRE(pthread_create(&thread, NULL, work, NULL) == 0);
    for (int round = atoi(words[3]); round > 0; round--) {
        await_rounds(ROUNDS);
        interpret(python, words[2]);
        await_rounds(ROUNDS);
        puts("ended");
        fflush(stdout);
    }
    is_over = true;
    REQUIRE(pthread_join(thread, NULL) == 0);
    DO(zeMemFree(the_context, kept));
    return 0;
}
