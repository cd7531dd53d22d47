/* stack_rows.h: the calls of a job whose caller's stack was kept (level record+stack), summed by
 * function and stack over all processes. Reads the records.
 */
#ifndef HK_CLI_TABLES_STACK_ROWS_H
#define HK_CLI_TABLES_STACK_ROWS_H

#include "cli/export/exporter.h"
#include "cli/tables/unread.h"
#include "report/model/stacks.h"
#include "report/model/strings.h"

struct hk_stack_row {
	const char *function, *library; /* library: path of the calling object */
	const char *domain;
	uint32_t group; /* of ranks */
	uint64_t calls, total_ns;
	uint32_t ranks; /* ranks that made such calls */
	int32_t rank;	/* the first of them; -1: of no rank */
	/* One process with the stack, and its number there. */
	const Hk__Process *process;
	uint32_t stack;
};

/* All calls of a function of whose calls some have a stack, by the statistics: lost records count
 * too. */
struct hk_stack_share {
	const char *function;
	uint64_t calls, total_ns;
	uint64_t stacks; /* calls with a stack */
};

struct hk_stack_rows {
	struct hk_report_strings strings;
	struct hk_stack_row *rows; /* the most expensive first */
	size_t count;
	struct hk_stack_share *shares; /* by function */
	size_t share_count;
	uint64_t calls_without; /* calls that were recorded without a stack */
	uint64_t refused;	/* stacks that processes could not keep */
	uint64_t records;	/* that were read ... */
	uint64_t records_there; /* ... of these */
	int32_t group_ranks;	/* group I has the ranks from I * group_ranks on */
	char python_note[128];	/* why a process has no Python frames; "": none lacks them */
	struct hk_unread unread;
};

struct hk_stack_options {
	const char *function; /* only functions that this glob covers; NULL: all */
	uint32_t groups;      /* keep the sums of so many groups of ranks apart; 0: one group */
	uint64_t records;     /* approximate number of records to read at most; 0: all */
};

/* Reads the records of SNAPSHOT's job, whose files lie in DIRECTORY. *ret_rows is usable also after
 * -EBADMSG: some records were damaged. Otherwise returns 0 or -errno. */
int hk_stack_rows_read(const Hk__Snapshot *snapshot, const char *directory,
		       const struct hk_stack_options *options, struct hk_stack_rows *ret_rows);

void hk_stack_rows_fini(struct hk_stack_rows *rows);

/* Writes the functions at a frame, as exporters want them. */
size_t hk_stack_rows_functions(const Hk__Process *process, uint32_t number,
			       struct hk_export_function list[HK_EXPORT_FUNCTIONS]);

#endif
