/* flow.h: which calls of different ranks belong together: a send and what received its message, and
 * all ranks' parts of one collective.
 *
 * Told of calls as they begin, in the order of their starts, and as they end. Ranks and
 * communicators are those that the calls recorded; what a message went to is decided by
 * mailbox.h. A receive that is not waited for itself hands its message to the call that completes
 * its request. Collectives are matched by communicator, function and number. Memory depends on
 * communicators and ranks, and is bounded where messages wait. One thread.
 */
#ifndef HK_CLI_FLOW_FLOW_H
#define HK_CLI_FLOW_FLOW_H

#include "cli/export/exporter.h"

struct hk_flows;

/* NULL: out of memory. */
struct hk_flows *hk_flows_new(size_t processes);
/* Frees; accepts NULL, returns NULL. */
struct hk_flows *hk_flows_free(struct hk_flows *flows);

/* Calls of PROCESS (its index) that start at FROM or later may not be all there. */
void hk_flows_doubt(struct hk_flows *flows, size_t process, uint64_t from_ns);

/* Whether calls like SITE's matter. */
bool hk_flows_wants(const struct hk_export_site *site);

/* SLICE of THREAD begins, which no other call that matters encloses. Sets its flow; what it holds
 * then is given back by one of the next two. SHOWN: it is in the export. 0 or -ENOMEM. */
int hk_flows_open(struct hk_flows *flows, const struct hk_export_thread *thread,
		  struct hk_slice *slice, bool shown);

/* SLICE ends: sets what arrived in it, which lasts until the next call. 0 or -ENOMEM. */
int hk_flows_close(struct hk_flows *flows, struct hk_slice *slice);

/* SLICE is not in the export: nobody asks what arrived. */
void hk_flows_skip(struct hk_flows *flows, struct hk_slice *slice);

struct hk_export_flows hk_flows_result(const struct hk_flows *flows);

#endif
