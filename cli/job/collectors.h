/* collectors.h: where the collectors of this user are on this machine.
 *
 * A collector has a run directory: $HOOK_RUN_DIR if it is set, else those that hk_rundir_path
 * names. The private collector of `hookcli run` has a directory of its own below one of them. Main
 * thread only.
 */
#ifndef HK_CLI_JOB_COLLECTORS_H
#define HK_CLI_JOB_COLLECTORS_H

#include <limits.h>
#include <stddef.h>

#include "wire/request.h"

/* First letters of the run directories of private collectors, below those of the user. */
#define HK_COLLECTORS_PRIVATE "job-"

#define HK_COLLECTORS_MAX 64u

struct hk_collectors {
	const char *url[HK_COLLECTORS_MAX]; /* into `text`, or of the settings */
	char text[HK_COLLECTORS_MAX][HK_REQUEST_URL_BYTES];
	size_t count;
};

/* Fills COLLECTORS with the address of --collector alone if that is set. Otherwise with those of
 * the user's run directories that a collector holds the lock of: the user's first, then private
 * ones; more than HK_COLLECTORS_MAX are left out. */
void hk_collectors_find(struct hk_collectors *collectors);

/* Asks all COLLECTORS for their lists of jobs. The one that keeps the newest job that runs, or if
 * none runs the newest of all; its index, or -ENOENT if no collector answers with a job. */
int hk_collectors_newest(const struct hk_collectors *collectors);

/* URL of the collector: --collector, HOOK_COLLECTOR, configuration, else the run directory's
 * socket; NULL when there is no such path. Static memory. */
const char *hk_collectors_default(void);

/* hk_client_ask of hk_collectors_default(). */
int hk_collectors_ask(Hk__Request *request, Hk__Response **ret_response);

/* Where jobs are kept: as set, else where the running collector keeps them, else where one would. 0
 * or -ENOENT: no home. */
int hk_collectors_store(char path[PATH_MAX]);

/* The run directory of the private collector of a job below `parent`, derived so that all processes
 * of a node agree without talking: `name` is the job's key for ranks of a launcher, else the name
 * of the job's directory. `create`: makes the user's run directory that it lies in. 0,
 * -ENAMETOOLONG, -errno. */
int hk_collectors_private_rundir(const char *parent, const char *name, int create,
				 char path[PATH_MAX]);

#endif
