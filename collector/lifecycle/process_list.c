#include "collector/lifecycle/process_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "collector/agreement/rows.h"
#include "collector/arrival/arrivals.h"
#include "collector/job/jobdir.h"
#include "collector/level/governor.h"
#include "collector/memory/group.h"
#include "collector/memory/ledger.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/activity.h"
#include "collector/process/ancestry.h"
#include "collector/process/loaded.h"
#include "collector/spool/retention.h"
#include "collector/spool/spool.h"

#define REFUSED_NS 5000000000u /* ns; the time of several scans */

void hk_process_add(struct hk_collector *collector, struct hk_job *job, struct hk_process *process)
{
	process->job = job;
	DL_APPEND(job->processes, process);
	job->process_count++;
	hk_ancestry_add(collector, process);
}

struct hk_process *hk_process_new(const uint8_t *uid, Hk__Process *state, bool attached)
{
	struct hk_process *process = calloc(1, sizeof(*process));
	bool remote = !attached && state->node.len > 0;
	if (!process || (attached && !(process->segment = calloc(1, sizeof(*process->segment)))) ||
	    (remote && !(process->remote = calloc(1, sizeof(*process->remote))))) {
		free(process);
		return NULL;
	}
	memcpy(process->uid, uid, HK_UID_BYTES);
	process->state = state;
	if (attached) {
		process->segment->pidfd = -1;
	}
	return process;
}

void hk_process_detach(struct hk_process *process)
{
	struct hk_attachment *segment = process->segment;
	if (!segment) {
		return;
	}
	if (segment->pidfd >= 0) {
		close(segment->pidfd);
	}
	hk_spool_free(segment->spool);
	hk_ledger_free(segment->ledger);
	hk_rows_free(segment->rows);
	hk_governor_free(segment->governor);
	hk_activity_free(segment->activity);
	hk_loaded_free(segment->loaded);
	hk_memory_group_free(segment->memory_group);
	hk_reader_free(segment->reader);
	free(segment);
	process->segment = NULL;
}

void hk_process_free(struct hk_process *process)
{
	hk_process_detach(process);
	hk_arrivals_free(process->arrivals);
	free(process->remote);
	if (process->state) {
		hk__process__free_unpacked(process->state, NULL);
	}
	free(process);
}

void hk_process_forget(struct hk_collector *collector, struct hk_process *process)
{
	if (process->segment) {
		HASH_DEL(collector->processes, process);
	}
	hk_ancestry_remove(collector, process);
	DL_DELETE(process->job->processes, process);
	process->job->process_count--;
	hk_process_free(process);
}

void hk_process_account(struct hk_process *process)
{
	Hk__Process *state = process->state;
	uint64_t given = process->file_records;
	uint64_t dropped = state->records > given ? state->records - given : 0;
	if (dropped != state->records_dropped || given != state->records_stored) {
		state->lost_records -= state->records_dropped < state->lost_records
					   ? state->records_dropped
					   : state->lost_records;
		state->lost_records += dropped;
		state->records_dropped = dropped;
		state->records_stored = given;
		process->changed = true;
	}
}

int hk_process_restore(struct hk_collector *collector, struct hk_job *job, Hk__Process *state)
{
	if (job->process_count >= HK_JOB_PROCESSES_MAX) {
		return -EFBIG;
	}
	struct hk_process *process = hk_process_new(state->uid.data, state, false);
	if (!process) {
		return -ENOMEM;
	}
	char path[PATH_MAX];
	struct stat st;
	bool there = hk_jobdir_chunks(job->state->directory, process->uid, path) == 0 &&
		     stat(path, &st) == 0;
	process->stored_bytes = there ? (uint64_t)st.st_size : 0;
	process->foreign = process->remote != NULL;
	process->exited = !process->remote || state->end;
	process->job = job;
	int r = hk_retention_restore(process);
	if (r < 0) {
		process->state = NULL;
		hk_process_free(process);
		return r;
	}
	job->ranked |= state->rank_known && state->role == HK__ROLE__ROLE_MAIN;
	hk_process_add(collector, job, process);
	return 0;
}

bool hk_process_has_segment(const struct hk_process *process, uint64_t now_ns)
{
	return process->segment ||
	       (process->refused_ns != 0 && now_ns - process->refused_ns < REFUSED_NS);
}

void hk_process_vanish(struct hk_process *process, const char *note)
{
	Hk__Process *state = process->state;
	const Hk__Anchor *seen = state->seen ? state->seen : state->start;
	state->exit_kind = HK__EXIT_KIND__EXIT_VANISHED;
	if (*note && !*state->note) {
		hk_field_set_string(&state->note, note);
	}
	if (seen && hk_field_set_anchor(&state->end, seen->ticks, seen->monotonic_ns,
					seen->realtime_ns) == 0) {
		process->exited = true;
	}
	process->changed = true;
}
