#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"

enum { PATIENCE_SECONDS = 40, MOST_SAID = 2048 };

/* What the helper says when somebody listens (hostdriver/runtime/start.py). */
static const char LISTENS[] = "listens";

extern char **environ;

static const char *interpreter(void)
{
    const char *named = getenv("EMUZERO_PYTHON");

    return named != NULL && *named ? named : NULL;
}

bool emuzero_may_start(void)
{
    const char *socket = getenv("EMUZERO_SOCKET");

    return (socket == NULL || !*socket) && interpreter() != NULL;
}

/* Copy this process without a signal at the copy's end: the program's own wait() and its handler of
 * SIGCHLD never hear of it. The copy may make system calls, nothing else. */
static pid_t fork_quietly(void)
{
    return (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, NULL);
}

/* Become the helper: a session of its own, and of all descriptors the one that it speaks to. */
static _Noreturn void become(char *const *command, int said)
{
    static const char problem[] = "EMUZERO_PYTHON names nothing that can be run";
    int nothing = open("/dev/null", O_RDONLY);
    sigset_t none;

    setsid();
    dup2(nothing, STDIN_FILENO);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    syscall(SYS_close_range, 3U, ~0U, 0U);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (chdir("/") == 0)
        execve(command[0], command, environ);
    if (write(STDOUT_FILENO, problem, sizeof(problem) - 1) < 0)
        _exit(2);
    _exit(1);
}

/* Run the helper as nobody's child: the process between it and this one ends at once. */
static bool spawn(char *const *command, int said)
{
    pid_t between = fork_quietly();

    if (between == 0) {
        pid_t helper = fork_quietly();

        if (helper == 0)
            become(command, said);
        _exit(helper < 0);
    }
    if (between > 0) {
        int status = 0;

        while (waitpid(between, &status, __WCLONE) < 0 && errno == EINTR) {
        }
        if (status == 0)
            return true;
    }
    emuzero_set_error("no emulator could be started: %s", strerror(errno));
    return false;
}

static int64_t now_in_milliseconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Read what the helper says until it ends; returns false when that takes too long. */
static bool listen_to(int said, char *text, size_t size)
{
    int64_t end = now_in_milliseconds() + PATIENCE_SECONDS * 1000;
    size_t used = 0;

    for (;;) {
        struct pollfd readable = {.fd = said, .events = POLLIN};
        int64_t left = end - now_in_milliseconds();
        char rest[256];
        ssize_t count;

        if (left <= 0)
            return false;
        if (poll(&readable, 1, (int)left) <= 0)
            continue;
        count = read(said, rest, sizeof(rest));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        if ((size_t)count > size - 1 - used)
            count = (ssize_t)(size - 1 - used);
        memcpy(text + used, rest, (size_t)count);
        used += (size_t)count;
    }
    text[used] = '\0';
    while (used > 0 && text[used - 1] == '\n')
        text[--used] = '\0';
    return true;
}

bool emuzero_start(void)
{
    char *command[] = {(char *)(uintptr_t)interpreter(), "-m", "hostdriver.runtime.start", NULL};
    char text[MOST_SAID];
    bool is_spawned;
    bool is_over;
    int said[2];

    if (pipe2(said, O_CLOEXEC) < 0) {
        emuzero_set_error("no emulator could be started: %s", strerror(errno));
        return false;
    }
    is_spawned = spawn(command, said[1]);
    close(said[1]);
    is_over = is_spawned && listen_to(said[0], text, sizeof(text));
    close(said[0]);
    if (!is_spawned)
        return false;
    if (is_over && strcmp(text, LISTENS) == 0)
        return true;
    if (is_over)
        emuzero_set_error("no emulator could be started by %s: %s", command[0],
                          *text ? text : "it ended without a word");
    else
        emuzero_set_error("no emulator listens %d s after %s was asked for one", PATIENCE_SECONDS,
                          command[0]);
    return false;
}
