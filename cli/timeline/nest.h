/* nest.h: makes the calls of one thread nest exactly.
 *
 * A record is a start and a length, both rounded; two of them may overlap by a nanosecond. The nest
 * takes the calls of a thread in order of start and gives them out as opens and closes like
 * brackets: where two overlap, the shorter of the two possible corrections is made. It holds only
 * the calls that are open. One owner, no locking.
 */
#ifndef HK_CLI_TIMELINE_NEST_H
#define HK_CLI_TIMELINE_NEST_H

#include "cli/export/exporter.h"

/* Deeper calls than this are refused: memory stays bounded whatever the file says. */
#define HK_NEST_DEPTH_MAX 16384u

struct hk_nest {
	struct hk_slice *slices;
	uint32_t depth, capacity;
	uint64_t last_ns; /* of the last open or close given out */
};

struct hk_nest_sink {
	int (*open)(void *context, const struct hk_slice *slice);
	int (*close)(void *context, const struct hk_slice *slice);
	void *context;
};

/* Adds the next call: closes what ends before it, opens it. 0; -E2BIG: nested too deeply, the call
 * is left out; -ENOMEM; what the sink returned if below 0. */
int hk_nest_add(struct hk_nest *nest, const struct hk_slice *slice,
		const struct hk_nest_sink *sink);

/* Closes all that is open. */
int hk_nest_finish(struct hk_nest *nest, const struct hk_nest_sink *sink);

/* Frees what the nest holds; a zeroed nest is valid. */
void hk_nest_fini(struct hk_nest *nest);

#endif
