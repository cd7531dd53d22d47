/* collectors.h: finds this user's collectors on this machine. A collector has a run directory:
 * $HOOK_RUN_DIR if it is set, else those of hk_rundir_path. The private collector of `hookcli run`
 * has a directory of its own below one of them. Main thread only. */
#ifndef HK_CLI_JOB_COLLECTORS_H
#define HK_CLI_JOB_COLLECTORS_H

#include <limits.h>
#include <stddef.h>

#include "wire/request.h"

/* Prefix of the run directories of private collectors, below those of the user. */
#define HK_COLLECTORS_PRIVATE "job-"

#define HK_COLLECTORS_MAX 64u

struct hk_collectors {
	const char *url[HK_COLLECTORS_MAX]; /* pointers into `text`, or to settings */
	char text[HK_COLLECTORS_MAX][HK_REQUEST_URL_BYTES];
	size_t count;
};

/* Fills COLLECTORS: with the URL of --collector alone if that is set. Otherwise with those of the
 * user's run directories whose lock a collector holds, the user's first, then private ones, at most
 * HK_COLLECTORS_MAX. */
void hk_collectors_find(struct hk_collectors *collectors);

/* Asks all COLLECTORS for their lists of jobs. Returns the index of the collector with the newest
 * running job, or with the newest job if no job runs; -ENOENT if no collector answers with a
 * job. */
int hk_collectors_newest(const struct hk_collectors *collectors);

/* Returns the URL of the collector, in static memory: --collector, HOOK_COLLECTOR, configuration,
 * else the run directory's socket. Returns NULL if there is no such path. */
const char *hk_collectors_default(void);

/* Does hk_client_request with hk_collectors_default(). */
int hk_collectors_request(Hk__Request *request, Hk__Response **ret_response);

/* Sets PATH to the directory of jobs: the setting, else that of the running collector, else the
 * default. Returns 0, or -ENOENT without a home directory. */
int hk_collectors_store(char path[PATH_MAX]);

/* Sets PATH to the run directory of a private collector for a job below `parent`. All processes of
 * a node derive the same path: `name` is the job's key for ranks of a launcher, else the name of
 * the job's directory. `create`: creates the user's run directory around it. Returns 0,
 * -ENAMETOOLONG or -errno. */
int hk_collectors_private_rundir(const char *parent, const char *name, int create,
				 char path[PATH_MAX]);

#endif
