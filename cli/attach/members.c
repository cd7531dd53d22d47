#include "cli/attach/members.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/attach/target.h"
#include "cli/command.h"
#include "cli/job/job_open.h"

static int out_of_memory(void)
{
	hk_error("out of memory");
	return HK_EXIT_FAILED;
}

/* Returns whether PROCESS lives on this node. */
static bool lives(const Hk__Process *process)
{
	char why[HK_ATTACH_WHY_BYTES];
	struct hk_target target;

	if (process->pid == 0 || process->pid > INT_MAX ||
	    hk_target_examine((pid_t)process->pid, &target, why) < 0) {
		return false;
	}
	bool same = target.start_ticks == process->pid_start;
	hk_target_free(&target);
	return same;
}

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (pids[i] == pid) {
			return true;
		}
	}
	return false;
}

static int list_job(const char *word, pid_t **ret_pids, size_t *ret_count)
{
	struct hk_job job;
	int code = hk_job_open(word, &job);

	if (code != HK_EXIT_DONE) {
		return code;
	}
	const Hk__Snapshot *snapshot = job.snapshot;
	pid_t *pids = calloc(snapshot->n_processes + 1, sizeof(*pids));
	size_t count = 0;
	for (size_t i = 0; pids && i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (!has(pids, count, (pid_t)process->pid) && lives(process)) {
			pids[count++] = (pid_t)process->pid;
		}
	}
	hk_job_close(&job);
	if (!pids) {
		return out_of_memory();
	}
	if (count == 0) {
		hk_error("no process of job %s runs here", word);
		free(pids);
		return HK_EXIT_FAILED;
	}
	*ret_pids = pids;
	*ret_count = count;
	return HK_EXIT_DONE;
}

int hk_members_list(const char *word, pid_t **ret_pids, size_t *ret_count)
{
	if (word[strspn(word, "0123456789")] || !*word) {
		return list_job(word, ret_pids, ret_count);
	}
	errno = 0;
	unsigned long pid = strtoul(word, NULL, 10);
	if (errno || pid == 0 || pid > INT_MAX) {
		hk_error("there is no process %s", word);
		return HK_EXIT_ABSENT;
	}
	pid_t *pids = malloc(sizeof(*pids));
	if (!pids) {
		return out_of_memory();
	}
	pids[0] = (pid_t)pid;
	*ret_pids = pids;
	*ret_count = 1;
	return HK_EXIT_DONE;
}
