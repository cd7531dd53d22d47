/* scope.h: which calls are wanted. Needs the GIL. */
#ifndef HK_VALUES_SCOPE_H
#define HK_VALUES_SCOPE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

/* Forgets all scopes. ALL: every call is wanted. */
void hk_scope_reset(bool all);
bool hk_scope_is_all(void);

/* Calls of the API at PLACE in hk_apis are wanted for its name. */
void hk_scope_add_api(uint32_t place);

/* Calls from FIRST to LAST, both included, are wanted. Names are texts, which are kept, and a
 * number of -1 stands for each call of the name; with None the numbers count the step's calls from
 * 0. Returns 0, or -1 with an exception. */
int hk_scope_add_range(PyObject *first, long first_number, PyObject *last, long last_number);

/* A step begins: ranges are closed. */
void hk_scope_step(void);

/* Whether call NUMBER of NAME, of the API at PLACE, is wanted. IN_STEP counts the step's calls.
 * IN_MODULE: a module in scope runs. Opens and closes ranges, so it is asked once for each call. */
bool hk_scope_wants(uint32_t place, PyObject *name, uint32_t number, uint64_t in_step,
		    bool in_module);

#endif
