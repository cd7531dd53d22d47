/* nodes.h: a job directory whose nodes have a directory each, on a file system that they share.
 *
 * Every node's collector writes into <job directory>/<host>[-n]/ alone; what belongs together is
 * put together here, when somebody reads. No state, any thread.
 */
#ifndef HK_WIRE_NODES_H
#define HK_WIRE_NODES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/wire.pb-c.h"

#define HK_NODES_MAX 4096u
/* File in a node's directory: which collector writes there, and for which job. */
#define HK_NODES_MARK "node"
/* A collector touches job.json of an open job far more often than this; one that does not is gone.
 */
#define HK_NODES_SILENT_S 60

struct hk_node_part {
	char name[NAME_MAX + 1]; /* of its directory */
	int error;  /* of reading its statistics: 0; -ENOENT: none yet; -EBADMSG: torn; -errno */
	bool open;  /* by what it says itself */
	bool fresh; /* touched within HK_NODES_SILENT_S */
};

struct hk_nodes {
	struct hk_node_part *parts; /* by name */
	size_t count;
};

/* Finds the node directories of JOB_DIR: its subdirectories with the mark that hold a statistics
 * file or job.json. No more than HK_NODES_MAX. 0; -ENOENT: none, or no directory; -errno. */
int hk_nodes_find(const char *job_dir, struct hk_nodes *ret_nodes);
void hk_nodes_fini(struct hk_nodes *nodes);

/* All nodes' states as one job: processes with `node` set, Job.nodes by name with their
 * directories, `directory` that of the whole. `error` and `open` of each part are set; what cannot
 * be read is left out. The job is closed once no fresh part is open. The caller frees it with
 * hk__snapshot__free_unpacked. 0; -EBADMSG: no part could be read; -ENOMEM; -errno. */
int hk_nodes_load(const char *job_dir, struct hk_nodes *nodes, Hk__Snapshot **ret_snapshot);

/* Whether every rank of the world that WHOLE's processes speak of is among them. */
bool hk_nodes_ranks_came(const Hk__Snapshot *whole);

/* Where PROCESS's files lie, below the job's directory: "" or the name of its node's. */
const char *hk_nodes_directory(const Hk__Job *job, const Hk__Process *process);

#endif
