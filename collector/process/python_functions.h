/* python_functions.h: the Python functions on a process's stacks, copied from its segment into its
 * message.
 *
 * Functions never change, so only those behind the last one are read. Not thread-safe.
 */
#ifndef HK_COLLECTOR_PROCESS_PYTHON_FUNCTIONS_H
#define HK_COLLECTOR_PROCESS_PYTHON_FUNCTIONS_H

#include "ring/reader.h"
#include "schema/wire.pb-c.h"

/* Appends to STATE, whose functions are valid (report/model/stacks.h), what READER has more.
 * Returns 0, -ESTALE if the segment proved damaged, or -ENOMEM. */
int hk_python_functions_refresh(Hk__Process *state, struct hk_reader *reader);

/* Appends CODE, without its texts if STATE has no room for them. Returns 0 and the function's
 * number, from 1 on, or -ENOMEM. */
int hk_python_functions_add(Hk__Process *state, const struct hk_code_copy *code,
			    uint32_t *ret_number);

#endif
