/* flow.h: matches calls of different ranks: a send with the receive of its message, and all ranks'
 * parts of one collective. Calls are reported as they begin, in the order of their starts, and as
 * they end. Ranks and communicators are those in the records; mailbox.h matches messages. A receive
 * without a wait of its own passes its message to the call that completes its request. Collectives
 * are matched by communicator, function and number. Memory depends on communicators and ranks, and
 * is bounded for waiting messages. One thread. */
#ifndef HK_CLI_FLOW_FLOW_H
#define HK_CLI_FLOW_FLOW_H

#include "cli/export/exporter.h"

struct hk_flows;

/* Returns NULL without memory. */
struct hk_flows *hk_flows_new(size_t processes);
/* Frees FLOWS. Accepts NULL, returns NULL. */
struct hk_flows *hk_flows_free(struct hk_flows *flows);

/* Notes that calls of PROCESS (an index) that start at FROM or later may be missing. */
void hk_flows_doubt(struct hk_flows *flows, size_t process, uint64_t from_ns);

/* Returns whether calls of SITE take part in matching. */
bool hk_flows_wants(const struct hk_export_site *site);

/* Begins SLICE of THREAD, outside of other matching calls, and sets its flow. One of the next two
 * functions must release it. SHOWN: the export contains it. Returns 0 or -ENOMEM. */
int hk_flows_open(struct hk_flows *flows, const struct hk_export_thread *thread,
		  struct hk_slice *slice, bool shown);

/* Ends SLICE and sets the messages that arrived in it, valid until the next call. Returns 0 or
 * -ENOMEM. */
int hk_flows_close(struct hk_flows *flows, struct hk_slice *slice);

/* Ends SLICE, which is not in the export: its arrivals are not needed. */
void hk_flows_skip(struct hk_flows *flows, struct hk_slice *slice);

struct hk_export_flows hk_flows_result(const struct hk_flows *flows);

#endif
