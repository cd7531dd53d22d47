/* process.h: one image of a traced process: its identity, its values, and where they are kept.
 *
 * Parts with other readers have headers of their own: attachment.h while a segment is attached,
 * remote.h on a root for processes of other nodes. One thread uses it.
 */
#ifndef HK_COLLECTOR_MODEL_PROCESS_H
#define HK_COLLECTOR_MODEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "schema/wire.pb-c.h"

#define HK_UID_BYTES 16u

struct hk_arrivals;
struct hk_attachment;
struct hk_job;
struct hk_remote;

/* On a leaf: what the root has of a process. */
struct hk_upload {
	bool unsent;	       /* its file has values that the root has not been sent */
	uint64_t acknowledged; /* number of the last chunk that the root has */
};

struct hk_process {
	uint8_t uid[HK_UID_BYTES];
	struct hk_job *job;
	struct hk_process *prev, *next; /* hk_job::processes */
	UT_hash_handle hh;		/* hk_collector::processes */
	UT_hash_handle hh_uid;		/* hk_collector::images */
	UT_hash_handle hh_pid;		/* hk_collector::pids, if it is the first of its pid */
	struct hk_process *pid_prev, *pid_next; /* of the same pid */
	Hk__Process *state;	       /* newest values; what snapshots and frames are made of */
	struct hk_attachment *segment; /* NULL: no segment is attached */
	struct hk_arrivals *arrivals;  /* collective calls to match; NULL: it had no segment */
	struct hk_remote
	    *remote; /* for a process of another node, which has no segment; NULL: of this node */
	struct hk_upload upload;
	uint64_t refused_ns; /* monotonic: when its segment was found and not attached; 0: never */
	bool foreign;	     /* another pid namespace: its pid means nothing here */
	uint64_t pid_namespace; /* known if it had a segment */
	bool exited;		/* nothing more will be written */
	bool noticed;		/* a parent told how it ended */
	bool changed;		/* state differs from the newest frame in the file */
	uint64_t saved_ns;	/* monotonic: when it was last put there */
	uint32_t kernels_named; /* up to this number kernels have their names, or get none */
	/* Its chunk file once that is closed. */
	uint64_t stored_bytes; /* where it ends */
	uint64_t held_bytes;   /* that it takes */
	uint64_t file_records; /* that it was given, there or known to be given up */
	bool oldest_known;     /* the next one is */
	uint64_t oldest_ns; /* job clock: end of its oldest chunk, UINT64_MAX: none; retention.h */
	uint64_t captured;  /* chunks up to this number are not held for an open trigger */
};

#endif
