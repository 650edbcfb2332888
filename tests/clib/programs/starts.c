/* A program that nobody started an emulator for: it gets one, and notices nothing of how. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static volatile sig_atomic_t children_ended;

static void note(int number)
{
    (void)number;
    children_ended++;
}

int main(void)
{
    signal(SIGCHLD, note);
    begin();
    puts("ready");
    fflush(stdout);
    /* Whoever runs it closes its input. */
    while (getchar() != EOF) {
    }
    DO(zeContextGetStatus(the_context));
    DO(zeContextDestroy(the_context));
    REQUIRE(wait(NULL) < 0 && errno == ECHILD);
    REQUIRE(children_ended == 0);
    return 0;
}
