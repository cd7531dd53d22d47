/* events.h: memory events that wait to be applied, earliest first.
 *
 * A binary heap ordered by time, then by the order of arrival. Bounded by HK_EVENTS_MAX. Not
 * thread-safe. A zeroed struct is empty; fini frees.
 */
#ifndef HK_COLLECTOR_MEMORY_EVENTS_H
#define HK_COLLECTOR_MEMORY_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#define HK_EVENTS_MAX (2u << 20)

enum hk_event_kind {
	HK_EVENT_ALLOC = 1,
	HK_EVENT_FREE = 2,
	HK_EVENT_MAP = 3,
	HK_EVENT_UNMAP = 4,
};

struct hk_event {
	uint64_t ticks;	   /* when it takes effect */
	uint64_t sequence; /* set by push */
	uint64_t pointer;
	uint64_t size;
	uint64_t start_ticks; /* of the call */
	uint32_t kind;	      /* enum hk_event_kind */
	uint32_t account;     /* number in the accounts */
	uint32_t thread;
	uint32_t pool; /* table of blocks for ALLOC and FREE, chosen by the ledger */
};

struct hk_events {
	struct hk_event *heap;
	size_t count, capacity;
	uint64_t sequence;
};

/* -ENOSPC: HK_EVENTS_MAX are waiting; -ENOMEM. */
int hk_events_push(struct hk_events *events, const struct hk_event *event);

/* Adds an event that was pushed before, with its old `sequence`. Returns -EBADMSG if that is
 * impossible, or as push does. */
int hk_events_restore(struct hk_events *events, const struct hk_event *event);

/* Earliest event or NULL. */
const struct hk_event *hk_events_first(const struct hk_events *events);

/* Takes the earliest event off; there must be one. */
void hk_events_pop(struct hk_events *events, struct hk_event *ret_event);

void hk_events_fini(struct hk_events *events);

#endif
