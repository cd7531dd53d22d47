/* nodes.h: a job directory on a shared file system with one directory per node. Every node's
 * collector writes only into <job directory>/<host>[-n]/; readers combine them here. No state, any
 * thread. */
#ifndef HK_WIRE_NODES_H
#define HK_WIRE_NODES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "schema/wire.pb-c.h"

#define HK_NODES_MAX 4096u
/* File in a node's directory: which collector writes there, and for which job. */
#define HK_NODES_MARK "node"
/* A collector touches job.json of an open job far more often than this; otherwise it is dead. */
#define HK_NODES_SILENT_S 60

struct hk_node_part {
	char name[NAME_MAX + 1]; /* of its directory */
	int error; /* result of reading its statistics: 0, -ENOENT: none yet, -EBADMSG: torn, -errno
		    */
	bool open; /* the part's own state */
	bool fresh; /* touched within HK_NODES_SILENT_S */
};

struct hk_nodes {
	struct hk_node_part *parts; /* by name */
	size_t count;
};

/* Finds the node directories of JOB_DIR: its subdirectories with the mark and a statistics file or
 * job.json, at most HK_NODES_MAX. Returns 0, -ENOENT if there are no such, or no JOB_DIR, or
 * -errno. */
int hk_nodes_find(const char *job_dir, struct hk_nodes *ret_nodes);
void hk_nodes_fini(struct hk_nodes *nodes);

/* Combines the states of all nodes into one job: processes with `node` set, Job.nodes by name with
 * their directories, `directory` that of the whole. Sets `error` and `open` of each part; leaves
 * out unreadable ones. The job is closed once no fresh part is open. The caller frees it with
 * hk__snapshot__free_unpacked. Returns 0, -EBADMSG if no part could be read, -ENOMEM, or -errno. */
int hk_nodes_load(const char *job_dir, struct hk_nodes *nodes, Hk__Snapshot **ret_snapshot);

/* Whether all ranks of the world size in WHOLE's processes are present. */
bool hk_nodes_ranks_came(const Hk__Snapshot *whole);

/* Directory of PROCESS's files below the job's directory: "" or the name of its node's. */
const char *hk_nodes_directory(const Hk__Job *job, const Hk__Process *process);

#endif
