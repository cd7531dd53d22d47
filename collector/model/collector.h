/* collector.h: the one collector of the daemon: its options, its directories and its parts.
 *
 * One thread runs everything (loop.c) apart from NNG's own threads, which only hand requests over
 * (server.c). There are no globals: functions take the collector as an argument. A job owns its
 * processes and its statistics file; the collector owns jobs. Processes known only from the file of
 * an earlier collector have no reader.
 */
#ifndef HK_COLLECTOR_MODEL_COLLECTOR_H
#define HK_COLLECTOR_MODEL_COLLECTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rundir.h"
#include "collector/model/job.h"
#include "collector/model/options.h"
#include "schema/wire.pb-c.h"
#include "wire/request.h"

#define HK_COLLECTOR_SEGMENTS_MAX 4096u /* live at one time; more wait for room */
#define HK_COLLECTOR_OBSERVERS 3u
#define HK_COLLECTOR_JOBS_MAX 256u /* closed ones kept in memory to be listed */

struct hk_gather;
struct hk_feed;
struct hk_http;
struct hk_cuda_inside;
struct hk_leaf;
struct hk_naming;
struct hk_otlp;
struct hk_peer;
struct hk_policy;
struct hk_process;
struct hk_rejections;
struct hk_server;

/* An exit notice of a process that was not discovered yet. */
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
	int dirfd[HK_RUNDIR_CANDIDATES]; /* run directories to scan; -1: not there; [0] is locked by
					    this collector */
	int lock_fd;
	uint64_t stalled_due_ns; /* monotonic: next look for stalled connections */
	int run_directory_error; /* why it cannot be made again, 0: it is there; -errno */
	int inotify_fd;
	bool tsc;
	uint64_t tick_ns_q32;
	uint64_t pid_namespace;
	uint8_t boot[16]; /* the kernel's boot id */
	uint64_t start_unix_ns;
	struct hk_job *jobs;				   /* in order of opening */
	hk_job_observer observers[HK_COLLECTOR_OBSERVERS]; /* NULL behind the last */
	struct hk_process *processes;			   /* uid -> process with a segment */
	struct hk_process *images;	  /* uid -> process of an open job: ancestry.h */
	struct hk_process *pids;	  /* pid -> its first process, of all in `images` */
	struct hk_policy *policy;	  /* rights of clients; for server and http */
	struct hk_rejections *rejections; /* clients that either refused */
	struct hk_server *server;
	struct hk_http *http;		      /* NULL: metrics are not served */
	struct hk_otlp *otlp;		      /* NULL: metrics are not pushed */
	struct hk_naming *naming;	      /* NULL: frames of stacks get no names */
	struct hk_cuda_inside *cuda_inside;   /* files that were looked into */
	struct hk_gather *gather;	      /* stacks being collected; NULL: none */
	bool surveying;			      /* of processes here: stack/survey.h */
	struct hk_leaf *leaf;		      /* NULL: there is no root above */
	struct hk_feed *feed;		      /* NULL: no stream engine is read */
	struct hk_peer *peers;		      /* id -> leaf that has reported here */
	struct hk_notice notices[HK_NOTICES]; /* ring */
	uint32_t notice_count;
	uint32_t incompatible, refused; /* segments at the last scan */
	int scan_error;			/* -errno of scanning the run directories; 0: none */
	uint32_t unfinished;		/* and those still being made */
	uint32_t waiting;		/* and those there was no room for yet */
	bool closed_any;		/* a job, since the store was looked at last */
	bool some_complete;		/* some job has all data of all nodes: it may close */
	uint64_t drained_records;
	uint64_t moved_ns; /* monotonic: last pass in which a process wrote much */
};

#endif
