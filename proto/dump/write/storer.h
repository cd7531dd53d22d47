/* storer.h: the thread that takes what was queued, compresses it and writes it. */
#ifndef HK_DUMP_STORER_H
#define HK_DUMP_STORER_H

#include "dump/write/output.h"
#include "dump/write/pool.h"
#include "dump/write/queue.h"
#include "dump/write/seen.h"
#include "dump/write/shrink.h"
#include "dump/writer.h"

/* What is defined once and used by later rows, until it is in the file. */
struct hk_definitions {
	struct hk_bytes bytes;
	uint32_t first, count;
};

struct hk_storer {
	struct hk_queue queue;
	struct hk_pool pool;
	struct hk_output output;
	struct hk_shrink shrink;
	pthread_mutex_t lock; /* protects: counts, seen */
	struct hk_dump_counts counts;
	struct hk_seen *seen;
	atomic_int shut; /* reason + 1 why payloads need not be queued, or 0 */
	atomic_uint ended;

	/* The thread's own. */
	struct hk_definitions texts, stacks;
	bool failing;		      /* until the next step */
	struct hk_job_payload failed; /* of the payload whose parts are left out */
	uint64_t step;
};

/* The thread: takes a struct hk_storer, ends with a job HK_JOB_CLOSE. */
void *hk_storer_run(void *storer);

/* Counts a row or payload that was left out. Any thread. */
void hk_storer_leave_rows(struct hk_storer *storer, uint64_t rows, enum hk_dump_reason reason);
void hk_storer_leave_payload(struct hk_storer *storer, const struct hk_job_payload *payload,
			     enum hk_dump_reason reason);

void hk_job_free(struct hk_storer *storer, struct hk_job *job);

#endif
