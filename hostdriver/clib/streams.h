/* What queues and immediate lists have to do: rows that the driver keeps in the channel. */
#ifndef EMUZERO_STREAMS_H
#define EMUZERO_STREAMS_H

#include "platform.h"

typedef enum { EMUZERO_STREAM_DONE, EMUZERO_STREAM_BUSY, EMUZERO_STREAM_ASK } emuzero_stream_answer;

/* Look whether all is done that was handed over; ASK: the row does not say, the driver will. */
emuzero_stream_answer emuzero_look_at_stream(uint32_t row);

#endif
