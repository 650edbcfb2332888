/* Limit of opening shared memory: a descriptor sent by another process, mapped, and given back.
 *
 * "open SIZE COUNT" asks the exporting process (a child) for the descriptor of SIZE bytes over a
 * Unix socket, maps it, unmaps it and closes it. The answer is nanoseconds for one.
 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/wait.h>
#include "limit.h"

static int way[2];

static void send_file(int file)
{
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &file, sizeof file);
    if (sendmsg(way[1], &message, 0) != 1)
        fail("sendmsg");
}

static int receive_file(void)
{
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    int file;
    if (recvmsg(way[0], &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        fail("recvmsg");
    memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
    return file;
}

static void be_exporter(size_t size)
{
    char byte;
    int file = memfd_create("limit", MFD_CLOEXEC);
    close(way[0]);
    if (file < 0 || ftruncate(file, size))
        fail("memfd_create");
    while (read(way[1], &byte, 1) == 1)
        send_file(file);
    _exit(0);
}

static double open_and_close(size_t size, unsigned count)
{
    static uint64_t samples[MOST_SAMPLES];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, way))
        fail("socketpair");
    pid_t exporter = fork();
    if (exporter < 0)
        fail("fork");
    if (!exporter)
        be_exporter(size);
    close(way[1]);
    for (unsigned i = 0; i < count; i++) {
        uint64_t start = now();
        if (write(way[0], "?", 1) != 1)
            fail("write");
        int file = receive_file();
        void *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at == MAP_FAILED)
            fail("mmap");
        close(file);
        munmap(at, size);
        samples[i] = now() - start;
    }
    close(way[0]);
    waitpid(exporter, 0, 0);
    return median(samples, count);
}

int main(void)
{
    char kind[16];
    size_t size;
    unsigned count;
    while (scanf("%15s %zu %u", kind, &size, &count) == 3) {
        if (strcmp(kind, "open") || count > MOST_SAMPLES)
            fail(kind);
        answer(open_and_close(size, count));
    }
    return 0;
}
