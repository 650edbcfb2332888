/* Slots of 0 or 1 that a program sets, resets and waits for: `hostdriver.runtime.directslots`,
 * compiled.
 *
 * A signal that wakes is one call, as a wait that sleeps is (see waiting.c); the order is that of
 * `firmware.link.notify`. Memory stays mapped as long as a thread is inside: a slot holds a view of
 * it until it is closed and the last one has left. */
#include "link.h"

#include <unistd.h>

typedef struct {
    PyObject_HEAD
    Py_buffer view; /* `view.obj` is NULL once it was given up */
    uint64_t *value;
    uint32_t *status;
    uint32_t *device_waits;
    PyObject *nudge; /* tells the device that a queue of it waits */
    struct wait wait;
    struct patience patience;
    pid_t pid;
    bool is_closed;
    unsigned inside; /* threads that wait; changed under the interpreter's lock */
} Slot;

/* A closed one, or the copy of one in a child, is not used; the parent's threads are not there. */
static bool is_usable(const Slot *self)
{
    return !__atomic_load_n(&self->is_closed, __ATOMIC_RELAXED) && self->pid == getpid();
}

static void give_up_memory(Slot *self)
{
    if (self->view.obj != NULL)
        PyBuffer_Release(&self->view);
    Py_CLEAR(self->wait.alive);
    Py_CLEAR(self->nudge);
}

static PyObject *slot_close(Slot *self, PyObject *nothing)
{
    (void)nothing;
    __atomic_store_n(&self->is_closed, true, __ATOMIC_SEQ_CST);
    if (self->pid != getpid())
        self->inside = 0;
    if (self->inside)
        wake_all(self->value);
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
    if (__atomic_load_n(self->wait.sleepers, __ATOMIC_RELAXED))
        wake_all(self->value);
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
    return PyBool_FromLong(is_usable(self) && is_reached(&self->wait));
}

static PyObject *slot_waiters(Slot *self, PyObject *nothing)
{
    (void)nothing;
    return PyLong_FromUnsignedLong(self->inside);
}

static Outcome wait_inside(Slot *self, uint64_t begun, uint64_t limit)
{
    Outcome outcome = wait_for(&self->wait, &self->patience, &self->inside, begun, limit);

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
    if (is_reached(&self->wait))
        return PyLong_FromLong(-1);
    if (is_over(&self->wait) || limit == 0)
        return PyLong_FromLong(0);
    begun = now();
    switch (wait_inside(self, begun, limit)) {
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
    uint32_t *sleepers;

    if (self->value != NULL || (names != NULL && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a slot is made once, by place");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "O(IIII)OO(KKI)", &memory, &at[0], &at[1], &at[2], &at[3],
                          &alive, &nudge, &spin, &nap, &most_sleeps))
        return -1;
    if (PyObject_GetBuffer(memory, &self->view, PyBUF_WRITABLE))
        return -1;
    self->value = word_at(&self->view, at[0], sizeof(uint64_t));
    self->status = word_at(&self->view, at[1], sizeof(uint32_t));
    sleepers = word_at(&self->view, at[2], sizeof(uint32_t));
    self->device_waits = word_at(&self->view, at[3], sizeof(uint32_t));
    if (!self->value || !self->status || !sleepers || !self->device_waits) {
        PyBuffer_Release(&self->view);
        return -1;
    }
    self->nudge = Py_NewRef(nudge);
    self->wait = (struct wait){
        .word = self->value,
        .target = 1,
        .wide = true,
        .status = self->status,
        .sleepers = sleepers,
        .is_closed = &self->is_closed,
        .alive = Py_NewRef(alive),
    };
    self->patience = (struct patience){.spin = spin, .nap = nap, .most_sleeps = most_sleeps};
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
    Py_VISIT(self->wait.alive);
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
    .name = "emuzero_link.Slot",
    .basicsize = sizeof(Slot),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slot_slots,
};

bool add_slots(PyObject *module)
{
    return add_type(module, "Slot", &slot_spec);
}
