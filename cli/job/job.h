/* job.h: the job a command is about: from a directory, or from the running collector.
 *
 * A job is named by id, by unique prefix or by directory, whatever `hookcli ls` lists; without a
 * name it is ./hook-last, else the newest job of the collector. A job that a leaf has a part of is
 * taken from its root. Errors are told on stderr in one
 * line, with the fix, so that every command says the same. Main thread only.
 */
#ifndef HK_CLI_JOB_JOB_H
#define HK_CLI_JOB_JOB_H

#include <limits.h>
#include <stdbool.h>

#include "wire/request.h"

/* How the run directories of private collectors begin, below the user's. */
#define HK_JOB_RUNDIR "job-"

/* How jobs, or links to them, are called where their commands were run, and the newest of them. */
#define HK_JOB_HERE "hook-"
#define HK_JOB_LAST "hook-last"

struct hk_job {
	Hk__Snapshot *snapshot;	  /* after a successful open never NULL, and `job` in it is set */
	char directory[PATH_MAX]; /* of the job's files */
	char url[HK_REQUEST_URL_BYTES]; /* of the collector it came from; empty: a directory */
	bool live;	/* the snapshot is of collectors that still follow the job */
	bool shared;	/* its nodes have a directory each: `url`, if any, is that of one node's */
	bool elsewhere; /* a root on another machine keeps it: its files are there */
	bool damaged;	/* something could not be read: show the rest, leave with HK_EXIT_FAILED */
};

/* Loads the job called `name` (NULL: the default). HK_EXIT_DONE, or another exit code after a line
 * on stderr. Close with hk_job_close. */
int hk_job_open(const char *name, struct hk_job *ret_job);
void hk_job_close(struct hk_job *job);

/* URL of the collector: --collector, HOOK_COLLECTOR, configuration, else the run directory's
 * socket; NULL when there is no such path. Static memory. */
const char *hk_job_collector(void);

/* One question to the collector. HK_EXIT_DONE, or another exit code after a line on stderr. The
 * answer is freed with hk__response__free_unpacked. */
int hk_job_ask(Hk__Request *request, Hk__Response **ret_response);

/* The same to the collector at URL. */
int hk_job_ask_at(const char *url, Hk__Request *request, Hk__Response **ret_response);

/* The same to the collector that keeps JOB, which is live. */
int hk_job_ask_its(const struct hk_job *job, Hk__Request *request, Hk__Response **ret_response);

/* Where jobs are kept: as set, else where the running collector keeps them, else where one would. 0
 * or -ENOENT: no home. */
int hk_job_store(char path[PATH_MAX]);

/* The run directory of the private collector of a job below `parent`, derived so that all processes
 * of a node agree without talking: `name` is the job's key for ranks of a launcher, else the name
 * of the job's directory. `create`: makes the user's run directory that it lies in. 0,
 * -ENAMETOOLONG, -errno. */
int hk_job_private_rundir(const char *parent, const char *name, int create, char path[PATH_MAX]);

#endif
