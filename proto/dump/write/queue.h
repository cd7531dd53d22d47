/* queue.h: what the program has handed over and the thread has not written, in order.
 *
 * One thread puts, another one takes. Functions wait on futexes: conditions of older versions of
 * glibc cannot wait on the monotonic clock.
 */
#ifndef HK_DUMP_QUEUE_H
#define HK_DUMP_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dump/columns.h"

enum hk_job_kind { HK_JOB_ROWS, HK_JOB_PAYLOAD, HK_JOB_STEP, HK_JOB_CLOSE };

/* Bytes that grow. */
struct hk_bytes {
	char *bytes;
	size_t size, room;
};

/* Rows, and the texts and stacks that are new in them. */
struct hk_job_rows {
	struct hk_dump_batch batch;
	size_t cells_cost; /* of the pool */
	size_t shape_room, scalar_room;
	struct hk_bytes texts, stacks; /* as in the bodies of their blocks */
	uint32_t text_count, stack_count;
};

/* A part of a tensor's elements. */
struct hk_job_payload {
	uint64_t digest, count, offset; /* offset in bytes; the whole has count elements */
	uint64_t attempt;		/* number of the whole, from 1 */
	uint32_t dtype;
	bool last;
	void *bytes;
	size_t size;
};

struct hk_job {
	struct hk_job *next;
	enum hk_job_kind kind;
	size_t cost; /* bytes of memory */
	uint64_t step;
	union {
		struct hk_job_rows rows;
		struct hk_job_payload payload;
	};
};

struct hk_queue {
	pthread_mutex_t lock; /* protects: head, last, bytes, bytes_max */
	struct hk_job *head, **last;
	size_t bytes, bytes_max;
	atomic_uint work, room; /* rise with each job put, and with each job done */
	bool stuck;		/* putter: nothing was done for as long as it waits at most */
	unsigned stuck_room;
	uint64_t wait_ns; /* putter */
};

void hk_queue_init(struct hk_queue *queue, size_t bytes_max);
void hk_queue_fini(struct hk_queue *queue);

/* Puts JOB, waiting for room. Returns false if there is none, and nothing was done for
 * seconds. A job of cost 0 has always room. */
bool hk_queue_put(struct hk_queue *queue, struct hk_job *job);

/* The next job, waited for. It keeps its room until hk_queue_done. */
struct hk_job *hk_queue_take(struct hk_queue *queue);
void hk_queue_done(struct hk_queue *queue, size_t cost);

/* Waits while *WORD is SEEN, for NS nanoseconds at most; wakes those that wait. */
void hk_queue_wait(atomic_uint *word, unsigned seen, uint64_t ns);
void hk_queue_wake(atomic_uint *word);

#endif
