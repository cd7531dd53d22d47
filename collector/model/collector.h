/* collector.h: what the modules of the daemon share: one collector, its jobs, their processes.
 *
 * One thread runs everything (loop.c) apart from NNG's own threads, which only hand requests over
 * (server.c). There are no globals: every function gets what it works on. A job owns its processes
 * and its statistics file; the collector owns jobs. Processes known only from the file of an
 * earlier collector have no reader.
 */
#ifndef HK_COLLECTOR_MODEL_COLLECTOR_H
#define HK_COLLECTOR_MODEL_COLLECTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "base/rundir.h"
#include "collector/job/disk_reserve.h"
#include "collector/model/options.h"
#include "ring/reader.h"
#include "wire/request.h"
#include "wire/statistics.h"

#define HK_COLLECTOR_SEGMENTS_MAX 4096u	  /* live at one time; more wait for room */
#define HK_COLLECTOR_JOBS_MAX 256u	  /* closed ones kept in memory to be listed */
#define HK_COLLECTOR_PROCESSES_MAX 65536u /* of one job */
#define HK_UID_BYTES 16u

struct hk_account;
struct hk_governor;
struct hk_http;
struct hk_leaf;
struct hk_ledger;
struct hk_outbox_job;
struct hk_outbox_process;
struct hk_peer;
struct hk_server;
struct hk_spool;
struct hk_tally;

struct hk_process {
	uint8_t uid[HK_UID_BYTES];
	struct hk_job *job;
	struct hk_process *prev, *next; /* hk_job::processes */
	UT_hash_handle hh;		/* hk_collector::processes */
	UT_hash_handle hh_uid;		/* hk_collector::images */
	UT_hash_handle hh_pid;		/* hk_collector::pids, if it is the first of its pid */
	struct hk_process *pid_prev, *pid_next; /* of the same pid */
	Hk__Process *state; /* newest values; what snapshots and frames are made of */
	/* The rest is for processes with a segment. */
	struct hk_reader *reader; /* NULL once everything is kept elsewhere */
	struct hk_spool *spool;
	struct hk_ledger *ledger;
	uint64_t refused_ns;	   /* monotonic: when its segment was last found and could not be
				      taken up; 0: it was not */
	int dirfd;		   /* of its run directory; the collector's */
	int pidfd;		   /* -1: none */
	bool foreign;		   /* another pid namespace: its pid means nothing here */
	uint64_t pid_namespace;	   /* of a process with a segment */
	bool gone;		   /* nothing more will be written */
	bool changed;		   /* state differs from the newest frame in the file */
	uint64_t saved_ns;	   /* monotonic: when it was last put there */
	bool noticed;		   /* a parent told how it ended */
	uint64_t pending_since_ns; /* monotonic; 0: nothing pending */
	uint64_t pending_bytes;
	uint64_t usage_due_ns;
	uint64_t retry_ns;    /* monotonic: storing or finalising failed: not before this */
	uint64_t stuck_ns;    /* monotonic: since when records cannot be stored; 0: they can */
	uint64_t fingerprint; /* of what the state was made from */
	uint32_t refreshes;
	uint64_t stored_bytes; /* where its chunk file ends, once that is closed */
	uint64_t held_bytes;   /* that it takes, likewise */
	uint64_t file_records; /* that it was given, there or known to be given up, likewise */
	bool oldest_known;     /* the next one is */
	uint64_t oldest_ns; /* job clock: end of its oldest chunk, UINT64_MAX: none; retention.h */
	/* On a leaf. */
	struct hk_outbox_process *outgoing;
	bool unsent;	       /* its file has values that the root has not been sent */
	uint64_t acknowledged; /* number of the last chunk that the root has */
	/* On a root, of a process of another node; it never has a segment. */
	bool remote;
	uint64_t values_bytes;	 /* memory of its state, at most */
	uint64_t counted_bytes;	 /* the same when it was last counted exactly */
	bool tailed;		 /* the next two are known */
	uint64_t last_chunk;	 /* number of the last chunk in its file */
	uint64_t chunk_end;	 /* where that ends */
	uint64_t sites_digest;	 /* hk_sites_digest of its state; 0: to be made */
	uint64_t shed_at_source; /* records that its node gave up, by the tombstones in its file */
	struct hk_governor *governor;
	struct hk_activity *activity; /* of a main process that was looked at */
	uint32_t control_told;	      /* hk_job's control_changes that its agent was told of */
	bool ceilings_changed;	      /* and the governor's wishes that it was not */
	struct hk_segment_status status;
};

struct hk_job {
	struct hk_job *prev, *next;   /* hk_collector::jobs */
	struct hk_process *processes; /* in order of appearance */
	uint32_t process_count;
	Hk__Job *state;
	struct hk_statistics *statistics; /* NULL: closed, or its file could not be opened */
	bool announced; /* opened by request: closed by request, or when its command and
			   every hookcli of it is gone */
	bool close_requested;
	bool ranked;		 /* a main of it has said its rank */
	bool changed;		 /* state differs from job.json */
	bool clocks_changed;	 /* its nodes' clock maps differ from what is saved */
	int link_error;		 /* why the run directory has no link to it, 0: it has */
	int save_error;		 /* of the last save, 0: none */
	int shed_error;		 /* why old records could not be given up, 0: they could */
	int full_error;		 /* why new records are not stored now, 0: they are */
	bool intake_full;	 /* chunks of other nodes find no room, and that was told */
	uint64_t turned_away_ns; /* monotonic: when a chunk of another node last found none */
	bool grown;		 /* since the window was looked at last */
	struct hk_reserve reserve;
	uint64_t opened_ns;		/* monotonic */
	uint64_t alive_ns;		/* monotonic: when something last lived */
	uint64_t closed_ns;		/* monotonic */
	uint64_t save_round;		/* of the loop, in which it was saved last */
	int close_error;		/* why it could not be closed, 0: nobody tried, or it is */
	uint64_t close_tried_ns;	/* monotonic: when that was */
	struct hk_outbox_job *outgoing; /* on a leaf */
	struct hk_account *account;	/* that opened it; NULL: this machine, or not known */
	uint64_t beat_ns;	/* monotonic: when others were last shown that this node is there */
	struct hk_tally *tally; /* of a closed one, for a while: metrics/page.h */
};

/* A notice about a pid nobody has seen yet. */
struct hk_notice {
	Hk__ExitNotice notice;
	uint64_t at_ns;
};
#define HK_NOTICES 64u

struct hk_collector {
	struct hk_collector_options options;
	char run_directory[PATH_MAX];
	char store[PATH_MAX];
	char url[HK_REQUEST_URL_BYTES];
	char host[64];
	int dirfd[HK_RUNDIR_CANDIDATES]; /* run directories looked into; -1: not there; [0] is
					    locked by us */
	int lock_fd;
	int run_directory_error; /* why it cannot be made again, 0: it is there; -errno */
	int inotify_fd;
	bool tsc;
	uint64_t tick_ns_q32;
	uint64_t pid_namespace;
	uint8_t boot[16]; /* the kernel's boot id */
	uint64_t start_unix_ns;
	struct hk_job *jobs;	      /* in order of opening */
	struct hk_process *processes; /* uid -> process with a segment */
	struct hk_process *images;    /* uid -> process of an open job: ancestry.h */
	struct hk_process *pids;      /* pid -> its first process, of all in `images` */
	struct hk_server *server;
	struct hk_http *http;		      /* NULL: nobody is shown metrics */
	struct hk_leaf *leaf;		      /* NULL: there is no root above */
	struct hk_peer *peers;		      /* id -> leaf that has reported here */
	struct hk_notice notices[HK_NOTICES]; /* ring */
	uint32_t notice_count;
	uint32_t incompatible, refused; /* segments at the last scan */
	int scan_error;	     /* of reading the directories that segments lie in; 0: none */
	uint32_t unfinished; /* and those still being made */
	uint32_t waiting;    /* and those there was no room for yet */
	bool closed_any;     /* a job, since the store was looked at last */
	bool told_all;	     /* of some job all nodes have told everything: it may close */
	uint64_t drained_records;
	uint64_t moved_ns; /* monotonic: when a pass last found a process writing much */
};

#endif
