/* extract.h: what of a process's state goes with its stacks. */
#ifndef HK_COLLECTOR_STACK_EXTRACT_H
#define HK_COLLECTOR_STACK_EXTRACT_H

#include "schema/wire.pb-c.h"

/* Makes a message with the identity of STATE, and with what its threads are inside of. Returns NULL
 * without memory. */
Hk__Process *hk_extract_new(const Hk__Process *state);

#endif
