/* What test programs of several processes share: handles as text, and running themselves again. */
#ifndef SHARE_H
#define SHARE_H

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { HANDLE_BYTES = 64 };

static inline void read_handle(const char *text, char *bytes)
{
    for (size_t index = 0; index < HANDLE_BYTES; index++) {
        unsigned value;

        REQUIRE(sscanf(text + 2 * index, "%2x", &value) == 1);
        bytes[index] = (char)value;
    }
}

/* Run this program again as the other process, with a handle and one more word. */
static inline pid_t start_with(const char *bytes, const char *word)
{
    char text[2 * HANDLE_BYTES + 1];
    pid_t child;

    for (size_t index = 0; index < HANDLE_BYTES; index++)
        sprintf(text + 2 * index, "%02x", (unsigned char)bytes[index]);
    child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "other", text, word, NULL);
        _exit(127);
    }
    REQUIRE(child > 0);
    return child;
}

static inline void end_well(pid_t child)
{
    int status;

    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Descriptors between the two, by a socket pair that the other process inherits. */
static inline void send_descriptor(int socket, int descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};

    control.header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
    REQUIRE(sendmsg(socket, &message, 0) == 1);
}

static inline int receive_descriptor(int socket)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte;
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int descriptor;

    REQUIRE(recvmsg(socket, &message, 0) == 1);
    REQUIRE(message.msg_controllen > 0);
    memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(int));
    return descriptor;
}

#endif
