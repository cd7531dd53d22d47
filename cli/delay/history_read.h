/* history_read.h: reads the history of a job from its records. Main processes with a rank count,
 * each by its first thread. One thread.
 */
#ifndef HK_CLI_DELAY_HISTORY_READ_H
#define HK_CLI_DELAY_HISTORY_READ_H

#include "cli/delay/history.h"

/* Reads the calls of SNAPSHOT's job, whose files lie in DIRECTORY. Returns 0, -EBADMSG if some
 * records are damaged, or -errno. To be freed with hk_history_fini in every case. */
int hk_history_read(const Hk__Snapshot *snapshot, const char *directory,
		    struct hk_history *ret_history);

#endif
