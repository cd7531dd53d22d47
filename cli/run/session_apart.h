/* session_apart.h: the session of a job whose processes run already. Main thread only.
 *
 * A child process opens the job, as the user whose processes are to be traced. It stays until this
 * process knows whether they are.
 */
#ifndef HK_CLI_RUN_SESSION_APART_H
#define HK_CLI_RUN_SESSION_APART_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/run/session.h"

struct hk_session_apart {
	pid_t child; /* -1: none */
	int control; /* tells the child what to open, and what becomes of the job */
	int answer;
	char run_directory[PATH_MAX];
	char id[128];
	char shown[PATH_MAX]; /* the job's directory, as the user should type it */
	char why[HK_COLLECTOR_WHY_BYTES];
};

/* Starts the child, before this process asks any collector: NNG does not survive a fork. Returns 0
 * or -errno. */
int hk_session_apart_init(struct hk_session_apart *apart);

/* Finds or starts the collector and opens the job, as user UID of group GID. Returns 0, or -errno
 * with the reason in `why`. Once. */
int hk_session_apart_open(struct hk_session_apart *apart, const struct hk_session_options *options,
			  uid_t uid, gid_t gid);

/* Leaves the job to its collector if it is KEPT, which ends it after its last process. Otherwise
 * removes it, if it was opened. */
void hk_session_apart_close(struct hk_session_apart *apart, bool kept);

#endif
