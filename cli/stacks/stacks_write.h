/* stacks_write.h: writes the stacks of a job, for people and as JSON. Main thread only. */
#ifndef HK_CLI_STACKS_STACKS_WRITE_H
#define HK_CLI_STACKS_STACKS_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/stacks/groups.h"

struct hk_stacks_look {
	bool all; /* idle threads and all frames, too */
	bool colour;
	unsigned width; /* columns of the terminal; 0: lines as long as they are */
};

/* Return 0 or -EIO. */
int hk_stacks_write_text(const struct hk_stack_groups *groups, const Hk__StacksReply *reply,
			 const char *job, const struct hk_stacks_look *look, FILE *output);
int hk_stacks_write_json(const struct hk_stack_groups *groups, const Hk__StacksReply *reply,
			 const char *job, FILE *output);

#endif
