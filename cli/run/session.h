/* session.h: finds or starts the collector of a job of `hookcli run`: a running one, or a private
 * one.
 *
 * Each hookcli of a job on a node finds the same run directory by itself. A lock there elects the
 * one that starts the collector. One per process, main thread only.
 */
#ifndef HK_CLI_RUN_SESSION_H
#define HK_CLI_RUN_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/run/collector_start.h"
#include "cli/run/session_members.h"
#include "wire/request.h"

/* Set in the environment of a job: a `hookcli run` inside of it finds that an outer one keeps the
 * job. */
#define HK_SESSION_NESTED "HOOK_RUN_JOB"

struct hk_session {
	char run_directory[PATH_MAX];
	char url[HK_REQUEST_URL_BYTES];
	char directory[PATH_MAX]; /* the job's, absolute; of this node if `shared` */
	char whole[PATH_MAX];	  /* the job's, absolute, of all its nodes */
	char shown[PATH_MAX];	  /* the same as the user should type it */
	char id[128];		  /* as the processes name the job */
	bool leaf;		  /* the collector brings the job to a root */
	bool unsent;		  /* a leaf: the root does not have all of the closed job */
	bool private;		  /* the collector ends with the job */
	bool nested;		  /* an outer hookcli run keeps the job */
	bool inside;		  /* a launcher started this process as a rank */
	bool leads;		  /* lowest rank of the node */
	bool first;		  /* lowest rank of all */
	bool shared;		  /* its nodes have a directory each in `whole` */
	bool per_node;		  /* a private collector makes a directory per node */
	int world_size;		  /* ranks of the job, -1: unknown */
	int expected;		  /* hookcli processes of the job on this node, 0: unknown */
	int dirfd;
	int stopped; /* the collector's process, if it was stopped when the command ended, or 0 */
	struct hk_session_members members;
	uint64_t renewed_ns; /* when a collector that had died was last replaced, monotonic */
	unsigned renewals;   /* in quick succession */
	char why[HK_COLLECTOR_WHY_BYTES]; /* error of the last call, with its fix */
};

struct hk_session_options {
	const char *store;   /* --store or NULL */
	const char *job;     /* --job or NULL */
	const char *command; /* base name of the command */
	const char *line;    /* the whole command line */
	bool apart; /* the process runs already: this one's launcher and outer job do not count */
};

/* Finds or starts the collector. Returns 0, or -errno with the reason in `why` and nothing left
 * behind. */
int hk_session_init(struct hk_session *session, const struct hk_session_options *options);

/* Opens the job, whose command will be process `pid`, and makes the links to it. Returns 0, or
 * -errno with the reason in `why` if the collector does not answer in time or refuses. */
int hk_session_open(struct hk_session *session, const struct hk_session_options *options, int pid);

/* Opens the job of process `pid`, which hookcli does not wait for, and makes the links to it unless
 * another rank of the node does. The collector closes the job when its processes have ended.
 * Returns 0, or -errno with the reason in `why`. */
int hk_session_adopt(struct hk_session *session, const struct hk_session_options *options, int pid);

/* Prints a line to stderr and starts a private collector instead of one that cannot keep the job.
 * The caller must then make the command's environment again. Returns 0, -EALREADY if the collector
 * is private already, or another -errno with the reason in `why`. */
int hk_session_replace(struct hk_session *session, const struct hk_session_options *options);

/* Replaces a private collector that has died: its unstored records are in the segments, and the new
 * one continues there. Prints a line to stderr; stops after repeated failures. */
void hk_session_renew(struct hk_session *session);

/* Reports to the collector how process `pid` ended. A missing collector is no error. */
void hk_session_notice(struct hk_session *session, int pid, bool signaled, int code);

/* Leaves the job with `status` (128+n for a signal). The leader first waits for the others, which
 * signals of `child` may cut short. Returns true if this process closed the job. */
bool hk_session_leave(struct hk_session *session, const struct hk_command_process *child,
		      int status);

/* Frees SESSION, and removes a private run directory if the job was `closed`. */
void hk_session_fini(struct hk_session *session, bool closed);

/* Frees SESSION of a job whose command was not started under the agent. Removes the job if no other
 * process has a part in it. */
void hk_session_abandon(struct hk_session *session);

#endif
