/* members.h: the processes that PID|JOB of a command line names. Main thread only. */
#ifndef HK_CLI_ATTACH_MEMBERS_H
#define HK_CLI_ATTACH_MEMBERS_H

#include <stddef.h>
#include <sys/types.h>

/* Lists the process WORD, if it is a number, or else the processes of job WORD that live on this
 * node. Sets *RET_PIDS, which the caller frees. Returns an exit code, not HK_EXIT_DONE after a line
 * on stderr. */
int hk_members_list(const char *word, pid_t **ret_pids, size_t *ret_count);

#endif
