/* poller.h: a thread that asks the collector, so that the screen never waits for it.
 *
 * One thing is asked at a time. While it is, the owner does not use the settings or the job's
 * connection. Owned by one thread.
 */
#ifndef HK_CLI_TUI_POLLER_H
#define HK_CLI_TUI_POLLER_H

#include "cli/tui/snapshot.h"

struct hk_lookout;

/* What is in the answer that the descriptor announces. */
struct hk_lookout_answer {
	struct hk_picture *picture; /* the caller's; NULL: none, or a level was set */
	int code;		    /* hookcli's exit code: why there is none */
	bool is_level;
	uint32_t sites, processes; /* that a level was set in */
};

/* 0, -ENOMEM, -errno. */
int hk_lookout_new(struct hk_lookout **ret_lookout);

/* Ends the thread. False: it is still waiting for a collector, and must be left alone. */
bool hk_lookout_free(struct hk_lookout *lookout);

/* Can be read when an answer has come. */
int hk_lookout_fd(const struct hk_lookout *lookout);
bool hk_lookout_is_busy(struct hk_lookout *lookout);

/* Asks for a picture; false: busy, or out of memory. */
bool hk_lookout_look(struct hk_lookout *lookout, const struct hk_picture_request *request);

/* Has the level of FUNCTION set for SECONDS in the job of PICTURE; false as above. LEVEL: enum
 * hk_level. */
bool hk_lookout_level(struct hk_lookout *lookout, const struct hk_picture *picture,
		      const char *function, uint32_t level, unsigned seconds);

/* The answer; false: there is none yet. */
bool hk_lookout_take(struct hk_lookout *lookout, struct hk_lookout_answer *ret_answer);

#endif
