/* sample.h: one round trip of a clock probe, as offset and delay.
 *
 * Offsets are the root's CLOCK_MONOTONIC minus the node's. Plain values, any thread.
 */
#ifndef HK_COLLECTOR_CLOCK_SAMPLE_H
#define HK_COLLECTOR_CLOCK_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* A probe left the node at `sent_ns` of its clock, came to the root at `received_ns` of the root's,
 * was answered at `answered_ns`, and the answer came at `returned_ns` of the node's. */
struct hk_clock_trip {
	uint64_t sent_ns, received_ns, answered_ns, returned_ns;
};

struct hk_clock_sample {
	uint64_t at_ns;	    /* node's clock, halfway */
	int64_t offset_ns;  /* if both ways took as long */
	uint64_t travel_ns; /* of both directions; the offset is wrong by at most half of it */
};

/* Returns false for impossible times: an answer before its question, or more than 73 years. */
bool hk_clock_sample_make(const struct hk_clock_trip *trip, struct hk_clock_sample *ret_sample);

#endif
