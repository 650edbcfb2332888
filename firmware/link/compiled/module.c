/* The module: what the link does in C where that pays. */
#include "link.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "emuzero_link", .m_size = -1,
};

bool add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    bool added = type != NULL && PyModule_AddObjectRef(module, name, type) == 0;

    Py_XDECREF(type);
    return added;
}

PyMODINIT_FUNC PyInit_emuzero_link(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL)
        return NULL;
    if (add_slots(module) && add_waiters(module) && add_bells(module) &&
        add_notices(module) && add_look(module) && add_copies(module))
        return module;
    Py_DECREF(module);
    return NULL;
}
