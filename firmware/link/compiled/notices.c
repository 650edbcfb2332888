/* Telling a client of stores: the compiled half of `firmware.link.notify.Notifier`, which says why
 * the fence and the loads stand in this order. */
#include "link.h"

enum { WORD, SLEEPERS, EVENT, OLD, NEW, NUMBERS };
static const char *const number_names[NUMBERS] = {"word", "sleepers", "event", "old", "new"};

typedef struct {
    PyObject_HEAD
    PyObject *memory; /* borrowed for the time of each call alone: its owner may give it up */
    PyObject *bell;   /* rings the interrupt of the client */
    int always;       /* the client did not agree on event indices */
} Teller;

/* What a notice is asked for; made once, with the module. */
static PyObject *numbers[NUMBERS], *force;

static bool read_notice(PyObject *notice, uint64_t read[NUMBERS], int *forced)
{
    PyObject *answer;

    for (int index = 0; index < NUMBERS; index++) {
        answer = PyObject_GetAttr(notice, numbers[index]);
        if (answer == NULL)
            return false;
        read[index] = PyLong_AsUnsignedLongLong(answer);
        Py_DECREF(answer);
        if (read[index] == UINT64_MAX && PyErr_Occurred())
            return false;
    }
    answer = PyObject_GetAttr(notice, force);
    *forced = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return *forced >= 0;
}

/* Wake who sleeps on the word of a notice, and say whether it asks for the bell; -1: an exception
 * is set. */
static int tell(PyObject *notice, const Py_buffer *view)
{
    uint64_t read[NUMBERS];
    uint32_t *sleepers, *event = NULL, *word;
    int rings;

    if (!read_notice(notice, read, &rings))
        return -1;
    word = word_at(view, read[WORD], sizeof(uint32_t));
    sleepers = word_at(view, read[SLEEPERS], sizeof(uint32_t));
    if (read[EVENT])
        event = word_at(view, read[EVENT], sizeof(uint32_t));
    if (word == NULL || sleepers == NULL || (event == NULL && read[EVENT]))
        return -1;
    if (event != NULL)
        rings |= passes(__atomic_load_n(event, __ATOMIC_RELAXED), (uint32_t)read[NEW],
                        (uint32_t)read[OLD]);
    if (__atomic_load_n(sleepers, __ATOMIC_RELAXED))
        wake_all(word);
    return rings;
}

static int tell_all(PyObject *notices, const Py_buffer *view)
{
    int rings = 0;

    /* After all stores that are told of, before the client's words are loaded. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(notices); index++) {
        int asked = tell(PySequence_Fast_GET_ITEM(notices, index), view);

        if (asked < 0)
            return -1;
        rings |= asked;
    }
    return rings;
}

static PyObject *teller_notify(Teller *self, PyObject *iterable)
{
    PyObject *notices = PySequence_Fast(iterable, "notices are a sequence");
    Py_buffer view;
    int rings;

    if (notices == NULL)
        return NULL;
    if (PyObject_GetBuffer(self->memory, &view, PyBUF_WRITABLE)) {
        Py_DECREF(notices);
        return NULL;
    }
    rings = tell_all(notices, &view);
    PyBuffer_Release(&view);
    Py_DECREF(notices);
    if (rings < 0)
        return NULL;
    if (rings || self->always) {
        PyObject *done = PyObject_CallNoArgs(self->bell);

        if (done == NULL)
            return NULL;
        Py_DECREF(done);
    }
    return PyBool_FromLong(rings || self->always);
}

static int teller_init(Teller *self, PyObject *arguments, PyObject *names)
{
    PyObject *memory, *bell;

    if (self->memory != NULL || (names != NULL && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a teller is made once, by place");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "OOp", &memory, &bell, &self->always))
        return -1;
    self->memory = Py_NewRef(memory);
    self->bell = Py_NewRef(bell);
    return 0;
}

static int teller_traverse(Teller *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->memory);
    Py_VISIT(self->bell);
    return 0;
}

static int teller_forget(Teller *self)
{
    Py_CLEAR(self->memory);
    Py_CLEAR(self->bell);
    return 0;
}

static void teller_dealloc(Teller *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    teller_forget(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef teller_methods[] = {
    {"notify", (PyCFunction)teller_notify, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot teller_slots[] = {
    {Py_tp_new, PyType_GenericNew},  {Py_tp_init, teller_init},
    {Py_tp_dealloc, teller_dealloc}, {Py_tp_traverse, teller_traverse},
    {Py_tp_clear, teller_forget},    {Py_tp_methods, teller_methods},
    {0, NULL},
};

static PyType_Spec teller_spec = {
    .name = "emuzero_link.Teller",
    .basicsize = sizeof(Teller),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = teller_slots,
};

bool add_notices(PyObject *module)
{
    for (int index = 0; index < NUMBERS; index++) {
        numbers[index] = PyUnicode_InternFromString(number_names[index]);
        if (numbers[index] == NULL)
            return false;
    }
    force = PyUnicode_InternFromString("force");
    return force != NULL && add_type(module, "Teller", &teller_spec);
}
