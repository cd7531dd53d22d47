/* latencies.h: how long the calls of each function took in each part of a job, from one pass over
 * its records. Calls that wait for other ranks, for a device or for work are left out: how long
 * they take says nothing about the function. Bounded: HK_LATENCY_FUNCTIONS functions, further ones
 * are left out. One thread.
 */
#ifndef HK_CLI_DRIFT_LATENCIES_H
#define HK_CLI_DRIFT_LATENCIES_H

#include <stdbool.h>
#include <stdint.h>

#include <uthash.h>

#include "schema/wire.pb-c.h"

#define HK_LATENCY_PARTS 16u	/* equally long */
#define HK_LATENCY_BUCKETS 144u /* of durations: 4 to an octave */
#define HK_LATENCY_FUNCTIONS 1024u

struct hk_latency_part {
	uint64_t calls;
	double total_ns;
	uint32_t bucket[HK_LATENCY_BUCKETS];
};

struct hk_latency {
	UT_hash_handle hh; /* by function */
	char *function;
	struct hk_latency_part parts[HK_LATENCY_PARTS];
};

struct hk_latencies {
	struct hk_latency *functions; /* a table, by name */
	bool incomplete;	      /* records are missing */
};

/* Reads the calls of SNAPSHOT's job, whose files lie in DIRECTORY, and which lasts DURATION_NS.
 * Returns 0, -EBADMSG if some records are damaged, or -errno. To be freed with hk_latencies_fini in
 * every case. */
int hk_latencies_read(const Hk__Snapshot *snapshot, const char *directory, uint64_t duration_ns,
		      struct hk_latencies *ret_latencies);
void hk_latencies_fini(struct hk_latencies *latencies);

/* Adds a call of DURATION_NS to PART. */
void hk_latency_add(struct hk_latency_part *part, uint64_t duration_ns);

/* Returns the duration in ns below which 99 of 100 calls of PART lie, to a fifth of it. */
double hk_latency_p99(const struct hk_latency_part *part);

#endif
