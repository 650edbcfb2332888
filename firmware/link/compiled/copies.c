/* Copies of large memory, past the caches and without the interpreter's lock.
 *
 * A store into memory that no cache holds reads it first; a streaming store does not, which spares a
 * third of the traffic. Four pages are copied side by side, so that the memory has four rows to work
 * on, and the hardware's readers ahead as many streams. */
#include "link.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

enum { LINE = 64, PAGE = 4096, PAGES = 4, BLOCK = PAGES * PAGE };
/* What is smaller may be read again before it has left the caches. */
#define STREAMED ((size_t)2 << 20)

/* Copy one line to an address that is aligned to it. */
static inline void stream_line(uint8_t *into, const uint8_t *from)
{
    __m128i parts[LINE / 16];

    for (int part = 0; part < LINE / 16; part++)
        parts[part] = _mm_loadu_si128((const __m128i *)from + part);
    for (int part = 0; part < LINE / 16; part++)
        _mm_stream_si128((__m128i *)into + part, parts[part]);
}

static void copy_apart(uint8_t *into, const uint8_t *from, size_t size)
{
    size_t head = -(uintptr_t)into & (LINE - 1), at;

    if (size < STREAMED) {
        memcpy(into, from, size);
        return;
    }
    memcpy(into, from, head);
    for (at = head; size - at >= BLOCK; at += BLOCK)
        for (size_t line = at; line < at + PAGE; line += LINE)
            for (size_t page = 0; page < BLOCK; page += PAGE)
                stream_line(into + line + page, from + line + page);
    /* Streaming stores are ordered by this alone: whoever is told next finds all of them. */
    _mm_sfence();
    memcpy(into + at, from + at, size - at);
}
#else
static void copy_apart(uint8_t *into, const uint8_t *from, size_t size)
{
    memcpy(into, from, size);
}
#endif

static void copy_any(uint8_t *into, const uint8_t *from, size_t size)
{
    uintptr_t first = (uintptr_t)into, second = (uintptr_t)from;

    if ((first < second ? second - first : first - second) < size)
        memmove(into, from, size);
    else
        copy_apart(into, from, size);
}

static bool holds(const Py_buffer *view, Py_ssize_t start, Py_ssize_t size)
{
    char text[96];

    if (start >= 0 && size >= 0 && start <= view->len && size <= view->len - start)
        return true;
    snprintf(text, sizeof text, "0x%zx bytes at 0x%zx leave memory of 0x%zx bytes", (size_t)size,
             (size_t)start, (size_t)view->len);
    PyErr_SetString(PyExc_ValueError, text);
    return false;
}

static PyObject *module_copy(PyObject *module, PyObject *arguments)
{
    Py_ssize_t destination, source, size;
    PyObject *writable, *readable, *answer = NULL;
    Py_buffer into, from;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOnn", &writable, &destination, &readable, &source, &size))
        return NULL;
    if (PyObject_GetBuffer(writable, &into, PyBUF_WRITABLE))
        return NULL;
    if (PyObject_GetBuffer(readable, &from, PyBUF_SIMPLE)) {
        PyBuffer_Release(&into);
        return NULL;
    }
    if (holds(&into, destination, size) && holds(&from, source, size)) {
        Py_BEGIN_ALLOW_THREADS
        copy_any((uint8_t *)into.buf + destination, (uint8_t *)from.buf + source, (size_t)size);
        Py_END_ALLOW_THREADS
        answer = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&from);
    PyBuffer_Release(&into);
    return answer;
}

static PyMethodDef methods[] = {
    {"copy", module_copy, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool add_copies(PyObject *module)
{
    return PyModule_AddFunctions(module, methods) == 0;
}
