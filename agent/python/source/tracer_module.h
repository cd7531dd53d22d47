/* tracer_module.h: calls of torch.nn.Module, named for the instance: "nn.Module: Linear_0"; and
 * parameters of modules and optimizers, noted once for each instance.
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

/* Whether CODE is what runs at the end of a torch.optim.Optimizer's step. */
bool hk_tracer_module_is_step(PyObject *code);

/* FUNCTION, unless it is NULL, is called once with each module and optimizer that is met, and the
 * module's number, or -1 for an optimizer. */
void hk_tracer_module_note_by(PyObject *function);

/* A step of OPTIMIZER, which may be NULL, ends. */
void hk_tracer_module_step(PyObject *optimizer);

/* Returns the site of calls of MODULE, which may be NULL, or OTHERWISE if it gets none. */
uint32_t hk_tracer_module_site(PyObject *module, uint32_t otherwise);

#endif
