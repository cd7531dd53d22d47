/* tracer_monitor.h: the tracer from CPython 3.12 on: a tool of sys.monitoring.
 *
 * Its callbacks are objects of a type of their own with a vectorcall function, the cheapest that
 * sys.monitoring can call.
 */
#ifndef HK_PYTHON_TRACER_MONITOR_H
#define HK_PYTHON_TRACER_MONITOR_H

#include <Python.h>

/* Returns a new dict: name of an event in sys.monitoring.events -> callback for it; or NULL with an
 * exception. DISABLE is sys.monitoring.DISABLE. */
PyObject *hk_tracer_monitor_callbacks(PyObject *disable);

#endif
