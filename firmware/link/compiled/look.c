/* Looking at words that others store until one of them changes: what a device that polls its
 * doorbells does most of the time. */
#include "link.h"

#include <string.h>

/* Memories that are looked at without asking for room. */
enum { FEW = 16 };

struct page {
    Py_buffer words; /* what others store */
    Py_buffer seen;  /* what stood there when it was last looked at */
};

static bool has_changed(const struct page *pages, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++) {
        const struct page *page = &pages[index];

        if (page->words.len != page->seen.len ||
            memcmp(page->words.buf, page->seen.buf, (size_t)page->seen.len))
            return true;
    }
    return false;
}

static bool look_until(const struct page *pages, Py_ssize_t count, uint64_t end)
{
    do {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (has_changed(pages, count))
                return true;
            relax();
        }
    } while (now() < end);
    return false;
}

static bool look(const struct page *pages, Py_ssize_t count, uint64_t limit)
{
    uint64_t begun = now();
    bool changed = look_until(pages, count, begun + (limit < HELD ? limit : HELD));

    if (!changed && limit > HELD) {
        Py_BEGIN_ALLOW_THREADS
        changed = look_until(pages, count, begun + limit);
        Py_END_ALLOW_THREADS
    }
    return changed;
}

static bool open_page(PyObject *pair, struct page *page)
{
    PyObject *words, *seen;

    if (!PyArg_ParseTuple(pair, "OO", &words, &seen))
        return false;
    if (PyObject_GetBuffer(words, &page->words, PyBUF_SIMPLE))
        return false;
    if (PyObject_GetBuffer(seen, &page->seen, PyBUF_SIMPLE)) {
        PyBuffer_Release(&page->words);
        return false;
    }
    return true;
}

static PyObject *look_at(PyObject *list, struct page *pages, uint64_t limit)
{
    Py_ssize_t count = PyList_GET_SIZE(list), opened = 0;
    PyObject *answer = NULL;

    while (opened < count && open_page(PyList_GET_ITEM(list, opened), &pages[opened]))
        opened++;
    if (opened == count)
        answer = PyBool_FromLong(look(pages, count, limit));
    while (opened--) {
        PyBuffer_Release(&pages[opened].seen);
        PyBuffer_Release(&pages[opened].words);
    }
    return answer;
}

static PyObject *module_look(PyObject *module, PyObject *arguments)
{
    struct page few[FEW], *pages = few;
    unsigned long long limit;
    PyObject *list, *answer;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!K", &PyList_Type, &list, &limit))
        return NULL;
    if (PyList_GET_SIZE(list) > FEW) {
        pages = PyMem_New(struct page, PyList_GET_SIZE(list));
        if (pages == NULL)
            return PyErr_NoMemory();
    }
    answer = look_at(list, pages, limit);
    if (pages != few)
        PyMem_Free(pages);
    return answer;
}

static PyMethodDef methods[] = {
    {"look", module_look, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

bool add_look(PyObject *module)
{
    return PyModule_AddFunctions(module, methods) == 0;
}
