/* calls.h: the rows of one rank as calls, ordered by step and, within a step, by their completion:
 * calls inside another come before it. One owner, no locking. */
#ifndef HK_CLI_COMPARE_CALLS_H
#define HK_CLI_COMPARE_CALLS_H

#include "cli/compare/names.h"
#include "cli/compare/source.h"

#define HK_CALL_NONE UINT32_MAX

/* A call, or one row of kind STATE. */
struct hk_call {
	uint64_t sequence, forward_sequence, step;
	enum hk_dump_kind kind;
	enum hk_dump_phase phase;
	bool recomputed;
	uint32_t name; /* number of hk_names */
	uint32_t number;
	uint32_t first, count; /* of its rows, in hk_calls.rows */
	uint64_t shapes;       /* hash of roles, slots and shapes of its rows */
	uint64_t digests;      /* hash of the contents of its rows */
	uint32_t twin;	       /* the call of the other side, or HK_CALL_NONE */
};

struct hk_call_step {
	uint64_t step;
	size_t first, count; /* of its calls */
	uint32_t twin;	     /* the step of the other side, or HK_CALL_NONE */
};

struct hk_calls {
	struct hk_call *list;
	size_t count;
	uint32_t *rows; /* indices of rows, those of a call together and ascending */
	struct hk_call_step *steps;
	size_t step_count;
};

/* Groups the rows of VALUES, which belong to SIDE. Returns 0, or -ENOMEM; then CALLS is empty. */
int hk_calls_init(struct hk_calls *calls, const struct hk_values *values, struct hk_names *names,
		  enum hk_mapping_side side);
void hk_calls_fini(struct hk_calls *calls);

#endif
