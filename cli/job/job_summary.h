/* job_summary.h: reads job.json of a job directory, for lists and look-ups that need no more. For a
 * directory with one directory per node the parts are combined. No state, any thread. */
#ifndef HK_CLI_JOB_JOB_SUMMARY_H
#define HK_CLI_JOB_JOB_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct hk_job_summary {
	char *id, *command, *exit;	     /* never NULL; exit: "running", "exit 0", "signal 9" */
	uint64_t start_unix_ns, end_unix_ns; /* end 0: not closed */
	int32_t world_size;
	uint32_t triggers; /* that have fired */
	bool closed;	   /* as the job's file says; a silent node counts as closed */
};

/* Reads the summary of DIRECTORY. Returns 0, -ENOENT if there is no job.json, or -ENOMEM. Free with
 * hk_job_summary_fini. */
int hk_job_summary_read(const char *directory, struct hk_job_summary *ret_card);
void hk_job_summary_fini(struct hk_job_summary *card);

/* Returns whether PATH holds a job, or node directories of one. */
bool hk_job_summary_is_job(const char *path);

#endif
