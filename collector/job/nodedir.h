/* nodedir.h: one node's directory in a job directory that several nodes share, without talking.
 *
 * Collectors that share a store agree by directories alone: <parent>/<id>/<host>[-n]. All that has
 * to be settled is settled by mkdir, which is atomic on network file systems too; nothing depends
 * on locks. A node joins a run that another one began if it may still be the same run, and begins
 * <id>-2, <id>-3 ... if the newest is over:
 *   - this node had a part in it that it has closed, or
 *   - all its nodes have closed it, and every rank of its world was there, or
 *   - nothing in it was touched for HK_NODES_SILENT_S.
 * A node's part that an earlier collector of the same run directory began and did not close is
 * taken over, at whatever step of its opening that collector was killed. What may go wrong: a run
 * that failed before all its ranks had started, begun anew within that time under the same key on
 * other nodes. Keys of Slurm and of mpirun are never used twice. The nodes' clocks must agree with
 * the file server's to within some seconds. No state; one thread.
 */
#ifndef HK_COLLECTOR_JOB_NODEDIR_H
#define HK_COLLECTOR_JOB_NODEDIR_H

#include <limits.h>
#include <stdbool.h>

#include "collector/job/jobdir.h"

/* What tells one collector's run directory from all others: kept in file HK_NODES_MARK. */
struct hk_nodedir_mark {
	char id[HK_JOBDIR_ID_BYTES]; /* of the job, without a number */
	char host[64];
	char boot[64];
	char place[PATH_MAX]; /* of the run directory */
	char instance[48];    /* which it was there: device and inode */
};

/* Fills MARK for job ID of the collector on HOST whose run directory is PLACE, open as DIRFD. */
void hk_nodedir_mark(struct hk_nodedir_mark *mark, const char *id, const char *host,
		     const char *place, int dirfd);

/* Tells which directories belong to jobs that this collector has open. */
struct hk_nodedir_open {
	bool (*has)(const void *context, const char *path);
	const void *context;
};

/* Makes this node's directory in the run's, which is PARENT/NAME or PARENT/NAME-n, or finds the one
 * whose opening was cut short. Its path goes to PATH, the name of the run's directory to NAME.
 * Returns 0, -ENAMETOOLONG, or -errno of making it. */
int hk_nodedir_create(const char *parent, char name[HK_JOBDIR_ID_BYTES],
		      const struct hk_nodedir_mark *mark, const struct hk_nodedir_open *open,
		      char path[PATH_MAX]);

/* Whether PATH is a node's directory already. */
int hk_nodedir_is(const char *path);

/* Shows that the node's collector is there: others see the time of DIRECTORY/job.json. -errno. */
int hk_nodedir_beat(const char *directory);

/* Writes report.json and summary.txt of the whole that node DIRECTORY is in, unless another node
 * goes on: the last one to close does it. 0 or -errno. */
int hk_nodedir_report(const char *directory);

#endif
