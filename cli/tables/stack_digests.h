/* stack_digests.h: digests of a process's stacks that are equal for equal stacks of all processes.
 */
#ifndef HK_CLI_TABLES_STACK_DIGESTS_H
#define HK_CLI_TABLES_STACK_DIGESTS_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_stack_digests {
	uint64_t *list;	 /* by frame number: of the frame and all its callers; [0]: of no stack */
	uint32_t frames; /* the highest number */
};

/* Replaces *digests by those of PROCESS. Begin with zeros, end with free(list). Returns 0 or
 * -ENOMEM. */
int hk_stack_digests_make(struct hk_stack_digests *digests, const Hk__Process *process);

#endif
