#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "address_space.h"
#include "callbacks.h"
#include "exports.h"
#include "handles.h"
#include "record.h"
#include "watch.h"

enum {
    LOOK_MILLISECONDS = 50,   /* between looks whether the emulator lives, while nothing is called */
    UNLOOKED_ANSWERS = 8,     /* between looks at the clock, while answers follow one another */
    SPINS = 4000,             /* looks before a wait sleeps, some tens of microseconds */
    MOST_SLEEPS_IN_A_ROW = 64 /* waits that sleep at once after spinning did not pay */
};

static const struct timespec SLEEP = {0, 100 * 1000 * 1000};

emuzero_process *_Atomic emuzero_this_process;

static emuzero_connection connection = {.socket = -1, .doorbell = -1};
static uint64_t devices_seen;
static uint64_t times_forked;
static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slot_free = PTHREAD_COND_INITIALIZER;
static uint64_t taken;
static pthread_mutex_t socket_lock = PTHREAD_MUTEX_INITIALIZER;
static int stash[EMUZERO_CHANNEL_SLOTS];
static _Atomic uint32_t sleeps_in_a_row;
static _Atomic uint32_t sleeps_left;
static _Atomic int64_t last_look;

static struct emuzero_channel_header *header(void)
{
    return (struct emuzero_channel_header *)connection.channel;
}

static _Atomic uint32_t *posted(uint32_t number)
{
    return (_Atomic uint32_t *)header()->posted + number;
}

static void lock_all(void)
{
    pthread_mutex_lock(&connecting);
    pthread_mutex_lock(&slots_lock);
    pthread_mutex_lock(&socket_lock);
    emuzero_lock_records();
    emuzero_lock_handles();
    emuzero_lock_exports();
    emuzero_lock_callbacks();
}

static void unlock_all(void)
{
    emuzero_unlock_callbacks();
    emuzero_unlock_exports();
    emuzero_unlock_handles();
    emuzero_unlock_records();
    pthread_mutex_unlock(&socket_lock);
    pthread_mutex_unlock(&slots_lock);
    pthread_mutex_unlock(&connecting);
}

/* Let go of what the parent had. Its threads that were inside calls are not here any more. */
static void begin_as_child(void)
{
    unlock_all();
    emuzero_watch_anew();
    times_forked++;
    taken = 0;
    /* Threads that waited for it are not here, and would be waited for. */
    slot_free = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    emuzero_close_connection(&connection);
    emuzero_forget_addresses();
    emuzero_forget_callbacks();
}

static void make_state(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *found = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (found == MAP_FAILED)
        return;
    madvise(found, page, MADV_WIPEONFORK);
    emuzero_this_process = found;
    pthread_atfork(lock_all, unlock_all, begin_as_child);
}

/* Tell the driver about this process, addresses it may give out; learn how many devices it sees. */
static ze_result_t begin(void)
{
    emuzero_slot slot = emuzero_take_slot();
    uint64_t start;
    uint64_t size;
    ze_result_t result;

    emuzero_permit_reach();
    emuzero_reserve_arena(&start, &size);
    emuzero_put(&slot, start);
    emuzero_put(&slot, size);
    emuzero_put_environment(&slot);
    result = emuzero_exchange(&slot, EMUZERO_MESSAGE_KIND_CALL, EMUZERO_CHANNEL_BEGIN);
    if (result == ZE_RESULT_SUCCESS && slot.header->kind == EMUZERO_MESSAGE_KIND_REPLY)
        result = (ze_result_t)slot.header->result;
    if (result == ZE_RESULT_SUCCESS)
        devices_seen = emuzero_get(&slot);
    if (result != ZE_RESULT_SUCCESS && slot.header->text_size &&
        slot.header->text_size <= slot.capacity - slot.size)
        emuzero_set_error_text((const char *)slot.data + slot.size, slot.header->text_size);
    emuzero_give_slot(&slot);
    return result;
}

/* Say on standard error why there is no emulator, the first time: before any handle exists, a
 * program has no way to ask. */
static void tell_once(void)
{
    static bool was_told;
    const char *quiet = getenv("EMUZERO_QUIET");

    if (was_told || (quiet != NULL && *quiet))
        return;
    was_told = true;
    dprintf(STDERR_FILENO, "emuzero: %s; EMUZERO_QUIET=1 silences this line\n", emuzero_error());
}

static ze_result_t connect_locked(void)
{
    ze_result_t result;

    if (emuzero_this_process == NULL)
        make_state();
    if (emuzero_this_process == NULL) {
        emuzero_set_error("no memory is left");
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (emuzero_is_connected())
        return ZE_RESULT_SUCCESS;
    if (!emuzero_open_connection(&connection)) {
        tell_once();
        return ZE_RESULT_ERROR_UNINITIALIZED;
    }
    emuzero_drop_handles_of_parent();
    emuzero_forget_exports();
    memset(stash, 0xFF, sizeof(stash));
    emuzero_this_process->was_lost = emuzero_this_process->asks = false;
    memcpy(emuzero_this_process->segments, connection.segments, sizeof(connection.segments));
    result = begin();
    if (result != ZE_RESULT_SUCCESS) {
        emuzero_close_connection(&connection);
        return result;
    }
    emuzero_prepare_records();
    emuzero_watch_as_wanted(&header()->watching);
    emuzero_this_process->channel = connection.channel;
    return ZE_RESULT_SUCCESS;
}

ze_result_t emuzero_connect(void)
{
    ze_result_t result;
    int cancelling;

    if (emuzero_is_connected())
        return ZE_RESULT_SUCCESS;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&connecting);
    result = connect_locked();
    pthread_mutex_unlock(&connecting);
    pthread_setcancelstate(cancelling, NULL);
    return result == ZE_RESULT_SUCCESS ? emuzero_ask_late() : result;
}

bool emuzero_is_connected(void)
{
    return emuzero_this_process != NULL && emuzero_this_process->channel != NULL;
}

ze_result_t emuzero_check_session(void)
{
    bool is_ours = emuzero_has_descriptors(&connection);

    if (!emuzero_this_process->was_lost && is_ours &&
        !__atomic_load_n(&header()->lost, __ATOMIC_RELAXED) &&
        !emuzero_has_hung_up(connection.socket))
        return ZE_RESULT_SUCCESS;
    emuzero_this_process->was_lost = emuzero_this_process->asks = true;
    emuzero_set_error(is_ours ? "the emulator has ended, or ended this process's session"
                              : "this process has closed descriptors of the library");
    return ZE_RESULT_ERROR_DEVICE_LOST;
}

bool emuzero_look_for_life(void)
{
    struct timespec time;
    int64_t now;
    int64_t last;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
    last = atomic_load_explicit(&last_look, memory_order_relaxed);
    if (now - last < LOOK_MILLISECONDS) {
        emuzero_this_thread.answers_left = UNLOOKED_ANSWERS;
        return true;
    }
    atomic_store_explicit(&last_look, now, memory_order_relaxed);
    if (emuzero_check_session() != ZE_RESULT_SUCCESS)
        return false;
    /* What stands in shared words of a device that is lost changes no more: the driver knows why. */
    if (!emuzero_has_devices(&connection))
        emuzero_this_process->asks = true;
    return !emuzero_this_process->asks;
}

uint64_t emuzero_times_forked(void)
{
    return times_forked;
}

struct emuzero_appends_header *emuzero_appends(void)
{
    return (struct emuzero_appends_header *)(connection.channel + EMUZERO_CHANNEL_APPENDS_OFFSET);
}

bool emuzero_has_session(void)
{
    return emuzero_is_connected() && !emuzero_this_process->was_lost;
}

struct emuzero_call_counts *emuzero_counts_of(uint16_t function)
{
    if (function >= EMUZERO_CHANNEL_COUNTS)
        return NULL;
    return (struct emuzero_call_counts *)(connection.channel + EMUZERO_CHANNEL_COUNTS_OFFSET) +
           function;
}

bool emuzero_sees_device(uint64_t number)
{
    return number > 0 && number <= devices_seen;
}

emuzero_slot emuzero_take_slot(void)
{
    emuzero_slot slot = {0};
    uint8_t *bytes;

    pthread_mutex_lock(&slots_lock);
    while (taken == UINT64_MAX)
        pthread_cond_wait(&slot_free, &slots_lock);
    slot.number = (uint32_t)__builtin_ctzll(~taken);
    taken |= UINT64_C(1) << slot.number;
    pthread_mutex_unlock(&slots_lock);
    bytes = connection.channel + EMUZERO_CHANNEL_SLOTS_OFFSET +
            (size_t)slot.number * EMUZERO_CHANNEL_SLOT_SIZE;
    slot.header = (struct emuzero_slot_header *)bytes;
    slot.data = bytes + sizeof(*slot.header);
    slot.capacity = EMUZERO_CHANNEL_SLOT_SIZE - sizeof(*slot.header);
    return slot;
}

void emuzero_give_slot(const emuzero_slot *slot)
{
    pthread_mutex_lock(&slots_lock);
    taken &= ~(UINT64_C(1) << slot->number);
    pthread_cond_signal(&slot_free);
    pthread_mutex_unlock(&slots_lock);
}

/* Spin for a moment, unless spinning did not pay lately; return whether `turn` was reached. */
static bool spin(const uint32_t *word, uint32_t turn)
{
    uint32_t left = atomic_load_explicit(&sleeps_left, memory_order_relaxed);
    uint32_t row;

    if (left) {
        atomic_store_explicit(&sleeps_left, left - 1, memory_order_relaxed);
        return __atomic_load_n(word, __ATOMIC_ACQUIRE) == turn;
    }
    for (int look = 0; look < SPINS; look++) {
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == turn) {
            atomic_store_explicit(&sleeps_in_a_row, 0, memory_order_relaxed);
            return true;
        }
        __builtin_ia32_pause();
    }
    row = 2 * atomic_load_explicit(&sleeps_in_a_row, memory_order_relaxed);
    row = row < 1 ? 1 : row > MOST_SLEEPS_IN_A_ROW ? MOST_SLEEPS_IN_A_ROW : row;
    atomic_store_explicit(&sleeps_in_a_row, row, memory_order_relaxed);
    atomic_store_explicit(&sleeps_left, row, memory_order_relaxed);
    return false;
}

static ze_result_t await_turn(struct emuzero_slot_header *slot, uint32_t turn)
{
    ze_result_t result = ZE_RESULT_SUCCESS;

    if (spin(&slot->turn, turn))
        return result;
    __atomic_store_n(&slot->sleepers, 1, __ATOMIC_RELAXED);
    for (;;) {
        uint32_t found;

        /* The driver stores `turn`, makes its fence and looks at `sleepers`: one of the two looks
         * finds the other's store. The value that the futex expects is the one that was judged. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        found = __atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE);
        if (found == turn)
            break;
        if (syscall(SYS_futex, &slot->turn, FUTEX_WAIT, found, &SLEEP, NULL, 0) < 0 &&
            errno == ETIMEDOUT) {
            result = emuzero_check_session();
            if (result != ZE_RESULT_SUCCESS)
                break;
        }
    }
    __atomic_store_n(&slot->sleepers, 0, __ATOMIC_RELAXED);
    return result;
}

ze_result_t emuzero_exchange(emuzero_slot *slot, uint32_t kind, uint32_t what)
{
    uint32_t turn = atomic_load_explicit(posted(slot->number), memory_order_relaxed) + 1;
    ze_result_t result;

    /* Nobody would answer: whoever tidies up many objects does not wait for each. */
    if (emuzero_this_process->was_lost)
        return emuzero_check_session();
    slot->header->kind = kind;
    slot->header->what = what;
    slot->header->size = (uint32_t)slot->position;
    atomic_store_explicit(posted(slot->number), turn, memory_order_release);
    /* The driver sets `asleep`, makes its fence and looks at `posted`. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&header()->asleep, __ATOMIC_RELAXED)) {
        uint64_t one = 1;
        ssize_t written;

        if (!emuzero_has_descriptors(&connection))
            return emuzero_check_session();
        written = write(connection.doorbell, &one, sizeof(one));
        (void)written; /* full: it is rung already */
    }
    result = await_turn(slot->header, turn);
    slot->position = 0;
    slot->overflow = false;
    slot->size = slot->header->size <= slot->capacity ? slot->header->size : 0;
    return result;
}

ze_result_t emuzero_nudge(void)
{
    emuzero_slot slot;
    ze_result_t result;
    int cancelling;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    slot = emuzero_take_slot();
    result = emuzero_exchange(&slot, EMUZERO_MESSAGE_KIND_CALL, EMUZERO_CHANNEL_NUDGE);
    emuzero_give_slot(&slot);
    pthread_setcancelstate(cancelling, NULL);
    return result;
}

int emuzero_take_descriptor(uint32_t slot_number)
{
    int found;
    uint32_t request;
    int descriptor;

    pthread_mutex_lock(&socket_lock);
    /* It was sent before the question that needs it. */
    while (emuzero_has_descriptors(&connection) &&
           emuzero_receive_descriptor(connection.socket, &request, &descriptor) > 0) {
        if (request < EMUZERO_CHANNEL_SLOTS && stash[request] < 0)
            stash[request] = descriptor;
        else if (descriptor >= 0)
            close(descriptor);
    }
    found = stash[slot_number];
    stash[slot_number] = -1;
    pthread_mutex_unlock(&socket_lock);
    return found;
}
