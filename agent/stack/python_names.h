/* python_names.h: the Python functions that are on stacks, each kept in the segment once.
 *
 * Under the process's lock.
 */
#ifndef HK_AGENT_STACK_PYTHON_NAMES_H
#define HK_AGENT_STACK_PYTHON_NAMES_H

#include "agent/stack/interpreter.h"
#include "agent/stack/python.h"

/* Returns the number in the segment, from 1 on, of the code object CODE, which was read with CARE,
 * or 0 without room. */
uint32_t hk_python_names_number(const struct hk_interpreter *interpreter, uint64_t code,
				enum hk_python_care care);

/* The segment is another one: nothing is in it yet. */
void hk_python_names_clear(void);

#endif
