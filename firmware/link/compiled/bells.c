/* Telling a device: the compiled half of `firmware.link.notify.Doorbells`, which says why the
 * stores, the fence and the loads stand in this order. */
#include "link.h"

#include <errno.h>
#include <unistd.h>

typedef struct {
    PyObject_HEAD
    PyObject *memory; /* borrowed for the time of each call alone: its owner may give it up */
    PyObject *bell;   /* rings the bell of the device */
    uint64_t page;    /* where the doorbell words stand */
    uint64_t asleep;  /* where the device says that it sleeps */
    uint64_t event;   /* where in the header of a ring the device's event index stands */
    int always;       /* the device did not agree on event indices */
} Ringer;

/* Store a doorbell word and say whether the device has to be woken; -1: an exception is set. */
static int store_doorbell(const Ringer *self, const Py_buffer *view, const unsigned int asked[4])
{
    uint32_t *doorbell = word_at(view, self->page + 4 * (uint64_t)asked[0], sizeof(uint32_t));
    uint32_t *event = word_at(view, asked[1] + self->event, sizeof(uint32_t));
    uint32_t *asleep = word_at(view, self->asleep, sizeof(uint32_t));
    uint32_t old = asked[2], new = asked[3], wanted;

    if (doorbell == NULL || event == NULL || asleep == NULL)
        return -1;
    __atomic_store_n(doorbell, new, __ATOMIC_RELEASE);
    /* After the tail and the doorbell word are stored, before the device's words are loaded. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    wanted = __atomic_load_n(event, __ATOMIC_RELAXED);
    return self->always || __atomic_load_n(asleep, __ATOMIC_RELAXED) || passes(wanted, new, old);
}

static PyObject *ringer_ring(Ringer *self, PyObject *const *arguments, Py_ssize_t count)
{
    unsigned int asked[4];
    Py_buffer view;
    int rings;

    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "a doorbell is rung with four numbers");
        return NULL;
    }
    for (int index = 0; index < 4; index++) {
        asked[index] = (unsigned int)PyLong_AsUnsignedLong(arguments[index]);
        if (PyErr_Occurred())
            return NULL;
    }
    if (PyObject_GetBuffer(self->memory, &view, PyBUF_WRITABLE))
        return NULL;
    rings = store_doorbell(self, &view, asked);
    PyBuffer_Release(&view);
    if (rings > 0) {
        PyObject *done = PyObject_CallNoArgs(self->bell);

        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    return rings < 0 ? NULL : PyBool_FromLong(rings);
}

static int ringer_init(Ringer *self, PyObject *arguments, PyObject *names)
{
    unsigned long long page, asleep, event;
    PyObject *memory, *bell;

    if (self->memory != NULL || (names != NULL && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a ringer is made once, by place");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "OO(KKK)p", &memory, &bell, &page, &asleep, &event,
                          &self->always))
        return -1;
    self->memory = Py_NewRef(memory);
    self->bell = Py_NewRef(bell);
    self->page = page;
    self->asleep = asleep;
    self->event = event;
    return 0;
}

static int ringer_traverse(Ringer *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->memory);
    Py_VISIT(self->bell);
    return 0;
}

static int ringer_forget(Ringer *self)
{
    Py_CLEAR(self->memory);
    Py_CLEAR(self->bell);
    return 0;
}

static void ringer_dealloc(Ringer *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    ringer_forget(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef ringer_methods[] = {
    {"ring", (PyCFunction)(void (*)(void))ringer_ring, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot ringer_slots[] = {
    {Py_tp_new, PyType_GenericNew},  {Py_tp_init, ringer_init},
    {Py_tp_dealloc, ringer_dealloc}, {Py_tp_traverse, ringer_traverse},
    {Py_tp_clear, ringer_forget},    {Py_tp_methods, ringer_methods},
    {0, NULL},
};

static PyType_Spec ringer_spec = {
    .name = "emuzero_link.Ringer",
    .basicsize = sizeof(Ringer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = ringer_slots,
};

bool add_bells(PyObject *module)
{
    return add_type(module, "Ringer", &ringer_spec);
}
