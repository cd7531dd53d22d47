/* session.h: the collector of the job that `hookcli run` starts: a running one, or a private one.
 *
 * Each hookcli of a job on a node finds the same run directory without talking to the others; a
 * lock there elects the one that starts the collector. One per process, main thread only.
 */
#ifndef HK_CLI_RUN_SESSION_H
#define HK_CLI_RUN_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/run/collector_start.h"
#include "cli/run/session_members.h"
#include "wire/request.h"

/* Tells a `hookcli run` inside a traced job that an outer one keeps the job. */
#define HK_SESSION_NESTED "HOOK_RUN_JOB"

struct hk_session {
	char run_directory[PATH_MAX];
	char url[HK_REQUEST_URL_BYTES];
	char directory[PATH_MAX]; /* the job's, absolute; of this node if `shared` */
	char whole[PATH_MAX];	  /* the job's, absolute, of all its nodes */
	char shown[PATH_MAX];	  /* the same as the user should type it */
	char id[128];		  /* as the processes name the job */
	bool leaf;		  /* the collector brings the job to a root */
	bool unsent;		  /* and has not got all of it there; what it has is closed */
	bool private;		  /* the collector ends with the job */
	bool nested;		  /* another hookcli run above looks after the job */
	bool inside;		  /* a launcher started this process as a rank */
	bool leads;		  /* lowest rank of the node */
	bool first;		  /* lowest rank of all */
	bool shared;		  /* its nodes have a directory each in `whole` */
	bool per_node;		  /* that is how a collector of its own is to keep it */
	int world_size;		  /* ranks of the job, -1: unknown */
	int expected;		  /* hookcli processes of the job on this node, 0: unknown */
	int dirfd;
	int stopped; /* the collector's process, if it was stopped when the command ended, or 0 */
	struct hk_session_members members;
	uint64_t renewed_ns; /* when a collector that had died was last replaced, monotonic */
	unsigned renewals;   /* in quick succession */
	char why[HK_COLLECTOR_WHY_BYTES]; /* the last call's error, with what to do about it */
};

struct hk_session_options {
	const char *store;   /* --store or NULL */
	const char *job;     /* --job or NULL */
	const char *command; /* base name of the command */
	const char *line;    /* the whole command line */
};

/* Finds or starts the collector. 0, or -errno and KEEPER's `why`: nothing is left behind. */
int hk_session_init(struct hk_session *session, const struct hk_session_options *wish);

/* Opens the job, whose command will be process `pid`, and makes the links to it. 0, or -errno and
 * KEEPER's `why`: the collector does not answer in time or refuses. */
int hk_session_open(struct hk_session *session, const struct hk_session_options *wish, int pid);

/* Starts a private collector in place of one that cannot keep the job, after a line on stderr. The
 * environment of the command has to be made again. 0; -EALREADY: KEEPER's is a private one already;
 * -errno and KEEPER's `why`. */
int hk_session_replace(struct hk_session *session, const struct hk_session_options *wish);

/* Replaces a private collector that has died: its unstored records are in the segments, and the new
 * one continues there. Prints a line to stderr; stops after repeated failures. */
void hk_session_renew(struct hk_session *session);

/* Reports how process `pid` ended; a missing collector is no error. */
void hk_session_notice(struct hk_session *session, int pid, bool signaled, int code);

/* Leaves the job with `status` (128+n for a signal); the leader waits for the others first, while
 * `child`'s signals may cut that short. True if this process closed the job. */
bool hk_session_leave(struct hk_session *session, const struct hk_command_process *child,
		      int status);

/* Frees what is held; removes a private run directory if the job was `closed`. */
void hk_session_fini(struct hk_session *session, bool closed);

/* Frees what is held of a job whose command was not started under the agent: where no other process
 * has a part in it, nothing of it is left. */
void hk_session_abandon(struct hk_session *session);

#endif
