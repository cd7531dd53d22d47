/* modules.h: which module runs on a thread, and what it is called. Needs the GIL. */
#ifndef HK_VALUES_MODULES_H
#define HK_VALUES_MODULES_H

#include <Python.h>
#include <stdbool.h>

/* PATHS: {address of a module: (its path, whether it is in scope)}, or NULL for none. */
void hk_modules_name(PyObject *paths);

/* MODULE begins. ALWAYS: everything is in scope, whatever module runs. Returns false without
 * memory; hk_modules_leave() is not due then. */
bool hk_modules_enter(PyObject *module, bool always);
void hk_modules_leave(void);

/* The running module's path as a new reference, or its class if it has none; "" outside. */
PyObject *hk_modules_path(void);

/* Whether the running module is in scope. */
bool hk_modules_in_scope(void);

/* The class of MODULE as a new reference to a text, or NULL. */
PyObject *hk_modules_class(PyObject *module);

#endif
