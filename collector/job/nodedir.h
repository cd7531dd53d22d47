/* nodedir.h: one node's directory in a job directory that several nodes share.
 *
 * Collectors that share a store send each other no messages. They agree by directories alone:
 * <parent>/<id>/<host>[-n]. mkdir decides, which is atomic on network file systems too; nothing
 * depends on locks. A node joins a run that another node began if it may still be the same run, and
 * begins <id>-2, <id>-3 ... if the newest one is over:
 *   - this node had a part in it that it has closed, or
 *   - all its nodes have closed it, and every rank of its world was there, or
 *   - nothing in it was touched for HK_NODES_SILENT_S.
 * A collector takes over the part of its node that an earlier collector of the same run directory
 * began and did not close, whatever step of the opening that collector was killed at. Two runs are
 * taken for one if the first one failed before all its ranks had started and the second one begins
 * within that time under the same key on other nodes. Slurm and mpirun never use a key twice. The
 * nodes' clocks must agree with the file server's to within some seconds. No state; one thread.
 */
#ifndef HK_COLLECTOR_JOB_NODEDIR_H
#define HK_COLLECTOR_JOB_NODEDIR_H

#include <limits.h>
#include <stdbool.h>

#include "collector/job/jobdir.h"

/* The identity of one collector's run directory, in file HK_NODES_MARK. */
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

/* Returns whether a directory belongs to an open job of this collector. */
struct hk_nodedir_open {
	bool (*has)(const void *context, const char *path);
	const void *context;
};

/* Makes this node's directory in the run's, which is PARENT/NAME or PARENT/NAME-n, or finds one
 * whose opening did not complete. Sets PATH to its path, and NAME to the name of the run's
 * directory. Returns 0, -ENAMETOOLONG, or -errno of making it. */
int hk_nodedir_create(const char *parent, char name[HK_JOBDIR_ID_BYTES],
		      const struct hk_nodedir_mark *mark, const struct hk_nodedir_open *open,
		      char path[PATH_MAX]);

/* Whether PATH is a node's directory already. */
int hk_nodedir_is(const char *path);

/* Touches DIRECTORY/job.json, whose time shows other nodes that this node's collector lives.
 * Returns 0 or -errno. */
int hk_nodedir_beat(const char *directory);

/* Writes report.json and summary.txt of the whole job that node DIRECTORY is a part of. Does
 * nothing while another node's part is open: the last node to close writes them. Returns 0 or
 * -errno. */
int hk_nodedir_report(const char *directory);

#endif
