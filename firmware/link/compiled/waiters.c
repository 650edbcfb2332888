/* What waits for words of a segment: the compiled half of `firmware.link.processwaiter`. */
#include "link.h"

typedef struct {
    PyObject_HEAD
    PyObject *memory; /* borrowed for the time of each wait alone: its owner may give it up */
    PyObject *alive;
    int64_t hint; /* where the device says whether waiters may spin; negative: they may */
    uint64_t spin;
    struct patience patience;
    unsigned inside; /* threads that wait; changed under the interpreter's lock */
} Waiter;

/* Fill in what a `WordWait` says of a segment; false: an exception is set. */
static bool read_wait(const Waiter *self, PyObject *asked, const Py_buffer *view, struct wait *wait)
{
    unsigned long long word, target, sleepers, status;
    int wide;

    if (!PyTuple_Check(asked)) {
        PyErr_SetString(PyExc_TypeError, "a WordWait says what is waited for");
        return false;
    }
    if (!PyArg_ParseTuple(asked, "KKKpK", &word, &target, &sleepers, &wide, &status))
        return false;
    wait->word = word_at(view, word, wide ? sizeof(uint64_t) : sizeof(uint32_t));
    wait->target = target;
    wait->wide = wide != 0;
    wait->sleepers = word_at(view, sleepers, sizeof(uint32_t));
    wait->status = status ? word_at(view, status, sizeof(uint32_t)) : NULL;
    wait->is_closed = NULL;
    wait->alive = self->alive;
    return wait->word && wait->sleepers && (wait->status || !status);
}

/* Let the device say whether spinning is worth while now; false: an exception is set. */
static bool read_hint(Waiter *self, const Py_buffer *view)
{
    const uint32_t *hint;

    if (self->hint < 0)
        return true;
    hint = word_at(view, (uint64_t)self->hint, sizeof(uint32_t));
    if (hint == NULL)
        return false;
    self->patience.spin = __atomic_load_n(hint, __ATOMIC_RELAXED) ? self->spin : 0;
    return true;
}

/* Return the nanoseconds of a time limit; FOREVER for None, and for an error with an exception. */
static uint64_t limit_of(PyObject *seconds)
{
    double wanted;

    if (seconds == Py_None)
        return FOREVER;
    wanted = PyFloat_AsDouble(seconds);
    if (wanted == -1.0 && PyErr_Occurred())
        return FOREVER;
    if (wanted <= 0)
        return 0;
    return wanted < 1e9 ? (uint64_t)(wanted * 1e9) : FOREVER;
}

static PyObject *too_late(PyObject *asked, const struct wait *wait)
{
    PyObject *word = PyTuple_GET_ITEM(asked, 0);
    char text[96];

    snprintf(text, sizeof text, "word at 0x%llx holds 0x%llx, expected 0x%llx by now",
             PyLong_AsUnsignedLongLong(word), (unsigned long long)value_of(wait),
             (unsigned long long)wait->target);
    PyErr_SetString(PyExc_TimeoutError, text);
    return NULL;
}

static PyObject *wait_in(Waiter *self, PyObject *asked, const Py_buffer *view, uint64_t limit)
{
    struct wait wait;
    Outcome outcome;

    if (!read_wait(self, asked, view, &wait) || !read_hint(self, view))
        return NULL;
    if (is_reached(&wait))
        Py_RETURN_TRUE;
    if (is_over(&wait))
        return PyBool_FromLong(is_reached(&wait));
    if (limit == 0)
        return too_late(asked, &wait);
    outcome = wait_for(&wait, &self->patience, &self->inside, now(), limit);
    if (outcome == FAILED)
        return NULL;
    if (outcome == REACHED)
        Py_RETURN_TRUE;
    if (outcome == USELESS) {
        PyErr_SetString(PyExc_OSError, "the memory waited on cannot be slept on");
        return NULL;
    }
    /* A value that is reached counts more than a status, and both more than the time. */
    if (is_over(&wait))
        return PyBool_FromLong(is_reached(&wait));
    return too_late(asked, &wait);
}

static PyObject *waiter_wait(Waiter *self, PyObject *arguments, PyObject *names)
{
    static char *words[] = {"wait", "timeout_seconds", NULL};
    PyObject *asked, *seconds = Py_None, *answer;
    Py_buffer view;
    uint64_t limit;

    if (!PyArg_ParseTupleAndKeywords(arguments, names, "O|O", words, &asked, &seconds))
        return NULL;
    limit = limit_of(seconds);
    if (PyErr_Occurred() || PyObject_GetBuffer(self->memory, &view, PyBUF_WRITABLE))
        return NULL;
    answer = wait_in(self, asked, &view, limit);
    PyBuffer_Release(&view);
    return answer;
}

static PyObject *waiter_spin(Waiter *self, PyObject *asked)
{
    PyObject *answer = NULL;
    struct wait wait;
    Py_buffer view;

    if (PyObject_GetBuffer(self->memory, &view, PyBUF_WRITABLE))
        return NULL;
    if (read_wait(self, asked, &view, &wait) && read_hint(self, &view))
        answer = PyBool_FromLong(spin_for(&wait, &self->patience));
    PyBuffer_Release(&view);
    return answer;
}

static PyObject *waiter_counts(Waiter *self, PyObject *nothing)
{
    (void)nothing;
    return Py_BuildValue("(KKII)", self->patience.spins, self->patience.sleeps,
                         self->patience.sleep_next, self->inside);
}

static int waiter_init(Waiter *self, PyObject *arguments, PyObject *names)
{
    unsigned long long spin, nap;
    unsigned int most_sleeps;
    PyObject *memory, *alive;
    long long hint;

    if (self->memory != NULL || (names != NULL && PyDict_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a waiter is made once, by place");
        return -1;
    }
    if (!PyArg_ParseTuple(arguments, "OOL(KKI)", &memory, &alive, &hint, &spin, &nap,
                          &most_sleeps))
        return -1;
    self->memory = Py_NewRef(memory);
    self->alive = Py_NewRef(alive);
    self->hint = hint;
    self->spin = spin;
    self->patience = (struct patience){.spin = spin, .nap = nap, .most_sleeps = most_sleeps};
    return 0;
}

static int waiter_traverse(Waiter *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->memory);
    Py_VISIT(self->alive);
    return 0;
}

static int waiter_forget(Waiter *self)
{
    Py_CLEAR(self->memory);
    Py_CLEAR(self->alive);
    return 0;
}

static void waiter_dealloc(Waiter *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    waiter_forget(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef waiter_methods[] = {
    {"wait", (PyCFunction)(void (*)(void))waiter_wait, METH_VARARGS | METH_KEYWORDS, NULL},
    {"spin", (PyCFunction)waiter_spin, METH_O, NULL},
    {"counts", (PyCFunction)waiter_counts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot waiter_slots[] = {
    {Py_tp_new, PyType_GenericNew},  {Py_tp_init, waiter_init},
    {Py_tp_dealloc, waiter_dealloc}, {Py_tp_traverse, waiter_traverse},
    {Py_tp_clear, waiter_forget},    {Py_tp_methods, waiter_methods},
    {0, NULL},
};

static PyType_Spec waiter_spec = {
    .name = "emuzero_link.Waiter",
    .basicsize = sizeof(Waiter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = waiter_slots,
};

bool add_waiters(PyObject *module)
{
    return add_type(module, "Waiter", &waiter_spec);
}
