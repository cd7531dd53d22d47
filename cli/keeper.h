/* keeper.h: who keeps the job that `hookcli run` starts: a running collector, or one of its own.
 *
 * Each hookcli of a job on a node finds the same run directory without talking to the others; a
 * lock there elects the one that starts the collector. While its command runs, a hookcli holds the
 * job's `members` file shared; when it leaves it writes its status there. The leader (local rank 0)
 * waits for the others, then has the job closed; without a leader the last one does. One per
 * process, main thread only.
 */
#ifndef HK_KEEPER_H
#define HK_KEEPER_H

#include <limits.h>
#include <stdbool.h>

#include "base/identity.h"
#include "wire/request.h"

struct hk_child;

struct hk_keeper {
	char run_directory[PATH_MAX];
	char url[HK_REQUEST_URL_BYTES];
	char directory[PATH_MAX]; /* the job's, absolute */
	char shown[PATH_MAX];	  /* the same as the user should type it */
	char id[128];		  /* as the processes name the job */
	bool private;		  /* the collector ends with the job */
	bool nested;		  /* another hookcli run above looks after the job */
	bool inside;		  /* a launcher started this process as a rank */
	bool leader;
	int local_size; /* members expected on this node, 0: unknown */
	int dirfd, members_fd, leader_fd;
	struct hk_child *child; /* for waits that signals end; set by the caller */
};

struct hk_keeper_wish {
	const char *store;   /* --store or NULL */
	const char *job;     /* --job or NULL */
	const char *command; /* base name of the command */
	const char *line;    /* the whole command line */
};

/* Finds or starts the collector. 0, or -errno after a line on stderr. */
int hk_keeper_init(struct hk_keeper *keeper, const struct hk_keeper_wish *wish);

/* Opens the job, whose command will be process `pid`, and makes the links to it. 0, or -errno after
 * a line on stderr. */
int hk_keeper_open(struct hk_keeper *keeper, const struct hk_keeper_wish *wish, int pid);

/* Tells how process `pid` ended; not being heard is no error. */
void hk_keeper_notice(const struct hk_keeper *keeper, int pid, bool signaled, int code);

/* Leaves the job with `status` (128+n for a signal); the leader waits for the others first. True if
 * this process closed the job. */
bool hk_keeper_leave(struct hk_keeper *keeper, int status);

/* Frees what is held; removes an empty private run directory if `closed`. */
void hk_keeper_fini(struct hk_keeper *keeper, bool closed);

#endif
