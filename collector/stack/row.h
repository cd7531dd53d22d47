/* row.h: what is known of one thread's stack while its process is asked. One thread. */
#ifndef HK_COLLECTOR_STACK_ROW_H
#define HK_COLLECTOR_STACK_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/stack/dump.h"
#include "ring/reader.h"

struct hk_row {
	struct hk_dump_stack stack; /* without `address`: none */
	unsigned busy;		    /* answers without Python frames, which another one may have */
	bool settled;		    /* answered, or not asked again */
	bool traced, ended;
	uint32_t python_missing; /* enum hk_ask_python_missing */
	char missing[160]; /* why there is no stack; "": there is one, or it is not known yet */
};

void hk_row_drop(struct hk_row *row);

/* Keeps a copy of STACK. Without memory for it, the row has no stack. */
void hk_row_keep(struct hk_row *row, const struct hk_dump_stack *stack);

/* Keeps a copy of ANSWER. The row is not settled if another answer may have the Python frames that
 * this one lacks. */
void hk_row_keep_answer(struct hk_row *row, struct hk_ask_copy *answer);

#endif
