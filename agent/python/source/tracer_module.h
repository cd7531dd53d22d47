/* tracer_module.h: calls of torch.nn.Module, named for the instance: "nn.Module: Linear_0".
 *
 * Instances of a class are numbered in the order of their first calls. All functions need the GIL,
 * keep a pending exception, and work without torch.
 */
#ifndef HK_PYTHON_TRACER_MODULE_H
#define HK_PYTHON_TRACER_MODULE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether CODE is what runs when a torch.nn.Module is called. */
bool hk_tracer_module_is_call(PyObject *code);

/* Returns the site of calls of MODULE, or OTHERWISE if it gets none. */
uint32_t hk_tracer_module_site(PyObject *module, uint32_t otherwise);

#endif
