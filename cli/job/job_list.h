/* job_list.h: the jobs there are, each once: those of running collectors and those in directories.
 * Main thread only. */
#ifndef HK_CLI_JOB_JOB_LIST_H
#define HK_CLI_JOB_JOB_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_JOB_LIST_MAX 4096u

struct hk_job_entry {
	char *id, *state, *command, *directory; /* state: "running", "open", "exit 0", ... */
	char *user; /* on a root: user whose token brought the job; "": no user */
	uint64_t start_unix_ns, duration_ns;
	int32_t world_size;
	uint32_t triggers; /* that have fired */
	bool live;
};

struct hk_job_list {
	struct hk_job_entry entries[HK_JOB_LIST_MAX];
	size_t count;
};

/* Returns an empty list, or NULL without memory. */
struct hk_job_list *hk_job_list_new(void);
void hk_job_list_free(struct hk_job_list *list);

/* Adds the jobs of the running collectors. Returns an exit code: a missing collector is an error
 * only for --collector, because there may be jobs on disk. */
int hk_job_list_add_collectors(struct hk_job_list *list);

/* Adds the jobs in the directory STORE whose names begin with PREFIX. */
void hk_job_list_add_store(struct hk_job_list *list, const char *store, const char *prefix);

/* Sorts by start, the oldest first. */
void hk_job_list_sort(struct hk_job_list *list);

#endif
