/* groups.h: threads of a job that are in the same place, over all its ranks.
 *
 * Threads of one group have the same name, in processes of the same role. They have the same
 * functions on their stacks, Python functions in the same line, and the same innermost hooked call.
 * Messages come from a collector: any number in them is checked. They must outlive the groups. Main
 * thread only.
 */
#ifndef HK_CLI_STACKS_GROUPS_H
#define HK_CLI_STACKS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tables/unread.h"
#include "report/model/stacks.h"

#define HK_GROUPS_FRAMES 512u /* of one stack; the agent sends fewer */

struct hk_stack_group {
	/* One of its threads. */
	const Hk__Process *process;
	const Hk__ThreadStack *thread;
	int32_t *ranks; /* in order, each once; without those of no rank */
	size_t rank_count, threads;
	const Hk__Site *call;	    /* innermost hooked function they are in; NULL: none */
	uint64_t least_ns, most_ns; /* how long they have been in it */
	bool is_main;		    /* of a main process, and its first thread */
	bool idle;		    /* waits for work, or is of a launcher */
};

struct hk_stack_groups {
	/* First threads before others, then those with most ranks; threads without a stack and idle
	 * ones come last. */
	struct hk_stack_group *groups;
	size_t count;
	size_t ranks;	/* of the processes that answered */
	size_t threads; /* all */
	struct hk_unread unread;
};

/* Groups the threads of REPLY. Returns 0 or -ENOMEM. The caller frees the result with
 * hk_stack_groups_fini. */
int hk_stack_groups_init(struct hk_stack_groups *groups, const Hk__StacksReply *reply);
void hk_stack_groups_fini(struct hk_stack_groups *groups);

/* How the thread is called in a list: "main", or its name, behind its process's role if that is not
 * main. */
void hk_stack_groups_label(const Hk__Process *process, const Hk__ThreadStack *thread, char *text,
			   size_t size);

/* Returns for how long CALL of PROCESS has been open, in ns. */
uint64_t hk_stack_groups_age(const Hk__Process *process, const Hk__OpenCall *call);

/* Returns whether THREAD waits for work. It then is not the first of a main process, and waits in a
 * function of thread pools. */
bool hk_stack_groups_is_idle(const Hk__Process *process, const Hk__ThreadStack *thread);

/* Writes the numbers of the frames, innermost first. Returns how many there are. */
size_t hk_stack_groups_frames(const Hk__Process *process, const Hk__ThreadStack *thread,
			      uint32_t numbers[HK_GROUPS_FRAMES]);

#endif
