/* job.h: the job a command is about: from a directory, or from the running collector.
 *
 * A job is named by id, by unique prefix or by directory; without a name it is ./hook-last, else the newest job of the
 * collector. Errors are told on stderr in one line, with the fix, so that every command says the same.
 */
#ifndef HK_JOB_H
#define HK_JOB_H

#include <limits.h>
#include <stdbool.h>

#include "wire/request.h"

struct hk_job {
	Hk__Snapshot *snapshot; /* never NULL after a successful open; its `job` is set */
	char directory[PATH_MAX]; /* of the job's files */
	bool live;    /* the snapshot came from a collector that still follows the job */
	bool damaged; /* something could not be read; the command shows the rest and leaves with HK_EXIT_FAILED */
};

/* Loads the job called NAME (NULL: the default). HK_EXIT_DONE, or another exit code after a line on stderr. Close with
 * hk_job_close. */
int hk_job_open(const char *name, struct hk_job *ret_job);
void hk_job_close(struct hk_job *job);

/* URL of the collector: --collector, HOOK_COLLECTOR, configuration, else the run directory's socket. Static memory. */
const char *hk_job_collector(void);

/* One question to the collector, with its version filled in. HK_EXIT_DONE, or another exit code after a line on stderr.
 * The answer is freed with hk__response__free_unpacked. */
int hk_job_ask(Hk__Request *request, Hk__Response **ret_response);

#endif
