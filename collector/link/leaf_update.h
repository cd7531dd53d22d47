/* leaf_update.h: makes a leaf's report to its root from the outbox. One thread. */
#ifndef HK_COLLECTOR_LINK_LEAF_UPDATE_H
#define HK_COLLECTOR_LINK_LEAF_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/link/node.h"
#include "collector/link/outbox.h"
#include "collector/model/job.h"

struct hk_collector;

/* What is in every report, and where the root's clock is. */
struct hk_leaf_report_head {
	uint8_t id[HK_NODE_ID_BYTES], boot[HK_NODE_ID_BYTES];
	const char *host;
	uint64_t epoch, number;
	uint64_t shed_records, spooled_bytes;
	int64_t root_ahead_ns; /* its realtime clock less ours, roughly */
	Hk__ClockMap *clock;   /* NULL: nothing is known of its monotonic one */
	bool clock_awaited;    /* soon known: no job is reported complete without it */
};

struct hk_leaf_report {
	Hk__LeafReport message;
	bool more; /* something had no room */
	Hk__Node node;
	struct hk_leaf_report_part *parts;
	Hk__LeafJob **list;
};

/* Makes the next report, of about a MiB at most. Its borrowed parts last until the outbox changes.
 * Returns 0 or -ENOMEM. */
int hk_leaf_report_make(const struct hk_collector *collector, struct hk_leaf_report_head *head,
			struct hk_outbox *outbox, struct hk_leaf_report *ret_report);
/* Frees it; SENT: what is in it counts as on its way. */
void hk_leaf_report_fini(struct hk_leaf_report *report, bool sent);

/* Takes note of the root's clock in an answer. */
void hk_leaf_report_clock(struct hk_leaf_report_head *head, const Hk__LeafReply *reply);

#endif
