#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "channel.h"
#include "refusal.h"
#include "start.h"

enum {
    PATIENCE_SECONDS = 10,
    MOST_STARTS = 2 /* one that was started on demand may leave with its last client just then */
};

typedef enum { ATTACHED, REFUSED, NOBODY } answer;

typedef union {
    struct cmsghdr header;
    char space[CMSG_SPACE(EMUZERO_MAX_DESCRIPTORS * sizeof(int))];
} control_space;

static emuzero_identity identity_of(int descriptor)
{
    struct stat status;

    if (fstat(descriptor, &status) < 0)
        return (emuzero_identity){0, 0};
    return (emuzero_identity){status.st_dev, status.st_ino};
}

static bool is_still(int descriptor, emuzero_identity identity)
{
    emuzero_identity found = identity_of(descriptor);

    return found.device == identity.device && found.inode == identity.inode;
}

/* Find where the emulator listens; false: no such path. */
static bool socket_path(char *path, size_t size)
{
    const char *named = getenv("EMUZERO_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat status;
    int length;

    if (named != NULL && *named)
        length = snprintf(path, size, "%s", named);
    else if (runtime != NULL && *runtime == '/' && stat(runtime, &status) == 0 &&
             S_ISDIR(status.st_mode))
        length = snprintf(path, size, "%s/emuzero/shared.sock", runtime);
    else
        length = snprintf(path, size, "/tmp/emuzero-%u/shared.sock", (unsigned)geteuid());
    return length > 0 && (size_t)length < size;
}

/* Connect to a path of any length: long ones go through a descriptor of their folder. */
static int connect_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *slash = strrchr(path, '/');
    char folder_path[4096];
    int folder = -1;
    int length;
    int result;
    int found = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (found < 0)
        return -1;
    if (strlen(path) < sizeof(address.sun_path) || slash == NULL) {
        length = snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    } else {
        snprintf(folder_path, sizeof(folder_path), "%.*s", (int)(slash - path), path);
        folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        length = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
                          slash + 1);
    }
    if (length >= (int)sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        result = -1;
    } else {
        result = connect(found, (struct sockaddr *)&address, sizeof(address));
    }
    if (folder >= 0)
        close(folder);
    if (result < 0) {
        int cause = errno;

        close(found);
        errno = cause;
        return -1;
    }
    return found;
}

/* Take the descriptors out of a message; more than fit are closed. Returns how many there were. */
static int descriptors_of(struct msghdr *message, int *into, int room)
{
    int count = 0;

    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
         part = CMSG_NXTHDR(message, part)) {
        int here;

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        here = (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int index = 0; index < here; index++, count++) {
            int number;

            memcpy(&number, CMSG_DATA(part) + (size_t)index * sizeof(int), sizeof(int));
            if (count < room)
                into[count] = number;
            else
                close(number);
        }
    }
    return count;
}

static void close_all(const int *numbers, int count)
{
    for (int index = 0; index < count; index++)
        close(numbers[index]);
}

static bool say_hello(int socket)
{
    struct emuzero_hello hello = {
        .magic = EMUZERO_HELLO_MAGIC,
        .abi_major = EMUZERO_ABI_MAJOR,
        .abi_minor = EMUZERO_ABI_MINOR,
        .features = UINT64_MAX,
        .purpose = EMUZERO_PURPOSE_PROGRAM,
    };
    extern char *program_invocation_short_name;

    strncpy((char *)hello.name, program_invocation_short_name, sizeof(hello.name) - 1);
    return send(socket, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
}

/* Receive the answer; returns the number of descriptors, or -1 with the error description set;
 * `hung_up`: there was no answer. */
static int receive_welcome(int socket, const char *path, struct emuzero_welcome *welcome,
                           int *numbers, bool *hung_up)
{
    control_space control;
    struct iovec bytes = {welcome, sizeof(*welcome)};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t size;
    int count;

    do
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    *hung_up = size == 0 || (size < 0 && errno == ECONNRESET);
    if (size != (ssize_t)sizeof(*welcome) || welcome->magic != EMUZERO_HELLO_MAGIC) {
        emuzero_set_error("the emulator did not answer: %s",
                          size < 0 ? strerror(errno) : "it hung up, or is another version");
        if (size >= 0)
            close_all(numbers, descriptors_of(&message, numbers, EMUZERO_MAX_DESCRIPTORS));
        return -1;
    }
    count = descriptors_of(&message, numbers, EMUZERO_MAX_DESCRIPTORS);
    if (welcome->status != EMUZERO_HANDSHAKE_STATUS_OK) {
        emuzero_set_refusal(path, welcome);
    } else if (message.msg_flags & MSG_CTRUNC || count != (int)welcome->device_count + 2) {
        emuzero_set_error("%d of %u descriptors arrived: this process is at its limit "
                          "(RLIMIT_NOFILE)",
                          count, welcome->device_count + 2);
    } else {
        return count;
    }
    close_all(numbers, count);
    return -1;
}

/* Map a memory file that cannot shrink; NULL: it cannot be mapped. */
static uint8_t *map_sealed(int descriptor, size_t *size)
{
    struct stat status;
    int seals = fcntl(descriptor, F_GET_SEALS);
    void *found;

    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &status) < 0)
        return NULL;
    *size = (size_t)status.st_size;
    found = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return found == MAP_FAILED ? NULL : found;
}

static bool is_channel(const uint8_t *bytes, size_t size)
{
    const struct emuzero_channel_header *header = (const void *)bytes;
    size_t needed = EMUZERO_CHANNEL_STREAMS_OFFSET +
                    EMUZERO_CHANNEL_STREAMS * sizeof(struct emuzero_stream_row);

    return size >= needed && header->magic == EMUZERO_CHANNEL_MAGIC &&
           header->slot_count == EMUZERO_CHANNEL_SLOTS &&
           header->slot_size == EMUZERO_CHANNEL_SLOT_SIZE &&
           header->slots_offset == EMUZERO_CHANNEL_SLOTS_OFFSET;
}

/* Map what came with the welcome; the memory files' descriptors are not needed after that. */
static bool map_all(emuzero_connection *connection, const int *numbers, int count)
{
    connection->channel = map_sealed(numbers[0], &connection->channel_size);
    if (connection->channel == NULL ||
        !is_channel(connection->channel, connection->channel_size)) {
        emuzero_set_error("the channel that came with the welcome cannot be used: %s",
                          connection->channel == NULL ? strerror(errno) : "another version");
        return false;
    }
    for (int index = 2; index < count; index++) {
        uint8_t *segment = map_sealed(numbers[index], &connection->segment_sizes[index - 2]);

        if (segment == NULL) {
            emuzero_set_error("the segment of device %d cannot be mapped: %s", index - 2,
                              strerror(errno));
            return false;
        }
        connection->segments[index - 2] = segment;
        connection->device_count++;
    }
    return true;
}

static answer attach(emuzero_connection *connection, const char *path)
{
    struct timeval patience = {PATIENCE_SECONDS, 0};
    struct emuzero_welcome welcome;
    int numbers[EMUZERO_MAX_DESCRIPTORS];
    bool hung_up = true;
    int count = -1;
    bool mapped;

    *connection = (emuzero_connection){.socket = -1, .doorbell = -1};
    connection->socket = connect_path(path);
    if (connection->socket < 0) {
        bool is_nobody = errno == ENOENT || errno == ECONNREFUSED;

        emuzero_set_error("no emulator listens at %s: %s (emuzero run -- PROGRAM starts one; "
                          "after eval \"$(emuzero env)\" programs do)",
                          path, strerror(errno));
        return is_nobody ? NOBODY : REFUSED;
    }
    connection->socket_identity = identity_of(connection->socket);
    setsockopt(connection->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (say_hello(connection->socket))
        count = receive_welcome(connection->socket, path, &welcome, numbers, &hung_up);
    else
        emuzero_set_error("the emulator at %s hung up", path);
    if (count < 0) {
        emuzero_close_connection(connection);
        return hung_up ? NOBODY : REFUSED;
    }
    mapped = map_all(connection, numbers, count);
    connection->doorbell = numbers[1];
    connection->doorbell_identity = identity_of(connection->doorbell);
    close(numbers[0]);
    close_all(numbers + 2, count - 2);
    if (!mapped)
        emuzero_close_connection(connection);
    return mapped ? ATTACHED : REFUSED;
}

bool emuzero_open_connection(emuzero_connection *connection)
{
    char path[4096];

    *connection = (emuzero_connection){.socket = -1, .doorbell = -1};
    if (!socket_path(path, sizeof(path))) {
        emuzero_set_error("the path of the emulator's socket is too long");
        return false;
    }
    for (int starts = 0;; starts++) {
        answer found = attach(connection, path);

        if (found != NOBODY || starts == MOST_STARTS || !emuzero_may_start())
            return found == ATTACHED;
        if (!emuzero_start())
            return false;
    }
}

void emuzero_close_connection(emuzero_connection *connection)
{
    if (connection->socket >= 0 && is_still(connection->socket, connection->socket_identity))
        close(connection->socket);
    if (connection->doorbell >= 0 && is_still(connection->doorbell, connection->doorbell_identity))
        close(connection->doorbell);
    if (connection->channel != NULL)
        munmap(connection->channel, connection->channel_size);
    for (uint32_t index = 0; index < connection->device_count; index++)
        munmap(connection->segments[index], connection->segment_sizes[index]);
    *connection = (emuzero_connection){.socket = -1, .doorbell = -1};
}

bool emuzero_has_descriptors(const emuzero_connection *connection)
{
    return is_still(connection->socket, connection->socket_identity) &&
           is_still(connection->doorbell, connection->doorbell_identity);
}

bool emuzero_has_devices(const emuzero_connection *connection)
{
    for (uint32_t index = 0; index < connection->device_count; index++) {
        const uint8_t *segment = connection->segments[index];
        const struct emuzero_superblock *superblock = (const void *)segment;
        const uint32_t *status =
            (const void *)(segment + superblock->registers_offset + EMUZERO_REGISTER_STATUS);
        uint32_t found = __atomic_load_n(status, __ATOMIC_RELAXED);

        if (found & EMUZERO_DEVICE_STATUS_CLIENT_LOST_MASK ||
            (found & EMUZERO_DEVICE_STATUS_PHASE_MASK) == EMUZERO_PHASE_HALTED)
            return false;
    }
    return true;
}

int emuzero_receive_descriptor(int socket, uint32_t *request, int *descriptor)
{
    struct emuzero_descriptor_note note;
    control_space control;
    struct iovec bytes = {&note, sizeof(note)};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t size;

    do
        size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    if (size == 0)
        return -1;
    *descriptor = -1;
    descriptors_of(&message, descriptor, 1);
    *request = size == (ssize_t)sizeof(note) ? note.request : UINT32_MAX;
    return 1;
}

bool emuzero_has_hung_up(int socket)
{
    struct pollfd watched = {.fd = socket, .events = POLLRDHUP};

    return poll(&watched, 1, 0) > 0 && watched.revents & (POLLRDHUP | POLLHUP | POLLERR);
}
