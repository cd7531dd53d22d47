/* marker.h: what the steps of a job are, and when each of them begins.
 *
 * Candidates are collected while the calls of all ranks pass by, each with the steps that it would
 * give. In this order the first kind that all ranks have is taken:
 * 1. steps that the program marks (hk_step, hooktrace.step);
 * 2. ranges of the program named like steps: "step", "step 3", "ProfilerStep#3";
 * 3. a collective that all ranks call equally often: by function, communicator and bytes, or of any
 *    bytes. It ends a step. It must cover half of the time
 *    from the first collective to the last, HK_STEPS_MANY times if any does so, else
 *    HK_STEPS_LEAST times. The one with the most regular intervals is taken: their mean relative
 *    difference from one to the next, divided by the root of their number, is the smallest.
 *
 * Memory is bounded: HK_MARKERS candidates are kept, steps before collectives of any bytes, these
 * before those of one size, of a kind those used last. Locked by the caller.
 */
#ifndef HK_CLI_STEPS_MARKER_H
#define HK_CLI_STEPS_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/steps/series.h"

#define HK_MARKERS 16u
#define HK_STEPS_LEAST 16u
#define HK_STEPS_MANY 64u

enum hk_marker_kind {
	HK_MARKER_STEP,
	HK_MARKER_RANGE,
	HK_MARKER_COLLECTIVE,
};

struct hk_marker {
	enum hk_marker_kind kind;
	const char *name; /* of the range, or function; compared by address */
	uint64_t comm;	  /* of collectives */
	bool any_bytes;
	uint64_t bytes; /* 0 with `any_bytes` */
};

/* The steps of one rank. */
struct hk_marker_lane {
	struct hk_step_series series;
	bool open;
	uint64_t begin_ns; /* of the open step */
	double waited_ns;  /* what the rank had waited by then */
	uint64_t first_ns, last_ns;
	double last_duration_ns, unevenness; /* sum of relative differences */
};

struct hk_candidate {
	struct hk_marker marker;
	uint64_t used; /* number of the last use; 0: free */
	struct hk_marker_lane *lanes;
};

struct hk_markers {
	struct hk_candidate list[HK_MARKERS];
	size_t ranks;
	uint64_t uses;
};

/* A moment of one rank. */
struct hk_marker_event {
	size_t rank; /* index */
	uint64_t time_ns;
	double waited_ns; /* what the rank has waited for others until then, since its start */
};

/* MARKERS is zero but for `ranks`. Frees its memory. */
void hk_markers_fini(struct hk_markers *markers);

/* Ends the open step of MARKER at EVENT, if there is one, and begins the next. Returns 0 or
 * -ENOMEM. */
int hk_markers_begin(struct hk_markers *markers, const struct hk_marker *marker,
		     const struct hk_marker_event *event);
/* Ends the open step of MARKER at EVENT without a next one. */
int hk_markers_end(struct hk_markers *markers, const struct hk_marker *marker,
		   const struct hk_marker_event *event);

/* Returns the candidate that is taken, or NULL. SPAN_NS: how long each rank called collectives. */
struct hk_candidate *hk_markers_choose(struct hk_markers *markers, const double *span_ns);

#endif
