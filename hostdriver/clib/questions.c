#define _GNU_SOURCE
#include "questions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address_space.h"
#include "handles.h"
#include "hostthreads.h"
#include "words.h"

enum { TICKET_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, MOST_CONTENT = 4096 };

/* Begin the answer: what the question said is not needed any more. */
static void begin(emuzero_slot *slot)
{
    slot->position = 0;
}

static void answer_map(emuzero_slot *slot)
{
    uint64_t offset = emuzero_get(slot);
    uint64_t address = emuzero_get(slot);
    uint64_t size = emuzero_get(slot);
    int descriptor = emuzero_take_descriptor(slot->number);
    int result = descriptor < 0 ? EMFILE : emuzero_map(descriptor, offset, address, size);

    if (descriptor >= 0)
        close(descriptor);
    begin(slot);
    emuzero_put(slot, (uint64_t)result);
}

static int make_ticket(const uint8_t *content, size_t size, struct stat *status)
{
    int descriptor = memfd_create("emuzero-ticket", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int cause;

    if (descriptor < 0)
        return -1;
    if (pwrite(descriptor, content, size, 0) == (ssize_t)size &&
        fcntl(descriptor, F_ADD_SEALS, TICKET_SEALS) == 0 && fstat(descriptor, status) == 0)
        return descriptor;
    cause = errno;
    close(descriptor);
    errno = cause;
    return -1;
}

/* Tell of a file that this process has now; a negative descriptor: it has none, for a cause. */
static void put_file(emuzero_slot *slot, int descriptor, int cause, const struct stat *status)
{
    begin(slot);
    emuzero_put(slot, descriptor < 0 ? (uint64_t)cause : 0);
    emuzero_put(slot, (uint64_t)(int64_t)descriptor);
    emuzero_put(slot, status->st_dev);
    emuzero_put(slot, status->st_ino);
}

static void answer_make_ticket(emuzero_slot *slot)
{
    size_t size = emuzero_get(slot);
    const uint8_t *content = emuzero_get_bytes(slot, size);
    struct stat status = {0};
    int descriptor = content == NULL ? -1 : make_ticket(content, size, &status);

    put_file(slot, descriptor, errno, &status);
}

static void answer_keep(emuzero_slot *slot)
{
    int descriptor = emuzero_take_descriptor(slot->number);
    struct stat status = {0};

    if (descriptor >= 0)
        fstat(descriptor, &status);
    put_file(slot, descriptor, EMFILE, &status);
}

/* Any number may be asked for: only memory files are read, and nothing else is touched. */
static void answer_read_ticket(emuzero_slot *slot)
{
    int descriptor = (int)emuzero_get(slot);
    uint64_t size = emuzero_get(slot);
    struct stat status = {0};
    uint8_t content[MOST_CONTENT];
    ssize_t found = -1;

    if (size <= sizeof(content) && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
        fcntl(descriptor, F_GET_SEALS) >= 0)
        found = pread(descriptor, content, size, 0);
    begin(slot);
    emuzero_put(slot, found >= 0);
    emuzero_put(slot, status.st_dev);
    emuzero_put(slot, status.st_ino);
    emuzero_put(slot, found >= 0 ? (uint64_t)found : 0);
    emuzero_put_bytes(slot, content, found >= 0 ? (size_t)found : 0);
}

static void answer_drop_ticket(emuzero_slot *slot)
{
    int descriptor = (int)emuzero_get(slot);
    uint64_t device = emuzero_get(slot);
    uint64_t inode = emuzero_get(slot);
    struct stat status;

    /* A number that the program closed and used again is left alone. */
    if (fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode)
        close(descriptor);
    begin(slot);
}

static void answer_store(emuzero_slot *slot)
{
    uint64_t address = emuzero_get(slot);
    size_t size = emuzero_get(slot);
    const uint8_t *bytes = emuzero_get_bytes(slot, size);

    if (bytes != NULL)
        memcpy((void *)(uintptr_t)address, bytes, size);
    begin(slot);
}

static void answer_load(emuzero_slot *slot)
{
    uint64_t address = emuzero_get(slot);
    size_t size = emuzero_get(slot);

    begin(slot);
    emuzero_put_bytes(slot, (const void *)(uintptr_t)address, size);
}

/* Wait for a word whose offsets, target, time and number stand in the slot, which others may have
 * meanwhile: however many threads wait, calls go on that end it. Returns the number. */
static uint32_t answer_wait(emuzero_slot *slot, uint8_t *memory)
{
    uint64_t value = emuzero_get(slot);
    uint64_t status = emuzero_get(slot);
    uint64_t sleepers = emuzero_get(slot);
    uint64_t target = emuzero_get(slot);
    uint64_t nanoseconds = emuzero_get(slot);
    uint32_t number = (uint32_t)emuzero_get(slot);
    emuzero_waited waited = {0, EMUZERO_STATUS_DEVICE_LOST};

    emuzero_give_slot(slot);
    if (memory != NULL) {
        emuzero_word word = {(uint64_t *)(memory + value), (uint32_t *)(memory + status),
                             (uint32_t *)(memory + sleepers)};

        waited = emuzero_wait(&word, target, nanoseconds);
    }
    *slot = emuzero_take_slot();
    emuzero_put(slot, waited.value);
    emuzero_put(slot, waited.status);
    return number;
}

static void answer_join(emuzero_slot *slot)
{
    uint64_t size = emuzero_get(slot);
    int descriptor = emuzero_take_descriptor(slot->number);
    void *found = MAP_FAILED;

    if (descriptor >= 0) {
        found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        close(descriptor);
    }
    begin(slot);
    emuzero_put(slot, found == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)found);
}

static void answer_reserve(emuzero_slot *slot)
{
    uint64_t size = emuzero_get(slot);
    uint64_t hint = emuzero_get(slot);
    uint64_t alignment = emuzero_get(slot);
    uint64_t address = emuzero_reserve(size, hint, alignment);

    begin(slot);
    emuzero_put(slot, address);
}

static void leave(uint64_t address, uint64_t size)
{
    emuzero_forget_slots(address, size);
    emuzero_unmap_later(address, size);
}

static void answer_addresses(emuzero_slot *slot, uint32_t what)
{
    uint64_t address = emuzero_get(slot);
    uint64_t size = emuzero_get(slot);
    int result = 0;

    if (what == EMUZERO_QUESTION_KIND_PROTECT_NONE)
        result = emuzero_protect_none(address, size);
    else if (what == EMUZERO_QUESTION_KIND_LEAVE)
        leave(address, size);
    else
        emuzero_release(address, size);
    begin(slot);
    emuzero_put(slot, (uint64_t)result);
}

static void answer_start_thread(emuzero_slot *slot)
{
    int result = emuzero_start_thread(emuzero_get(slot));

    begin(slot);
    emuzero_put(slot, (uint64_t)result);
}

uint32_t emuzero_answer(emuzero_slot *slot)
{
    uint32_t what = slot->header->what;

    switch (what) {
    case EMUZERO_QUESTION_KIND_RESERVE:
        answer_reserve(slot);
        break;
    case EMUZERO_QUESTION_KIND_LEAVE:
    case EMUZERO_QUESTION_KIND_RELEASE:
    case EMUZERO_QUESTION_KIND_PROTECT_NONE:
        answer_addresses(slot, what);
        break;
    case EMUZERO_QUESTION_KIND_MAP:
        answer_map(slot);
        break;
    case EMUZERO_QUESTION_KIND_MAKE_TICKET:
        answer_make_ticket(slot);
        break;
    case EMUZERO_QUESTION_KIND_KEEP:
        answer_keep(slot);
        break;
    case EMUZERO_QUESTION_KIND_READ_TICKET:
        answer_read_ticket(slot);
        break;
    case EMUZERO_QUESTION_KIND_DROP_TICKET:
        answer_drop_ticket(slot);
        break;
    case EMUZERO_QUESTION_KIND_STORE:
        answer_store(slot);
        break;
    case EMUZERO_QUESTION_KIND_LOAD:
        answer_load(slot);
        break;
    case EMUZERO_QUESTION_KIND_WAIT:
        return answer_wait(slot, emuzero_device_segment(emuzero_get(slot)));
    case EMUZERO_QUESTION_KIND_WAIT_SLOT:
        return answer_wait(slot, (uint8_t *)(uintptr_t)emuzero_get(slot));
    case EMUZERO_QUESTION_KIND_JOIN:
        answer_join(slot);
        break;
    case EMUZERO_QUESTION_KIND_START_THREAD:
        answer_start_thread(slot);
        break;
    default:
        begin(slot);
    }
    return 0;
}
