#include "collector/stack/row.h"

#include <stdlib.h>
#include <string.h>

#define BUSY_MAX 3u

void hk_row_drop(struct hk_row *row)
{
	free(row->stack.address);
	free(row->stack.python);
	row->stack = (struct hk_dump_stack){.address = NULL};
}

void hk_row_keep(struct hk_row *row, const struct hk_dump_stack *stack)
{
	struct hk_dump_stack copy = *stack;

	copy.address = calloc(stack->count + 1, sizeof(*copy.address));
	copy.python = stack->python ? malloc(sizeof(*copy.python)) : NULL;
	hk_row_drop(row);
	row->stack = copy;
	if (!copy.address || (stack->python && !copy.python)) {
		hk_row_drop(row);
		return;
	}
	memcpy(copy.address, stack->address, stack->count * sizeof(*copy.address));
	if (copy.python) {
		*copy.python = *stack->python;
	}
	row->missing[0] = '\0';
}

void hk_row_keep_answer(struct hk_row *row, struct hk_ask_copy *answer)
{
	const struct hk_dump_stack stack = {
	    .address = answer->address,
	    .count = answer->count,
	    .end = answer->end,
	    .python = answer->python_count > 0 ? &answer->python : NULL,
	};

	hk_row_keep(row, &stack);
	bool again = answer->python_missing == HK_ASK_PYTHON_BUSY ||
		     answer->python_missing == HK_ASK_PYTHON_UNSEEN;
	row->busy += again;
	row->settled = !again || row->busy > BUSY_MAX;
	row->python_missing = answer->python_missing;
}
