/* job_open.h: opens jobs: new ones, those of an earlier collector, closed ones that go on. One
 * thread.
 */
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

/* Opens a job with a directory of its own. -errno of making it. */
int hk_job_open(struct hk_collector *collector, const struct hk_job_request *request,
		struct hk_job **ret_job);

/* Opens again every job that an earlier collector of the run directory left open. What cannot be
 * read now is tried again for some seconds: without it the rest of a job would become another one.
 */
void hk_job_restore_all(struct hk_collector *collector);

/* Makes a closed job of the store known again that is called ID. -ENOENT: there is none; -EEXIST:
 * one of that directory is known; -EINVAL: no id; -errno. */
int hk_job_recall(struct hk_collector *collector, const char *id);

/* Takes the closed JOB up again. -ENOENT: its directory was removed; -errno: it stays closed. */
int hk_job_reopen(struct hk_collector *collector, struct hk_job *job);
/* The same because something came that belongs to it: where its directory was removed a new job
 * takes its place, made as REQUEST says, which does not borrow from it. */
int hk_job_resume(struct hk_collector *collector, const struct hk_job_request *request,
		  struct hk_job **job);

#endif
