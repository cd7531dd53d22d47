/* job.h: one job of the collector, open or closed, and the events of its end.
 *
 * A job owns its processes and its statistics file. lifecycle/ opens, saves and closes it. One
 * thread uses it.
 */
#ifndef HK_COLLECTOR_MODEL_JOB_H
#define HK_COLLECTOR_MODEL_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_JOB_PROCESSES_MAX 65536u
#define HK_NODE_ID_BYTES 16u /* of a node of a job: Hk__Node.id */

struct hk_account;
struct hk_collector;
struct hk_job;
struct hk_matcher;
struct hk_outbox_job;
struct hk_process;
struct hk_statistics;
struct hk_aggregate;
struct hk_triggers;

struct hk_job {
	struct hk_job *prev, *next;   /* hk_collector::jobs */
	struct hk_process *processes; /* in order of appearance */
	uint32_t process_count;
	Hk__Job *state;
	struct hk_statistics *statistics; /* NULL: closed, or its file could not be opened */
	bool announced; /* opened by request: closed by request, or when its command and each of its
			   hookcli have ended */
	bool close_requested;
	bool ranked;		 /* a main of it has said its rank */
	bool by_realtime;	 /* no clock of a node is read: its realtime clock stands for it */
	bool changed;		 /* state differs from job.json */
	bool clocks_changed;	 /* its nodes' clock maps differ from what is saved */
	int link_error;		 /* why the run directory has no link to it, 0: it has */
	int save_error;		 /* of the last save, 0: none */
	int evict_error;	 /* why old records could not be given up, 0: they could */
	int full_error;		 /* why new records are not stored now, 0: they are */
	bool intake_full;	 /* chunks of other nodes find no room, and that was told */
	uint64_t turned_away_ns; /* monotonic: when a chunk of another node last found none */
	bool grown;		 /* since the window was looked at last */
	bool reserve_held;	 /* room on the disk for statistics: disk_reserve.h */
	uint64_t opened_ns;	 /* monotonic */
	uint64_t alive_ns;	 /* monotonic: when something last lived */
	uint64_t closed_ns;	 /* monotonic */
	uint64_t names_until_ns; /* monotonic: its end waits for names; 0: it does not */
	uint64_t save_round;	 /* of the loop, in which it was saved last */
	int close_error;	 /* -errno of the last attempt to close it; 0: none, or closed */
	uint64_t close_tried_ns; /* monotonic, of that attempt */
	struct hk_outbox_job *outgoing; /* on a leaf */
	struct hk_account *account;	/* that opened it; NULL: this machine, or not known */
	struct hk_matcher *matcher;	/* of collectives; NULL: none yet, or a leaf's */
	uint64_t agreed;  /* number of the rows that were compared last: lifecycle/job_sum.c */
	uint64_t beat_ns; /* monotonic: last beat, which shows other nodes that this one lives */
	struct hk_aggregate *aggregate; /* of a closed one, for a while: metrics/walk.h */
	struct hk_triggers *triggers;	/* that watch it; NULL: none */
	uint64_t held_from_ns; /* job clock: a trigger still copies chunks that ended since; 0: none
				  does */
	uint64_t held_ns;      /* time before a trigger that it wants to copy; 0: none */
};

enum hk_job_event {
	HK_JOB_ENDING,	/* it is about to be closed, with its processes */
	HK_JOB_CLOSING, /* its directory is complete; a collector that takes over loads it again */
	HK_JOB_CLOSED,	/* no collector loads it again; its processes are still in memory */
	HK_JOB_FORGOTTEN, /* it is no longer closed: it runs again, or is about to be freed */
};

/* Called for every event of every job. Returns 0. For HK_JOB_ENDING it may return -errno: the job
 * then stays open and ends later. */
typedef int (*hk_job_observer)(struct hk_collector *collector, struct hk_job *job,
			       enum hk_job_event event);

#endif
