/* wait_events.h: finds the waits of ranks for each other while the calls of a job pass by, and
 * gives each of them to a function. Calls come as an exporter gets them, with their flows. Waits
 * come in no certain order: those of a collective when all its ranks have left it. Memory is
 * bounded. One thread.
 */
#ifndef HK_CLI_WAITS_WAIT_EVENTS_H
#define HK_CLI_WAITS_WAIT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/export/exporter.h"
#include "report/wait/pattern.h"

/* A call of RANK that waited for a call of AWAITED. All times: Unix, in ns. */
struct hk_wait_event {
	enum hk_wait_pattern pattern;
	const char
	    *function; /* that waits; one address for each name, valid as long as the events */
	int32_t rank, awaited;
	uint64_t start_ns, end_ns; /* of the call that waits */
	uint64_t until_ns;	   /* it waits from its start until then */
	uint64_t awaited_end_ns;   /* end of the awaited call; 0: not known */
	uint64_t joint;		   /* number of the collective; 0: a message */
	uint64_t comm;		   /* of a collective */
	bool certain;  /* the wait exceeds the error of the clocks; else it may be none */
	bool rivalled; /* another rank came at the same time, within the error of the clocks */
};

struct hk_wait_counts {
	uint64_t messages;    /* matched */
	uint64_t collectives; /* matched, with more than one rank */
	uint64_t doubtful;    /* of these: their times contradict each other */
	uint64_t alone;	      /* collectives of which one rank's call was found */
};

struct hk_wait_events;

/* Takes a wait. Returns 0 or -errno, which ends the reading. */
typedef int hk_wait_event_fn(void *context, const struct hk_wait_event *event);

/* Returns NULL without memory. FOUND gets each wait, certain or not. */
struct hk_wait_events *hk_wait_events_new(hk_wait_event_fn *found, void *context);
/* Frees EVENTS. Accepts NULL, returns NULL. */
struct hk_wait_events *hk_wait_events_free(struct hk_wait_events *events);

/* Take calls, as the operations of an exporter get them, and the end of all. Return 0, -ENOMEM or a
 * result of the function. */
int hk_wait_events_open(struct hk_wait_events *events, const struct hk_export_thread *thread,
			const struct hk_slice *slice);
int hk_wait_events_close(struct hk_wait_events *events, const struct hk_export_thread *thread,
			 const struct hk_slice *slice);
int hk_wait_events_finish(struct hk_wait_events *events);

struct hk_wait_counts hk_wait_events_counts(const struct hk_wait_events *events);

#endif
