/* start.h: starts tracing in this process, ends it, and starts it again. One thread at a time, with
 * signals blocked and hk_in_agent set.
 */
#ifndef HK_AGENT_START_H
#define HK_AGENT_START_H

#include <stdbool.h>

#define HK_REASON_BYTES 256u

/* Starts tracing with the settings of ENVIRONMENT, which must stay. LATE: the program runs already,
 * with threads. Returns 0, or -1 with the reason for people in REASON: then nothing was patched. */
int hk_start(int argc, char **argv, char *const *environment, bool late,
	     char reason[HK_REASON_BYTES]);

/* Ends tracing: restores all slots and closes the segment. Other threads may be in hooked calls,
 * from which they return. Returns 0, or -1 with the REASON, and then nothing has changed. */
int hk_stop(char reason[HK_REASON_BYTES]);

/* Writes REASON to stderr if HOOK_LOG is set in ENVIRONMENT. */
void hk_start_say(char *const *environment, const char *reason);

#endif
