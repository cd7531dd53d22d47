/* log_follow.h: prints the calls of a running job from its growing chunk files. The collector seals
 * a chunk at least once a second. Lines are held back for two seconds, so that calls of all ranks
 * come in order of their starts; a longer call comes after its end. One thread. */
#ifndef HK_CLI_LOG_LOG_FOLLOW_H
#define HK_CLI_LOG_LOG_FOLLOW_H

#include "cli/log/log_filter.h"
#include "cli/timeline/timeline.h"

struct hk_log_options {
	const struct hk_span_ranks *ranks;
	size_t rank_count;		    /* 0: all processes */
	const struct hk_log_filter *filter; /* NULL: every call */
	bool colour;
};

/* Writes the lines of the job in DIRECTORY to OUTPUT until the job has closed. Returns
 * HK_EXIT_DONE, or another exit code after a line on stderr. */
int hk_log_follow(const char *directory, const struct hk_log_options *options, FILE *output);

#endif
