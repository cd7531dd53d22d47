/* session_members.h: the hookcli processes of one job on one node, and which of them ends the job.
 *
 * Each holds the file members.<job> of the run directory shared while its command runs and appends
 * its status when it leaves; by a lock of another kind the collector knows of it to the very end;
 * the leader also holds leader.<job>. Locks end with their process, so one that is killed is simply
 * gone. The leader waits for the others and ends the job; without a leader the last one does. Those
 * that a launcher tells to end stay until the leader has done so. One per process, main thread
 * only.
 */
#ifndef HK_CLI_RUN_SESSION_MEMBERS_H
#define HK_CLI_RUN_SESSION_MEMBERS_H

#include <stdbool.h>

/* File in the run directory; its lock lets one hookcli at a time start a collector. */
#define HK_SESSION_MEMBERS_ELECTION "election"

struct hk_command_process;

struct hk_session_members {
	char job[128];
	int dirfd;    /* the run directory's, borrowed */
	int expected; /* members on this node, 0: unknown */
	bool leader;
	int members_fd, leader_fd;
};

/* Opens (makes) file `name` in `dirfd` and locks it by flock(2) `operation`. Its descriptor, or
 * -errno. */
int hk_session_members_lock(int dirfd, const char *name, int operation);

/* Joins `job`. `leads`: would be the leader, if there is none. -errno. */
int hk_session_members_join(struct hk_session_members *members, int dirfd, const char *job,
			    int expected, bool leads);

/* Leaves with `*status`, the leader after the others: not for long once one has failed or `child`
 * got a signal to end. Returns whether the caller has to end the job, with *status the worst of
 * all. */
bool hk_session_members_leave(struct hk_session_members *members,
			      const struct hk_command_process *child, int *status);

/* Closes what is open; `remove` the files too. */
void hk_session_members_fini(struct hk_session_members *members, bool remove);

#endif
