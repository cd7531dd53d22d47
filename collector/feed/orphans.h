/* orphans.h: chunks whose process is not known yet.
 *
 * The report that names the process was refused with others, or a root has asked for the whole
 * state. The chunk waits for it. One thread.
 */
#ifndef HK_COLLECTOR_FEED_ORPHANS_H
#define HK_COLLECTOR_FEED_ORPHANS_H

#include <stddef.h>
#include <stdint.h>

struct hk_orphan {
	uint64_t sequence; /* of the message, or of its first part */
	uint64_t came_ns;  /* monotonic */
	size_t size;
	struct hk_orphan *prev, *next;
	uint8_t bytes[];
};

struct hk_orphans {
	struct hk_orphan *list; /* in order */
	size_t bytes;
};

/* Keeps a copy of a request. Returns 0, -ENOBUFS if there are too many bytes, or -ENOMEM. */
int hk_orphans_add(struct hk_orphans *orphans, uint64_t sequence, const void *bytes, size_t size,
		   uint64_t now_ns);
void hk_orphans_remove(struct hk_orphans *orphans, struct hk_orphan *orphan);

/* Forgets those that came before LIMIT_NS. Returns how many. */
unsigned hk_orphans_expire(struct hk_orphans *orphans, uint64_t limit_ns);

/* The sequence number of the oldest one, UINT64_MAX: there is none. */
uint64_t hk_orphans_oldest(const struct hk_orphans *orphans);

#endif
