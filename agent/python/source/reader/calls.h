/* calls.h: the recorded calls of a job as tables. Locked by the caller; one thread at a time, any
 * thread. */
#ifndef HK_READER_CALLS_H
#define HK_READER_CALLS_H

#include "snapshot.h"
#include "table.h"

struct hk_calls;

struct hk_calls_options {
	const int32_t *ranks; /* NULL: all */
	size_t rank_count;
	int64_t from_ns, to_ns;	 /* since the job's start: calls that overlap this range */
	const uint16_t *columns; /* enum hk_call_column */
	size_t column_count;
	size_t rows; /* of a table; at least 1. A few more if many calls end at once */
};

struct hk_calls_counts {
	uint64_t calls, lost, shed, elsewhere, damaged, too_deep;
	size_t newer;
};

/* Begins to read the calls of JOB, of which it takes a reference. Returns 0, -ENOMEM, -EMFILE or
 * -ENFILE. */
int hk_calls_new(struct hk_job_snapshot *job, const struct hk_calls_options *options,
		 struct hk_calls **ret_calls);
void hk_calls_free(struct hk_calls *calls); /* accepts NULL */

struct hk_schema *hk_calls_schema(const struct hk_calls *calls);

/* Sets *RET_TABLE to the next calls, in the order in which the calls of each thread end. Returns 1,
 * 0 at the end, -EAGAIN if many records were read without filling a table, -ENOMEM, -EFBIG, or
 * -errno. */
int hk_calls_next(struct hk_calls *calls, struct hk_table **ret_table);

/* Counts so far; complete at the end. */
struct hk_calls_counts hk_calls_counts(const struct hk_calls *calls);

#endif
