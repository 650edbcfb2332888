#include "streams.h"

#include <stddef.h>

#include "channel.h"

enum { TRIES = 64 };

static emuzero_stream_answer look(const struct emuzero_stream_row *row)
{
    uint64_t ring = __atomic_load_n(&row->ring, __ATOMIC_RELAXED);
    uint64_t target = __atomic_load_n(&row->target, __ATOMIC_RELAXED);
    uint8_t *segment = emuzero_device_segment(__atomic_load_n(&row->device, __ATOMIC_RELAXED));
    const struct emuzero_ring_header *header;
    uint32_t status;

    if (!__atomic_load_n(&row->is_known, __ATOMIC_RELAXED) || segment == NULL)
        return EMUZERO_STREAM_ASK;
    header = (const struct emuzero_ring_header *)(segment + ring);
    /* The device stores how much is done before it stores why no more is going to be. */
    status = __atomic_load_n(&header->completion_status, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&header->completed, __ATOMIC_ACQUIRE) >= target)
        return EMUZERO_STREAM_DONE;
    return status ? EMUZERO_STREAM_ASK : EMUZERO_STREAM_BUSY;
}

emuzero_stream_answer emuzero_look_at_stream(uint32_t number)
{
    const struct emuzero_stream_row *row = emuzero_stream_rows() + number;

    if (number == 0 || number >= EMUZERO_CHANNEL_STREAMS)
        return EMUZERO_STREAM_ASK;
    for (int count = 0; count < TRIES; count++) {
        uint64_t turn = __atomic_load_n(&row->turn, __ATOMIC_ACQUIRE);
        emuzero_stream_answer answer;

        if (turn & 1) {
            __builtin_ia32_pause();
            continue;
        }
        answer = look(row);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&row->turn, __ATOMIC_RELAXED) == turn)
            return answer;
    }
    return EMUZERO_STREAM_ASK;
}
