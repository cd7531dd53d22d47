/* outbox.h: what a leaf still has to send to its root: jobs, their processes, the numbers of their
 * chunks.
 *
 * The files of the job directory hold the data; the outbox holds how far the root has it. A job
 * stays until the root has all of it, also after it was closed and the collector has freed its
 * processes. Its link in the run directory is for the next collector. One thread.
 */
#ifndef HK_COLLECTOR_LINK_OUTBOX_H
#define HK_COLLECTOR_LINK_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rundir.h"
#include "chunk/read/file.h"
#include "collector/link/leaf_arrivals.h"
#include "collector/model/process.h"
#include "collector/uplink/uplink.h"

struct hk_collector;
struct hk_job;

/* Prefixes of the links of closed jobs, unsent and sent completely. */
#define HK_OUTBOX_LINK HK_RUNDIR_UNSENT
#define HK_OUTBOX_DONE HK_RUNDIR_SENT

struct hk_outbox_job;

struct hk_outbox_process {
	uint8_t uid[HK_UID_BYTES];
	UT_hash_handle hh;		       /* hk_outbox::processes */
	struct hk_outbox_process *prev, *next; /* hk_outbox_job::processes */
	struct hk_outbox_job *job;
	Hk__Process *state;	  /* of a closed job, while it is loaded: in `loaded`; else NULL */
	Hk__Process *acked_state; /* the values that the root has; NULL: none */
	Hk__Process *pending_delta; /* the change of them that it may have; wire/change.h */
	bool known;		    /* the root has said how far it has this process */
	bool unsent;		    /* there are values the root has not been sent */
	bool sending;		    /* or that are on their way */
	unsigned chunks_sending;
	uint64_t acknowledged, sent;	 /* chunk numbers */
	uint64_t released;		 /* chunks up to here were given back to the file system */
	bool gap;			 /* numbers are missing before `sent` */
	uint64_t written_bytes;		 /* of its chunk file, at the last look */
	uint64_t kept_bytes;		 /* where the acknowledged part ends */
	uint32_t files;			 /* hk_spool_files at the last look */
	uint64_t hold_ns;		 /* monotonic: nothing more before this */
	struct hk_chunk_walk walk;	 /* behind chunk `sent`; without a descriptor */
	uint64_t ends[HK_UPLINK_CHUNKS]; /* of the last chunks sent, by number */
};

struct hk_outbox_job {
	struct hk_outbox_job *prev, *next;
	struct hk_outbox_process *processes;
	struct hk_job *job;	  /* open; NULL: closed */
	Hk__Job *state;		  /* of a closed one: owned, but for its processes all there is */
	Hk__Snapshot *loaded;	  /* of a closed one, while its last values are being sent */
	bool announced;		  /* told to the root on this connection */
	bool complete_sending;	  /* told that this is all; not yet answered */
	int refused;		  /* error of the root's that the log knows of */
	bool complete;		  /* the root has all of it */
	bool unnoted;		  /* closed, and the run directory does not say what it is now */
	uint32_t control_changes; /* of the root's, that are in force here */
	uint64_t complete_ns;	  /* monotonic: since when */
	struct hk_leaf_arrivals arrivals; /* that the next report sends */
};

struct hk_outbox {
	struct hk_outbox_job *jobs; /* in the order in which closed ones are reported */
	struct hk_outbox_process *processes;
};

/* Loads the closed jobs that an earlier collector left unsent. */
void hk_outbox_restore(struct hk_outbox *outbox, const struct hk_collector *collector);
/* Notes every closed job in the run directory again, for hk_outbox_restore of the next collector.
 */
void hk_outbox_link_all(const struct hk_outbox *outbox, const struct hk_collector *collector);
void hk_outbox_fini(struct hk_outbox *outbox);

/* Updates the outbox from the collector's open jobs. Returns true if a process or a job is new or
 * has ended. */
bool hk_outbox_update(struct hk_outbox *outbox, struct hk_collector *collector);

/* JOB is about to be closed: keeps what is still to be sent, without its processes. */
void hk_outbox_close(struct hk_outbox *outbox, const struct hk_collector *collector,
		     struct hk_job *job);

/* For a new connection: forgets what was under way and what the root has. */
void hk_outbox_reset(struct hk_outbox *outbox);

/* Marks the content of a failed report as unsent. */
void hk_outbox_unsend(struct hk_outbox *outbox);

/* Makes the change of PROCESS, to STATE, for the next report. A change that was sent without an
 * answer comes first. Returns 1 with the change in `pending_delta`, 0 if there is none, or -ENOMEM.
 */
int hk_outbox_make_delta(struct hk_outbox_process *process, const Hk__Process *state);
/* The root has what was on its way. */
void hk_outbox_acknowledge_state(struct hk_outbox_process *process);
/* Forgets what the root has of PROCESS: the next report has all of it again. */
void hk_outbox_forget(struct hk_outbox_process *process);

struct hk_outbox_process *hk_outbox_find(const struct hk_outbox *outbox, const uint8_t *uid);
/* Returns the newest values of PROCESS of an open job, or of a closed one that is loaded, or NULL.
 */
Hk__Process *hk_outbox_values(const struct hk_collector *collector,
			      const struct hk_outbox_process *process);

/* The message of a job. */
Hk__Job *hk_outbox_state(const struct hk_outbox_job *job);
/* The root calls the job ID; kept where readers look for it. */
void hk_outbox_name(struct hk_outbox_job *job, const char *id);
/* Loads the last values of a closed job's processes. Returns 0 or -errno. */
int hk_outbox_load(struct hk_outbox_job *job);
void hk_outbox_unload(struct hk_outbox_job *job);
/* The root does not take the closed JOB: all others come first. */
void hk_outbox_postpone(struct hk_outbox *outbox, struct hk_outbox_job *job);

/* The file of its chunks. -ENAMETOOLONG. */
int hk_outbox_chunk_path(const struct hk_outbox_process *process, char path[PATH_MAX]);
/* Whether the file has chunks behind those that were sent. */
bool hk_outbox_has_chunk(const struct hk_outbox_process *process);
/* Reads the next chunk of PROCESS that was not sent, or its tombstone, into BUFFER. Returns 1 with
 * *RET_SIZE bytes, which then count as sent, 0 if there is no such chunk, or -errno of reading. */
int hk_outbox_chunk(struct hk_outbox_process *process, struct hk_chunk_buffer *buffer,
		    size_t *ret_size);
/* A new connection's root has all chunks up to LAST. */
void hk_outbox_begin(struct hk_outbox_process *process, uint64_t last);
/* The root has all chunks up to LAST by now. */
void hk_outbox_acknowledge(const struct hk_collector *collector, struct hk_outbox_process *process,
			   uint64_t last);
/* Chunks behind the last acknowledged one are sent again. */
void hk_outbox_rewind(struct hk_outbox_process *process);

/* Returns whether the root has all of a closed job. */
bool hk_outbox_all_sent(const struct hk_outbox_job *job);

/* The root has all of a closed job. */
void hk_outbox_complete(const struct hk_collector *collector, struct hk_outbox_job *job,
			uint64_t now_ns);
/* Removes a complete job and its processes from the outbox. The caller handles its directory. */
void hk_outbox_remove(struct hk_outbox *outbox, const struct hk_collector *collector,
		      struct hk_outbox_job *job);

/* Gives back what the root has of the chunks of running processes. */
void hk_outbox_release(struct hk_outbox *outbox, struct hk_collector *collector);

/* Records given up here before the root had them. */
uint64_t hk_outbox_evicted(const struct hk_outbox *outbox, const struct hk_collector *collector);
uint64_t hk_outbox_bytes(const struct hk_outbox *outbox); /* that wait to be sent */

#endif
