/* session_members.h: the hookcli processes of one job on one node, and which of them ends the job.
 *
 * Each member holds a shared lock on the file members.<job> of the run directory while its command
 * runs, and appends its status when it leaves. A lock of another kind shows the collector that the
 * member lives. The leader also holds leader.<job>. Locks end with their process, so a killed
 * member leaves nothing behind. The leader waits for the others and ends the job; without a leader
 * the last member does. Members that a launcher asks to end stay until the leader has ended the
 * job. One per process, main thread only.
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

/* Opens file `name` in `dirfd`, or makes it, and locks it by flock(2) `operation`. Returns its
 * descriptor or -errno. */
int hk_session_members_lock(int dirfd, const char *name, int operation);

/* Joins `job`, as the leader if `leads` is true and there is none. Returns 0 or -errno. */
int hk_session_members_join(struct hk_session_members *members, int dirfd, const char *job,
			    int expected, bool leads);

/* Leaves the job with `*status`. The leader waits for the others before, but only briefly once one
 * has failed or `child` got a signal to end. Returns whether the caller must end the job, and then
 * *status is the worst of all. */
bool hk_session_members_leave(struct hk_session_members *members,
			      const struct hk_command_process *child, int *status);

/* Closes the files, and removes them if `remove` is true. */
void hk_session_members_fini(struct hk_session_members *members, bool remove);

#endif
