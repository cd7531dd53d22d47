/* dump.h: puts the stacks of one process's threads together in one message: each frame once, with
 * the files that its objects were loaded from. One thread. */
#ifndef HK_COLLECTOR_STACK_DUMP_H
#define HK_COLLECTOR_STACK_DUMP_H

#include <stddef.h>
#include <stdint.h>

#include "ring/segment.h"
#include "schema/wire.pb-c.h"

struct hk_dump;

/* Begins for process PID. Its frames go to STATE, which has none. Returns 0, -ENOMEM, or -errno if
 * the process's map cannot be read. */
int hk_dump_open(uint32_t pid, Hk__Process *state, struct hk_dump **ret_dump);
struct hk_dump *hk_dump_free(struct hk_dump *dump);

/* A thread's frames, innermost first: ADDRESS as a request has it (ring/segment.h). */
struct hk_dump_stack {
	uint64_t *address;
	size_t count;
	uint32_t end; /* why there are no more (enum hk_walk_end, agent/stack/walk.h) */
	struct hk_ask_python *python; /* frames that HK_ASK_PYTHON refers to, checked; NULL: none */
};

/* Adds STACK. Frames of the agent are left out. Returns 0 and the stack's number, 0 for none, or
 * -ENOMEM. */
int hk_dump_add(struct hk_dump *dump, const struct hk_dump_stack *stack, uint32_t *ret_stack);

#endif
