#include "collector/lifecycle/process_exit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/lifecycle/job_room.h"
#include "collector/lifecycle/process_list.h"
#include "collector/lifecycle/untraced.h"
#include "collector/memory/group.h"
#include "collector/memory/ledger.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/activity.h"
#include "collector/process/ancestry.h"
#include "collector/process/loaded.h"
#include "collector/process/process_state.h"
#include "collector/spool/drain.h"
#include "collector/spool/spool.h"

#define NOTICE_KEPT_NS 60000000000u

/* Sets how PROCESS ended from STATUS, the wait status of its zombie. */
static void read_wait_status(struct hk_process *process, int32_t status)
{
	Hk__Process *state = process->state;
	if (state->exit_kind != HK__EXIT_KIND__EXIT_RUNNING) {
		return;
	}
	if (WIFSIGNALED(status)) {
		state->exit_kind = HK__EXIT_KIND__EXIT_SIGNAL;
		state->exit_code = WTERMSIG(status);
	} else if (status != 0 && WIFEXITED(status)) {
		/* The kernel also shows 0 to readers without permission. */
		state->exit_kind = HK__EXIT_KIND__EXIT_EXITED;
		state->exit_code = WEXITSTATUS(status);
	}
}

/* Returns whether PROCESS has its segment mapped. The name of its program would not do: it may have
 * been changed, and for an emulated program the kernel has the emulator's name. */
static bool has_segment(const struct hk_process *process)
{
	char name[2 * HK_UID_BYTES + sizeof(HK_SEGMENT_SUFFIX)];
	for (unsigned i = 0; i < HK_UID_BYTES; i++) {
		snprintf(name + (size_t)2 * i, 3, "%02x", process->uid[i]);
	}
	memcpy(name + (size_t)2 * HK_UID_BYTES, HK_SEGMENT_SUFFIX, sizeof(HK_SEGMENT_SUFFIX));
	return hk_procfs_maps(process->state->pid, name);
}

static bool is_detached(const struct hk_process *process)
{
	const struct hk_segment_status *status = &process->segment->status;
	return status->state == HK_STATE_EXITED && status->detached;
}

void hk_process_check(struct hk_process *process)
{
	Hk__Process *state = process->state;
	struct hk_procfs_stat stat;
	char program[PATH_MAX];
	if (process->exited) {
		return;
	}
	if (process->segment && is_detached(process)) {
		process->exited = true;
		return;
	}
	if (process->foreign) {
		/* A process that has ended, or has become another program by exec, no longer maps
		 * its segment. */
		const struct hk_attachment *segment = process->segment;
		process->exited = segment && (segment->status.state == HK_STATE_EXITED ||
					      !hk_reader_is_shared(segment->reader));
		return;
	}
	int r = hk_procfs_stat(state->pid, &stat);
	if (r == -ENOENT || r == -ESRCH ||
	    (r == 0 && state->pid_start != 0 && stat.start_ticks != state->pid_start)) {
		process->exited = true;
		return;
	}
	if (r < 0) {
		return;
	}
	if ((stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X') {
		process->exited = true;
		state->cpu_ns = stat.cpu_ns > state->cpu_ns ? stat.cpu_ns : state->cpu_ns;
		read_wait_status(process, stat.exit_code);
		return;
	}
	if (*state->program && hk_procfs_program(state->pid, program, sizeof(program)) == 0 &&
	    strcmp(program, state->program) != 0 && !has_segment(process)) {
		process->exited = true;
		state->exit_kind = HK__EXIT_KIND__EXIT_EXEC;
	}
}

/* Returns whether PROCESS was killed as a process of its control group was for want of memory, and
 * counts that kill as reported. The kernel counts kills by group: of processes of one group that
 * were killed together, the first ones that are found are taken for them. */
static bool ran_out_of_memory(struct hk_collector *collector, struct hk_process *process)
{
	const Hk__Process *state = process->state;
	const struct hk_memory_group *group = process->segment->memory_group;
	bool killed =
	    (state->exit_kind == HK__EXIT_KIND__EXIT_SIGNAL && state->exit_code == SIGKILL) ||
	    state->exit_kind == HK__EXIT_KIND__EXIT_VANISHED;
	if (!killed || !group || !hk_memory_group_killed(group)) {
		return false;
	}
	struct hk_process *other, *next;
	HASH_ITER (hh, collector->processes, other, next) {
		if (other->segment && hk_memory_group_same(other->segment->memory_group, group)) {
			hk_memory_group_mark_reported(other->segment->memory_group);
		}
	}
	return true;
}

static void settle_exit(struct hk_collector *collector, struct hk_process *process)
{
	Hk__Process *state = process->state;
	if (is_detached(process)) {
		/* A later image of the same process is no exec. */
		state->exit_kind = HK__EXIT_KIND__EXIT_DETACHED;
		state->exit_code = 0;
	} else if (state->exit_kind == HK__EXIT_KIND__EXIT_RUNNING ||
		   state->exit_kind == HK__EXIT_KIND__EXIT_VANISHED) {
		bool exited = process->segment->status.state == HK_STATE_EXITED;
		state->exit_kind =
		    exited ? HK__EXIT_KIND__EXIT_EXITED : HK__EXIT_KIND__EXIT_VANISHED;
		state->exit_code = exited ? process->segment->status.exit_code : 0;
	}
	if (ran_out_of_memory(collector, process)) {
		state->exit_kind = HK__EXIT_KIND__EXIT_OOM;
		state->exit_code = SIGKILL;
	}
	/* An exit or exec ended threads inside of calls. These calls are not open any more. */
	if (state->exit_kind == HK__EXIT_KIND__EXIT_EXITED ||
	    state->exit_kind == HK__EXIT_KIND__EXIT_DETACHED ||
	    state->exit_kind == HK__EXIT_KIND__EXIT_EXEC) {
		hk_state_clear_open_calls(state);
	}
}

static void remove_segment(struct hk_process *process)
{
	char name[2 * HK_UID_BYTES + sizeof(HK_SEGMENT_SUFFIX)];
	for (unsigned i = 0; i < HK_UID_BYTES; i++) {
		snprintf(name + 2 * (size_t)i, 3, "%02x", process->uid[i]);
	}
	memcpy(name + 2 * HK_UID_BYTES, HK_SEGMENT_SUFFIX, sizeof(HK_SEGMENT_SUFFIX));
	if (unlinkat(process->segment->dirfd, name, 0) < 0 && errno != ENOENT) {
		hk_warning("segment not removed name=%s error=%s", name, strerror(errno));
	}
}

int hk_process_finalise(struct hk_collector *collector, struct hk_process *process)
{
	int r = hk_drain_seal(collector, process);
	if (r < 0 && r != -ESTALE) {
		return r;
	}
	hk_ledger_advance(process->segment->ledger, UINT64_MAX);
	hk_activity_sample_last(process);
	r = hk_state_refresh(collector, process, true);
	if (r < 0 && r != -ESTALE) {
		return r;
	}
	r = hk_loaded_refresh(collector, process, true);
	if (r < 0) {
		return r;
	}
	r = hk_untraced_follow(collector, process, true);
	if (r == -ENOMEM) {
		return r;
	}
	settle_exit(collector, process);
	if (!process->state->end) {
		r = hk_state_stamp(collector, process->state, &process->state->end);
		if (r < 0) {
			return r;
		}
	}
	process->changed = true;
	if (!process->job->statistics) {
		return -EBADF;
	}
	r = hk_job_put_process(process->job, process->state);
	if (r < 0) {
		return r;
	}
	process->changed = false;
	process->upload.unsent = true;
	remove_segment(process);
	HASH_DEL(collector->processes, process);
	hk_spool_retire(process->segment->spool);
	process->stored_bytes = hk_spool_bytes(process->segment->spool);
	process->held_bytes = hk_spool_held(process->segment->spool);
	process->file_records = hk_spool_records(process->segment->spool);
	hk_process_detach(process);
	hk_debug("process finalised pid=%" PRIu32 " exit=%d/%d", process->state->pid,
		 process->state->exit_kind, process->state->exit_code);
	return 0;
}

static void apply_notice(struct hk_process *process, const Hk__ExitNotice *notice)
{
	if (process->state->exit_kind == HK__EXIT_KIND__EXIT_OOM) {
		return; /* a parent sees only the signal */
	}
	process->state->exit_kind =
	    notice->signaled ? HK__EXIT_KIND__EXIT_SIGNAL : HK__EXIT_KIND__EXIT_EXITED;
	process->state->exit_code = notice->code;
	process->noticed = true;
	process->changed = true;
}

void hk_process_apply_early_notices(struct hk_collector *collector, struct hk_process *process)
{
	uint64_t now = hk_clock_monotonic_ns();
	for (uint32_t i = 0; i < HK_NOTICES && i < collector->notice_count; i++) {
		struct hk_notice *early = &collector->notices[i];
		if (early->notice.pid == process->state->pid && !process->foreign &&
		    process->exited && now - early->at_ns < NOTICE_KEPT_NS) {
			apply_notice(process, &early->notice);
			early->notice.pid = 0;
		}
	}
}

void hk_process_notice(struct hk_collector *collector, const Hk__ExitNotice *notice)
{
	struct hk_process *process = hk_ancestry_by_pid(collector, notice->pid);
	if (process) {
		hk_process_check(process);
	}
	bool untold = process && process->exited && !process->noticed &&
		      process->state->exit_kind != HK__EXIT_KIND__EXIT_EXEC;
	if (untold && !process->job->state->closed) {
		apply_notice(process, notice);
		return;
	}
	/* The process's segment may not have been found yet, so the notice is kept. */
	struct hk_notice *early = &collector->notices[collector->notice_count++ % HK_NOTICES];
	early->notice = *notice;
	early->at_ns = hk_clock_monotonic_ns();
}
