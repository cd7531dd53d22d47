/* shortage.h: which limit of this process is too low for collector and agent. No state, any thread.
 */
#ifndef HK_CLI_RUN_SHORTAGE_H
#define HK_CLI_RUN_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>

#define HK_SHORTAGE_BYTES 96

/* Writes the first limit that is lower than a small job needs, and what to do, into TEXT: "ulimit
 * -n is 8: set it to 64 or more"; "" where each is high enough. TEXT. */
const char *hk_shortage_explain(char text[HK_SHORTAGE_BYTES]);

/* Whether files may not even be as large as a process's segment is at first (ulimit -f): nothing of
 * a job can be seen or stored then. */
bool hk_shortage_of_size(void);

#endif
