/* job_open.h: opens jobs: new ones, those of an earlier collector, and closed ones that continue.
 * One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_OPEN_H
#define HK_COLLECTOR_LIFECYCLE_JOB_OPEN_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_job;

struct hk_job_request {
	const char *key;       /* as processes name it; not empty */
	const char *name;      /* NULL or empty: the key */
	const char *command;   /* NULL or empty: that of its first main process */
	const char *directory; /* where exactly; NULL or empty: a new one in the store */
	const char *user;      /* NULL or empty: no user in particular */
	uint32_t pid;	       /* of the command, 0: unknown */
	bool announced;
};

/* Opens a job with a directory of its own. Returns 0, or -errno of making the directory. */
int hk_job_open(struct hk_collector *collector, const struct hk_job_request *request,
		struct hk_job **ret_job);

/* Opens every job again that an earlier collector of the run directory left open. Reading is
 * retried for some seconds: without its first part, the rest of a job would become another job. */
void hk_job_restore_all(struct hk_collector *collector);

/* Loads the closed job ID of the store into the list. Returns 0, -ENOENT if there is none, -EEXIST
 * if a job of that directory is in the list, -EINVAL if ID is no id, or another -errno. */
int hk_job_recall(struct hk_collector *collector, const char *id);
/* The same of the job in directory PATH, which goes to *RET_JOB, also with -EEXIST. */
int hk_job_recall_from(struct hk_collector *collector, const char *path, struct hk_job **ret_job);

/* Opens the closed JOB again. Returns 0, -ENOENT if its directory was removed, or another -errno;
 * JOB then stays closed. */
int hk_job_reopen(struct hk_collector *collector, struct hk_job *job);
/* The same for data that belongs to JOB. If its directory was removed, opens a new job instead, as
 * REQUEST says. REQUEST borrows nothing from JOB. */
int hk_job_resume(struct hk_collector *collector, const struct hk_job_request *request,
		  struct hk_job **job);

#endif
