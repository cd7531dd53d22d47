/* stack_rows.h: the calls of a job whose caller's stack was kept (level record+stack), summed by
 * function and stack over all processes. Reads the records.
 */
#ifndef HK_CLI_TABLES_STACK_ROWS_H
#define HK_CLI_TABLES_STACK_ROWS_H

#include "cli/job/job.h"
#include "report/model/stacks.h"
#include "report/model/strings.h"

struct hk_stack_row {
	const char *function, *library; /* library: path of the calling object */
	uint64_t calls, total_ns;
	uint32_t ranks; /* ranks that made such calls */
	int32_t rank;	/* the first of them; -1: of no rank */
	/* One process with the stack, and its number there. */
	const Hk__Process *process;
	uint32_t stack;
};

/* An object whose functions have no names. */
struct hk_stack_unread {
	const char *library, *reason;
};

struct hk_stack_rows {
	struct hk_report_strings strings;
	struct hk_stack_row *rows; /* the most expensive first */
	size_t count;
	uint64_t calls_without;		/* calls that were recorded without a stack */
	uint64_t refused;		/* stacks that processes could not keep */
	struct hk_stack_unread *unread; /* each library once */
	size_t unread_count;
};

/* Reads the records of JOB, of functions that the glob FUNCTION (NULL: all) covers. *ret_rows is
 * usable also after -EBADMSG: some records were damaged. Otherwise returns 0 or -errno. */
int hk_stack_rows_read(const struct hk_job *job, const char *function,
		       struct hk_stack_rows *ret_rows);

void hk_stack_rows_fini(struct hk_stack_rows *rows);

#endif
