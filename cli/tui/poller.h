/* poller.h: a thread that sends requests to the collector, so that the screen never waits for it.
 * One request runs at a time. Meanwhile the owner must not use the settings or the job's
 * connection. Owned by one thread. */
#ifndef HK_CLI_TUI_POLLER_H
#define HK_CLI_TUI_POLLER_H

#include "cli/tui/snapshot.h"

struct hk_poller;

/* The answer that the descriptor announces. */
struct hk_poller_result {
	struct hk_top_snapshot *snapshot; /* the caller's; NULL: failed, or a level was set */
	int code;			  /* hookcli's exit code for the request */
	bool is_level;
	uint32_t sites, processes; /* number of sites and processes in which a level was set */
};

/* Starts the thread. Returns 0, -ENOMEM or -errno. */
int hk_poller_new(struct hk_poller **ret_poller);

/* Ends the thread and frees POLLER. Returns false if the thread still waits for a collector: the
 * caller must then keep the memory that the thread uses. */
bool hk_poller_free(struct hk_poller *poller);

/* Returns the descriptor that is readable when an answer has come. */
int hk_poller_fd(const struct hk_poller *poller);
bool hk_poller_is_busy(struct hk_poller *poller);

/* Requests a snapshot. Returns false if a request runs, or without memory. */
bool hk_poller_request(struct hk_poller *poller, const struct hk_top_snapshot_request *request);

/* Requests that the level of FUNCTION is set for SECONDS in the job of SNAPSHOT. Returns as
 * hk_poller_request. LEVEL: enum hk_level. */
bool hk_poller_level(struct hk_poller *poller, const struct hk_top_snapshot *snapshot,
		     const char *function, uint32_t level, unsigned seconds);

/* Takes the answer. Returns false if there is none yet. */
bool hk_poller_take(struct hk_poller *poller, struct hk_poller_result *ret_answer);

#endif
