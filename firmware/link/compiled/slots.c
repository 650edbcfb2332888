/* Slots of 0 or 1 that a program sets, resets and waits for: what `firmware.link.slots` says, compiled.
 *
 * After a pause nothing of an interpreter is in the processor's caches, and each step of it costs a
 * hundred times what it does in a loop. So a wait that sleeps is one call here, from the first look
 * at the word to the last, and so is a signal that wakes.
 *
 * The order is that of `firmware.link.notify`. Memory stays mapped as long as a thread is inside: a
 * slot holds a view of it until it is closed and the last one has left. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
/* How long a wait spins with the interpreter's lock, which other threads may want: a partner that
 * spins as well answers within it, and giving up the lock takes as long as looking ten times. */
#define HELD UINT64_C(10000)
/* Looks at the word between two at the clock. */
enum { LOOKS = 16 };

typedef struct {
    PyObject_HEAD
    Py_buffer view; /* `view.obj` is NULL once it was given up */
    uint64_t *value;
    uint32_t *status;
    uint32_t *sleepers;
    uint32_t *device_waits;
    PyObject *alive; /* says after each nap whether waiting is still of use */
    PyObject *nudge; /* tells the device that a queue of it waits */
    pid_t pid;
    bool is_closed;
    unsigned inside; /* threads that wait; changed under the interpreter's lock */
    uint64_t spin;   /* longest spin in nanoseconds; 0: never */
    uint64_t nap;
    uint32_t most_sleeps;
    uint32_t sleeps_after_failure; /* how spins went: see `firmware.link.waiting` */
    uint32_t sleep_next;
} Slot;

typedef enum { IN_VAIN, REACHED, USELESS, FAILED } Outcome;

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A closed one, or the copy of one in a child, is not used; the parent's threads are not there. */
static bool is_usable(const Slot *self)
{
    return !__atomic_load_n(&self->is_closed, __ATOMIC_RELAXED) && self->pid == getpid();
}

static bool is_set(const Slot *self)
{
    return __atomic_load_n(self->value, __ATOMIC_ACQUIRE) != 0;
}

static bool is_over(const Slot *self)
{
    return __atomic_load_n(self->status, __ATOMIC_ACQUIRE) ||
           __atomic_load_n(&self->is_closed, __ATOMIC_RELAXED);
}

static void wake_all(const Slot *self)
{
    syscall(SYS_futex, self->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void give_up_memory(Slot *self)
{
    if (self->view.obj != NULL)
        PyBuffer_Release(&self->view);
    Py_CLEAR(self->alive);
    Py_CLEAR(self->nudge);
}

static PyObject *slot_close(Slot *self, PyObject *nothing)
{
    (void)nothing;
    __atomic_store_n(&self->is_closed, true, __ATOMIC_SEQ_CST);
    if (self->pid != getpid())
        self->inside = 0;
    if (self->inside)
        wake_all(self);
    else
        give_up_memory(self);
    Py_RETURN_NONE;
}

static PyObject *slot_signal(Slot *self, PyObject *nothing)
{
    (void)nothing;
    if (!is_usable(self))
        Py_RETURN_FALSE;
    /* 1. The value is stored. 2. It is visible before what follows is loaded. */
    __atomic_store_n(self->value, 1, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    /* 3. Whoever counted himself and did not see the value is found here ... */
    if (__atomic_load_n(self->sleepers, __ATOMIC_RELAXED))
        wake_all(self);
    /* 4. ... as is the queue of a device that said so before it looked at the value. */
    if (__atomic_load_n(self->device_waits, __ATOMIC_RELAXED)) {
        PyObject *nudge = Py_NewRef(self->nudge);
        PyObject *done = PyObject_CallNoArgs(nudge);

        Py_DECREF(nudge);
        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    Py_RETURN_TRUE;
}

static PyObject *slot_clear(Slot *self, PyObject *nothing)
{
    (void)nothing;
    if (!is_usable(self))
        Py_RETURN_FALSE;
    __atomic_store_n(self->value, 0, __ATOMIC_RELEASE);
    __atomic_store_n(self->status, 0, __ATOMIC_RELEASE);
    Py_RETURN_TRUE;
}

static PyObject *slot_is_set(Slot *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(is_usable(self) && is_set(self));
}

static PyObject *slot_waiters(Slot *self, PyObject *nothing)
{
    (void)nothing;
    return PyLong_FromUnsignedLong(self->inside);
}

/* Look at the word until it is set, it never will be or the time has come. */
static bool spin_until(const Slot *self, uint64_t end)
{
    do {
        for (int count = 0; count < LOOKS; count++) {
            if (is_set(self))
                return true;
            relax();
        }
    } while (!is_over(self) && now() < end);
    return is_set(self);
}

/* Return whether this wait spins before it sleeps. */
static bool spins_now(Slot *self)
{
    if (self->spin && !self->sleep_next)
        return true;
    if (self->sleep_next)
        self->sleep_next--;
    return false;
}

static void spun_in_vain(Slot *self)
{
    uint32_t longer = 2 * self->sleeps_after_failure;

    longer = longer ? longer : 1;
    longer = longer < self->most_sleeps ? longer : self->most_sleeps;
    self->sleeps_after_failure = self->sleep_next = longer;
}

/* Look after what only Python can: handlers of signals, or whether waiting is still of use. */
static Outcome look_after(Slot *self, PyThreadState **thread, int error)
{
    Outcome outcome = IN_VAIN;

    PyEval_RestoreThread(*thread);
    if (error == EINTR) {
        outcome = PyErr_CheckSignals() ? FAILED : IN_VAIN;
    } else if (error == ETIMEDOUT) {
        PyObject *answer = PyObject_CallNoArgs(self->alive);

        if (answer == NULL)
            outcome = FAILED;
        else if (answer != Py_True)
            outcome = USELESS;
        Py_XDECREF(answer);
    } else {
        /* The memory is no futex: whoever waits the other way is told. */
        outcome = USELESS;
    }
    *thread = PyEval_SaveThread();
    return outcome;
}

/* Sleep on the word until it is set, it never will be, or time is up; without the lock. */
static Outcome sleep_until_set(Slot *self, PyThreadState **thread, uint64_t begun, uint64_t limit)
{
    Outcome outcome = IN_VAIN;

    /* 1. Say that we sleep, before the word is looked at: whoever stores later sees it. */
    __atomic_fetch_add(self->sleepers, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        struct timespec time;
        uint64_t spent, nap;

        /* 2. The count must be visible before the word is loaded. 3. Load it. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (is_set(self)) {
            outcome = REACHED;
            break;
        }
        spent = now() - begun;
        if (is_over(self) || spent >= limit)
            break;
        nap = limit - spent < self->nap ? limit - spent : self->nap;
        time.tv_sec = (time_t)(nap / SECOND);
        time.tv_nsec = (long)(nap % SECOND);
        /* 4. Sleep only if the low half still is what was found. */
        if (syscall(SYS_futex, self->value, FUTEX_WAIT, 0, &time, NULL, 0) == 0 || errno == EAGAIN)
            continue;
        outcome = look_after(self, thread, errno);
        if (outcome != IN_VAIN)
            break;
    }
    __atomic_fetch_sub(self->sleepers, 1, __ATOMIC_SEQ_CST);
    return outcome;
}

/* Wait without the interpreter's lock: spin on, if this wait spins, then sleep. */
static Outcome wait_unlocked(Slot *self, bool spins, uint64_t begun, uint64_t limit)
{
    uint64_t spin = limit < self->spin ? limit : self->spin;
    PyThreadState *thread = PyEval_SaveThread();
    Outcome outcome = IN_VAIN;

    if (spins) {
        if (spin_until(self, begun + spin)) {
            self->sleeps_after_failure = 0;
            outcome = REACHED;
        } else {
            spun_in_vain(self);
        }
    }
    if (outcome == IN_VAIN)
        outcome = sleep_until_set(self, &thread, begun, limit);
    PyEval_RestoreThread(thread);
    return outcome;
}

static Outcome wait(Slot *self, uint64_t begun, uint64_t limit)
{
    bool spins = spins_now(self);
    Outcome outcome;

    if (spins && spin_until(self, begun + (limit < HELD ? limit : HELD))) {
        self->sleeps_after_failure = 0;
        return REACHED;
    }
    self->inside++;
    outcome = wait_unlocked(self, spins, begun, limit);
    self->inside--;
    if (self->inside == 0 && self->is_closed)
        give_up_memory(self);
    return outcome;
}

static PyObject *slot_wait(Slot *self, PyObject *nanoseconds)
{
    uint64_t begun, limit = PyLong_AsUnsignedLongLong(nanoseconds);

    if (limit == UINT64_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        return PyLong_FromLong(0);
    }
    if (!is_usable(self))
        return PyLong_FromLong(0);
    if (is_set(self))
        return PyLong_FromLong(-1);
    if (is_over(self) || limit == 0)
        return PyLong_FromLong(0);
    begun = now();
    switch (wait(self, begun, limit)) {
    case REACHED:
        return PyLong_FromLong(-1);
    case FAILED:
        return NULL;
    default:
        return PyLong_FromUnsignedLongLong(now() - begun);
    }
}

static int slot_init(Slot *self, PyObject *arguments, PyObject *names)
{
    unsigned int at[4], most_sleeps;
    unsigned long long spin, nap;
    PyObject *memory, *alive, *nudge;

    if (self->value != NULL || (names != NULL && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a slot is made once, by place");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "O(IIII)OO(KKI)", &memory, &at[0], &at[1], &at[2], &at[3],
                          &alive, &nudge, &spin, &nap, &most_sleeps))
        return -1;
    if (PyObject_GetBuffer(memory, &self->view, PyBUF_WRITABLE))
        return -1;
    for (int index = 0; index < 4; index++) {
        size_t size = index ? sizeof(uint32_t) : sizeof(uint64_t);

        if (((uintptr_t)self->view.buf + at[index]) % size || at[index] + size > (size_t)self->view.len) {
            PyErr_Format(PyExc_ValueError, "no word at 0x%x in %zd bytes", at[index],
                         self->view.len);
            PyBuffer_Release(&self->view);
            return -1;
        }
    }
    self->value = (uint64_t *)((uint8_t *)self->view.buf + at[0]);
    self->status = (uint32_t *)((uint8_t *)self->view.buf + at[1]);
    self->sleepers = (uint32_t *)((uint8_t *)self->view.buf + at[2]);
    self->device_waits = (uint32_t *)((uint8_t *)self->view.buf + at[3]);
    self->alive = Py_NewRef(alive);
    self->nudge = Py_NewRef(nudge);
    self->spin = spin;
    self->nap = nap;
    self->most_sleeps = most_sleeps;
    self->pid = getpid();
    self->is_closed = false;
    return 0;
}

static PyObject *slot_new(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
    Slot *self = (Slot *)type->tp_alloc(type, 0);

    (void)arguments;
    (void)names;
    if (self != NULL)
        self->is_closed = true; /* until it has memory */
    return (PyObject *)self;
}

static int slot_traverse(Slot *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->alive);
    Py_VISIT(self->nudge);
    /* Not the view: interpreters crash when they clear one that is in use. It leads nowhere back. */
    return 0;
}

static int slot_forget(Slot *self)
{
    __atomic_store_n(&self->is_closed, true, __ATOMIC_SEQ_CST);
    give_up_memory(self);
    return 0;
}

static void slot_dealloc(Slot *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    slot_forget(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef slot_methods[] = {
    {"signal", (PyCFunction)slot_signal, METH_NOARGS, NULL},
    {"clear", (PyCFunction)slot_clear, METH_NOARGS, NULL},
    {"is_set", (PyCFunction)slot_is_set, METH_NOARGS, NULL},
    {"wait", (PyCFunction)slot_wait, METH_O, NULL},
    {"waiters", (PyCFunction)slot_waiters, METH_NOARGS, NULL},
    {"close", (PyCFunction)slot_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slot_slots[] = {
    {Py_tp_new, slot_new},           {Py_tp_init, slot_init},
    {Py_tp_dealloc, slot_dealloc},   {Py_tp_traverse, slot_traverse},
    {Py_tp_clear, slot_forget},      {Py_tp_methods, slot_methods},
    {0, NULL},
};

static PyType_Spec slot_spec = {
    .name = "emuzero_slots.Slot",
    .basicsize = sizeof(Slot),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slot_slots,
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, .m_name = "emuzero_slots", .m_size = -1,
};

PyMODINIT_FUNC PyInit_emuzero_slots(void)
{
    PyObject *made = PyModule_Create(&module);
    PyObject *type = made == NULL ? NULL : PyType_FromSpec(&slot_spec);

    if (type == NULL || PyModule_AddObjectRef(made, "Slot", type)) {
        Py_XDECREF(type);
        Py_XDECREF(made);
        return NULL;
    }
    Py_DECREF(type);
    return made;
}
