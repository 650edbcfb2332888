/* Connecting to the emulator: socket, handshake, and what comes with the welcome. */
#ifndef EMUZERO_CONNECTION_H
#define EMUZERO_CONNECTION_H

#include <stdbool.h>

#include "platform.h"

enum { EMUZERO_MOST_DEVICES = EMUZERO_MAX_DESCRIPTORS - 2 };

/* What a descriptor was when it was ours: a program may close any number, and use it again. */
typedef struct {
    uint64_t device;
    uint64_t inode;
} emuzero_identity;

typedef struct {
    int socket;
    int doorbell;
    emuzero_identity socket_identity;
    emuzero_identity doorbell_identity;
    uint8_t *channel;
    size_t channel_size;
    uint32_t device_count;
    uint8_t *segments[EMUZERO_MOST_DEVICES];
    size_t segment_sizes[EMUZERO_MOST_DEVICES];
} emuzero_connection;

/* Connect and map everything; where nobody listens at the shared socket, an emulator is started if
 * the environment says how. Returns false with the cause as the error description; nothing is
 * left open then. */
bool emuzero_open_connection(emuzero_connection *connection);

/* Close descriptors, unless the program has put something else in their place, and mappings; a
 * parent's stay as they are. */
void emuzero_close_connection(emuzero_connection *connection);

/* Return whether both descriptors are still what they were. */
bool emuzero_has_descriptors(const emuzero_connection *connection);

/* Return whether all devices serve this process: none halted, was lost or has ended its session. */
bool emuzero_has_devices(const emuzero_connection *connection);

/* Receive one message with at most one descriptor, without waiting.
 *
 * Returns 1: received, `request` and `descriptor` (-1: it was lost) are set; 0: none is there;
 * -1: the emulator hung up. */
int emuzero_receive_descriptor(int socket, uint32_t *request, int *descriptor);

/* Return whether the other end of a socket has hung up. */
bool emuzero_has_hung_up(int socket);

#endif
