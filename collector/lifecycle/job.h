/* job.h: jobs of a collector: opened, found, saved, closed, reopened.
 *
 * An open job has its processes in memory and its statistics file open. A closed one keeps only its
 * own message; its processes are read from its directory when somebody asks.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_H
#define HK_COLLECTOR_LIFECYCLE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/model/job.h"

struct hk_collector;
struct hk_job;

struct hk_job_request {
	const char *key;       /* as processes name it; not empty */
	const char *name;      /* NULL or empty: the key */
	const char *command;   /* NULL or empty: that of its first main process */
	const char *directory; /* where exactly; NULL or empty: a new one in the store */
	const char *user;      /* NULL or empty: nobody's in particular */
	uint32_t pid;	       /* of the command, 0: unknown */
	bool announced;
};

/* Has OBSERVER called for every job from now on; HK_COLLECTOR_OBSERVERS at most. */
void hk_job_observe(struct hk_collector *collector, hk_job_observer observer);

/* Opens a job with a directory of its own. -errno of making it. */
int hk_job_open(struct hk_collector *collector, const struct hk_job_request *request,
		struct hk_job **ret_job);

/* Opens again every job that an earlier collector of the run directory left open. What cannot be
 * read now is tried again for some seconds: without it the rest of a job would become another one.
 */
void hk_job_restore_all(struct hk_collector *collector);

/* Notes JOB, or every open job, in the run directory, for hk_job_restore_all of the next collector.
 * What fails is tried again with each save. */
void hk_job_link(const struct hk_collector *collector, struct hk_job *job);
void hk_job_link_all(const struct hk_collector *collector);

/* Whether JOB is shown to USER: all are to "". */
bool hk_job_is_for(const struct hk_job *job, const char *user);

/* The newest job of USER, or nobody's, whose processes call it KEY, open or closed; NULL. */
struct hk_job *hk_job_find_of(const struct hk_collector *collector, const char *key,
			      const char *user);
struct hk_job *hk_job_find(const struct hk_collector *collector, const char *key);

/* Of the jobs shown to USER the one whose id or key is TEXT, else the only one whose id begins with
 * it, else, for "", the newest; the newest wins. -ENOENT; -ENOTUNIQ. */
int hk_job_select(const struct hk_collector *collector, const char *text, const char *user,
		  struct hk_job **ret_job);

/* Processes that have not ended, as far as is known. */
uint32_t hk_job_live(const struct hk_job *job);

/* Whether a process on this node has not ended. */
bool hk_job_lives_here(const struct hk_job *job);

/* Whether as many mains with a rank are known as the launcher said there are. */
bool hk_job_all_ranks(const struct hk_job *job);

/* Brings the job's own message up to date from its processes. */
void hk_job_sum(struct hk_job *job);

/* Writes the processes that changed, and the job, to the statistics file; job.json if it changed.
 * The first error is returned, the rest is tried all the same; what failed is tried again next
 * time. */
int hk_job_save(struct hk_collector *collector, struct hk_job *job);
/* The same, but of other nodes' processes only those that were not saved for some seconds: to be
 * called every second or so. */
int hk_job_save_due(struct hk_collector *collector, struct hk_job *job);

/* Holds room on the disk for statistics; records stop until it can be held. */
void hk_job_hold_reserve(struct hk_job *job);

/* On a root: there is no room for a chunk, ERROR says why. None is taken until there is; readers
 * are told, and the log once, until a chunk has found room. */
void hk_job_is_full(struct hk_job *job, int error);
void hk_job_has_room(struct hk_job *job);

/* Writes STATE to the statistics file; a full disk has room for it that records could not take.
 * Errors of hk_statistics_put_process. */
int hk_job_put_process(struct hk_job *job, const Hk__Process *state);

/* SNAPSHOT borrows the job's and its processes' messages: free only its `processes` array. */
int hk_job_snapshot(struct hk_job *job, Hk__Snapshot *ret_snapshot);

/* Completes the directory: final messages, job.json, report. Needs that no process of it has a
 * segment any more. -errno: something could not be written, and the job is still open; to be called
 * again when that is due. */
int hk_job_close(struct hk_collector *collector, struct hk_job *job);
/* Whether an attempt to close JOB makes sense now: none failed within the last second. */
bool hk_job_close_is_due(const struct hk_job *job, uint64_t now_ns);

/* Forgets the closed job of DIRECTORY, if it is known. */
void hk_job_drop(struct hk_collector *collector, const char *directory);

/* Makes a closed job of the store known again that is called ID. -ENOENT: there is none; -EEXIST:
 * one of that directory is known; -EINVAL: no id; -errno. */
int hk_job_recall(struct hk_collector *collector, const char *id);

/* Takes the closed JOB up again. -ENOENT: its directory was removed; -errno: it stays closed. */
int hk_job_reopen(struct hk_collector *collector, struct hk_job *job);
/* The same because something came that belongs to it: where its directory was removed a new job
 * takes its place, made as REQUEST says, which does not borrow from it. */
int hk_job_resume(struct hk_collector *collector, const struct hk_job_request *request,
		  struct hk_job **job);

/* Frees all jobs without closing them. */
void hk_job_free_all(struct hk_collector *collector);

#endif
