/* nest.h: makes the calls of one thread nest exactly. A record is a start and a length, both
 * rounded; two of them may overlap by a nanosecond. The nest takes the calls of a thread in order
 * of start and gives them out as opens and closes like brackets. Of two possible corrections of an
 * overlap the smaller one is made. It holds only the open calls. One owner, no locking. */
#ifndef HK_TIMELINE_NEST_H
#define HK_TIMELINE_NEST_H

#include "timeline/call.h"

/* Deeper calls are refused, so that memory is bounded for any file. */
#define HK_NEST_DEPTH_MAX 16384u

struct hk_nest {
	struct hk_slice *slices;
	uint32_t depth, capacity;
	uint64_t last_ns; /* time of the last open or close given out */
};

struct hk_nest_sink {
	int (*open)(void *context, const struct hk_slice *slice);
	int (*close)(void *context, const struct hk_slice *slice);
	void *context;
};

/* Adds the next call: closes calls that end before it, opens it. Returns 0, -E2BIG if it is nested
 * too deeply and left out, -ENOMEM, or a negative result of the sink. */
int hk_nest_add(struct hk_nest *nest, const struct hk_slice *slice,
		const struct hk_nest_sink *sink);

/* Closes all open calls. Returns 0 or a negative result of the sink. */
int hk_nest_finish(struct hk_nest *nest, const struct hk_nest_sink *sink);

/* Frees the nest's memory; a zeroed nest is valid. */
void hk_nest_fini(struct hk_nest *nest);

#endif
