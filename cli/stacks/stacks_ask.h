/* stacks_ask.h: asks a job's collector for the stacks of its threads. Main thread only. */
#ifndef HK_CLI_STACKS_STACKS_ASK_H
#define HK_CLI_STACKS_STACKS_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/job/job.h"
#include "cli/span.h"

/* Asks for the threads of COUNT RANKS, at most HK_SPAN_RANKS_MAX; 0: of all processes. PTRACE:
 * threads that do not answer are read from outside. Returns HK_EXIT_DONE, and the caller frees
 * *RET_RESPONSE, whose `stacks` is set; or another exit code after a line on stderr. */
int hk_stacks_ask(const struct hk_job *job, const struct hk_span_ranks *ranks, size_t count,
		  bool ptrace, Hk__Response **ret_response);

#endif
