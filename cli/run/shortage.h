/* shortage.h: finds a limit of this process that is too low for collector and agent. No state, any
 * thread. */
#ifndef HK_CLI_RUN_SHORTAGE_H
#define HK_CLI_RUN_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>

#define HK_SHORTAGE_BYTES 96

/* Writes the first limit that is too low for a small job, with its fix, into TEXT: "ulimit -n is 8:
 * set it to 64 or more". Writes "" if each limit is high enough. Returns TEXT. */
const char *hk_shortage_explain(char text[HK_SHORTAGE_BYTES]);

/* Returns whether ulimit -f is less than the first size of a process's segment: no call of a job
 * can be seen or stored then. */
bool hk_shortage_of_size(void);

#endif
