/* meetings.h: when two ranks met for the last time before a wait. Memory is bounded: of a rank the
 * last HK_MEETING_COMMS communicators are remembered, and HK_MEETING_PAIRS pairs of ranks. One
 * owner, no locking. */
#ifndef HK_CLI_DELAY_MEETINGS_H
#define HK_CLI_DELAY_MEETINGS_H

#include "cli/delay/history.h"

#define HK_MEETING_COMMS 16u
#define HK_MEETING_PAIRS (1u << 20)

/* Sets `from_ns` of each wait of HISTORY, which is finished. Returns 0 or -ENOMEM. */
int hk_meetings_set(struct hk_history *history);

#endif
