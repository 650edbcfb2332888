/* Connecting to the emulator: socket, handshake, and what comes with the welcome. */
#ifndef EMUZERO_CONNECTION_H
#define EMUZERO_CONNECTION_H

#include <stdbool.h>

#include "platform.h"

enum { EMUZERO_MOST_DEVICES = EMUZERO_MAX_DESCRIPTORS - 2 };

typedef struct {
    int socket;
    int doorbell;
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

/* Close descriptors and mappings; a parent's stay as they are. */
void emuzero_close_connection(emuzero_connection *connection);

/* Receive one message with at most one descriptor, without waiting.
 *
 * Returns 1: received, `request` and `descriptor` (-1: it was lost) are set; 0: none is there;
 * -1: the emulator hung up. */
int emuzero_receive_descriptor(int socket, uint32_t *request, int *descriptor);

/* Return whether the other end of a socket has hung up. */
bool emuzero_has_hung_up(int socket);

#endif
