#include "collector/lifecycle/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/job/jobdir.h"
#include "collector/level/governor.h"
#include "collector/level/rules.h"
#include "collector/lifecycle/drain.h"
#include "collector/lifecycle/job.h"
#include "collector/lifecycle/retention.h"
#include "collector/lifecycle/untraced.h"
#include "collector/memory/ledger.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/process/activity.h"
#include "collector/process/ancestry.h"
#include "collector/process/process_state.h"
#include "collector/process/procfs.h"
#include "collector/spool/spool.h"

#define NOTICE_KEPT_NS 60000000000u
#define LATE_NS 60000000000u
#define REFUSED_NS 5000000000u /* several scans */

/* ---- what chunk writer and ledger ask ---- */

static int describe_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	struct hk_process *process = context;
	const struct hk_site_info *info = hk_reader_site(process->segment->reader, id);
	if (!info) {
		return -ENOENT;
	}
	*ret_site = (struct hk_chunk_site){
	    .id = id,
	    .flags = info->flags,
	    .meaning = info->meaning,
	    .key_count = info->key_count <= HK_CHUNK_KEYS ? info->key_count : HK_CHUNK_KEYS,
	    .function = info->function,
	    .library = info->library,
	    .domain = info->domain,
	    .signature = info->signature,
	};
	memcpy(ret_site->keys, info->keys, sizeof(ret_site->keys));
	return 0;
}

static int name_thread(void *context, uint64_t uid, char ret_name[HK_CHUNK_NAME_BYTES])
{
	const struct hk_process *process = context;
	return hk_state_thread_name(process->state, uid, ret_name, HK_CHUNK_NAME_BYTES);
}

static int open_spool(struct hk_process *process)
{
	double ticks_per_ns = 1.0;
	if (process->state->clock_kind == HK_CLOCK_TSC && process->state->tick_ns_q32 != 0) {
		ticks_per_ns = 0x1p32 / (double)process->state->tick_ns_q32;
	}
	const struct hk_ledger_options ledger = {ticks_per_ns, describe_site, process};
	process->segment->ledger = hk_ledger_new(&ledger);
	if (!process->segment->ledger) {
		return -ENOMEM;
	}
	const struct hk_spool_options spool = {
	    .job_directory = process->job->state->directory,
	    .uid = process->uid,
	    .reader = process->segment->reader,
	    .ledger = process->segment->ledger,
	    .names = {process, describe_site, name_thread},
	    .ticks_per_ns = ticks_per_ns,
	    .brought = *process->job->state->upstream != '\0',
	};
	return hk_spool_open(&spool, &process->segment->spool);
}

static int open_parts(struct hk_process *process, struct hk_job *job, struct hk_reader *reader)
{
	process->job = job;
	process->segment->reader = reader;
	int r = hk_field_set_string(&process->state->job, job->state->id);
	r = r < 0 ? r : hk_reader_refresh(reader, &process->segment->status);
	return r < 0 ? r : open_spool(process);
}

/* ---- the lists ---- */

static void job_add(struct hk_collector *collector, struct hk_job *job, struct hk_process *process)
{
	process->job = job;
	DL_APPEND(job->processes, process);
	job->process_count++;
	hk_family_add(collector, process);
}

/* ATTACHED: with room for what a segment needs. NULL without memory: STATE stays the caller's. */
static struct hk_process *process_new(const uint8_t *uid, Hk__Process *state, bool attached)
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

static struct hk_attachment *detach(struct hk_attachment *segment)
{
	if (segment) {
		if (segment->pidfd >= 0) {
			close(segment->pidfd);
		}
		hk_spool_free(segment->spool);
		hk_ledger_free(segment->ledger);
		hk_governor_free(segment->governor);
		hk_activity_free(segment->activity);
		hk_reader_free(segment->reader);
		free(segment);
	}
	return NULL;
}

static void process_free(struct hk_process *process)
{
	detach(process->segment);
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
	hk_family_remove(collector, process);
	DL_DELETE(process->job->processes, process);
	process->job->process_count--;
	process_free(process);
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
	struct hk_process *process = process_new(state->uid.data, state, false);
	if (!process) {
		return -ENOMEM;
	}
	char path[PATH_MAX];
	struct stat st;
	bool there = hk_jobdir_chunks(job->state->directory, process->uid, path) == 0 &&
		     stat(path, &st) == 0;
	process->stored_bytes = there ? (uint64_t)st.st_size : 0;
	process->foreign = process->remote != NULL;
	process->gone = !process->remote || state->end;
	process->job = job;
	int r = hk_window_restore(process);
	if (r < 0) {
		process->state = NULL;
		process_free(process);
		return r;
	}
	job->ranked |= state->rank_known && state->role == HK__ROLE__ROLE_MAIN;
	job_add(collector, job, process);
	return 0;
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
		process->gone = true;
	}
	process->changed = true;
}

/* ---- attaching ---- */

static int job_by_key(struct hk_collector *collector, const char *key, const char *name,
		      struct hk_job **ret_job)
{
	const struct hk_job_request request = {.key = key, .name = name};
	struct hk_job *job = hk_job_find(collector, key);
	if (job && job->state->closed &&
	    (job->state->announced || hk_clock_monotonic_ns() - job->closed_ns < LATE_NS)) {
		int r = hk_job_resume(collector, &request, &job);
		if (r < 0) {
			return r;
		}
	}
	if (job && !job->state->closed) {
		*ret_job = job;
		return 0;
	}
	return hk_job_open(collector, &request, ret_job);
}

static int job_of(struct hk_collector *collector, const struct hk_segment_identity *identity,
		  const struct hk_process *ancestor, struct hk_job **ret_job)
{
	char key[PATH_MAX];
	if (*identity->job) {
		return job_by_key(collector, identity->job, NULL, ret_job);
	}
	if (ancestor) {
		*ret_job = ancestor->job;
		return 0;
	}
	if (collector->options.job_key) {
		return job_by_key(collector, collector->options.job_key, NULL, ret_job);
	}
	const char *slash = strrchr(identity->program, '/');
	const char *name = slash ? slash + 1 : identity->program;
	snprintf(key, sizeof(key), "%s-%" PRIu32, name, identity->pid);
	return job_by_key(collector, key, name, ret_job);
}

/* What an earlier collector knew and the segment does not tell. */
static void inherit(struct hk_process *process, Hk__Process *frame)
{
	Hk__Process *state = process->state;
	state->role = frame->role;
	state->rank = frame->rank;
	state->rank_known = frame->rank_known;
	state->cpu_ns = frame->cpu_ns;
	state->rss_peak_bytes = frame->rss_peak_bytes;
	state->exit_kind = frame->exit_kind;
	state->exit_code = frame->exit_code;
	state->governor = frame->governor;
	state->n_governor = frame->n_governor;
	frame->governor = NULL;
	frame->n_governor = 0;
	hk_activity_inherit(process, frame);
}

static void watch(struct hk_collector *collector, struct hk_process *process)
{
	const struct hk_segment_identity *identity = hk_reader_identity(process->segment->reader);
	process->pid_namespace = identity->pid_namespace;
	process->foreign = identity->pid_namespace != collector->pid_namespace;
	if (!process->foreign) {
		process->segment->pidfd = (int)syscall(SYS_pidfd_open, identity->pid, 0);
		if (process->segment->pidfd >= 0) {
			fcntl(process->segment->pidfd, F_SETFD, FD_CLOEXEC);
		}
	}
	hk_process_check(process);
}

static void apply_notice(struct hk_process *process, const Hk__ExitNotice *notice)
{
	process->state->exit_kind =
	    notice->signaled ? HK__EXIT_KIND__EXIT_SIGNAL : HK__EXIT_KIND__EXIT_EXITED;
	process->state->exit_code = notice->code;
	process->noticed = true;
	process->changed = true;
}

static void apply_early_notice(struct hk_collector *collector, struct hk_process *process)
{
	uint64_t now = hk_clock_monotonic_ns();
	for (uint32_t i = 0; i < HK_NOTICES && i < collector->notice_count; i++) {
		struct hk_notice *early = &collector->notices[i];
		if (early->notice.pid == process->state->pid && !process->foreign &&
		    process->gone && now - early->at_ns < NOTICE_KEPT_NS) {
			apply_notice(process, &early->notice);
			early->notice.pid = 0;
		}
	}
}

/* The image that went on as another one ended when that began, whatever was concluded before it was
 * seen. */
static void end_by_exec(struct hk_process *process, const Hk__Anchor *next)
{
	Hk__Process *state = process->state;
	state->exit_kind = HK__EXIT_KIND__EXIT_EXEC;
	state->exit_code = 0;
	hk_state_clear_open_calls(state);
	process->gone = true;
	process->changed = true;
	if (hk_field_set_anchor(&state->end, next->ticks, next->monotonic_ns, next->realtime_ns) <
	    0) {
		hk_debug("end of pid=%" PRIu32 " not noted", state->pid);
	}
}

/* What a parent told of the process, when only an image before this one was known, is of this one.
 */
static void pass_on_notice(struct hk_process *from, struct hk_process *to)
{
	if (from->noticed) {
		from->noticed = false;
		to->noticed = true;
		to->state->exit_kind = from->state->exit_kind;
		to->state->exit_code = from->state->exit_code;
	}
}

/* Processes already known that a new one has to do with; NULL where there is none. */
struct kin {
	struct hk_process *ancestor;  /* the nearest one above it */
	struct hk_process *replaced;  /* the image of the same process before it */
	struct hk_process *successor; /* the image after it, found first */
};

static struct kin find_kin(struct hk_collector *collector,
			   const struct hk_segment_identity *identity)
{
	struct kin kin = {NULL, NULL, NULL};
	if (identity->forked) {
		kin.ancestor = hk_family_by_uid(collector, identity->parent);
	}
	kin.replaced = hk_family_image(collector, identity);
	if (!kin.ancestor && identity->pid_namespace == collector->pid_namespace) {
		kin.ancestor =
		    hk_family_ancestor(collector, identity->ppid, identity->start.monotonic_ns);
	}
	if (kin.replaced &&
	    kin.replaced->state->start->monotonic_ns > identity->start.monotonic_ns) {
		kin.successor = kin.replaced;
		kin.replaced = NULL;
	}
	return kin;
}

int hk_process_attach(struct hk_collector *collector, int dirfd, struct hk_reader *reader,
		      struct hk_process **ret_process)
{
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	struct hk_process *process;
	struct hk_job *job = NULL;
	/* Known by a frame of an earlier collector, or not at all. */
	struct hk_process *old = hk_family_by_uid(collector, identity->uid);
	if (old && old->segment) {
		return -EEXIST;
	}
	struct kin kin = find_kin(collector, identity);
	int r = 0;
	if (old) {
		job = old->job;
		r = job->state->closed ? hk_job_reopen(collector, job) : 0;
	} else {
		const struct hk_process *image = kin.successor ? kin.successor : kin.replaced;
		r = job_of(collector, identity, image ? image : kin.ancestor, &job);
	}
	Hk__Process *state = NULL;
	r = r < 0 ? r : hk_state_new(identity, &state);
	if (r < 0) {
		return r;
	}
	process = process_new(identity->uid, state, true);
	if (!process) {
		hk__process__free_unpacked(state, NULL);
		return -ENOMEM;
	}
	if (old) {
		inherit(process, old->state);
	}
	process->segment->dirfd = dirfd;
	r = open_parts(process, job, reader);
	if (r < 0) {
		process->segment->reader = NULL; /* stays the caller's */
		process_free(process);
		if (old) {
			old->refused_ns = hk_clock_monotonic_ns();
		}
		return r;
	}
	if (old) {
		hk_process_forget(collector, old);
	}
	HASH_ADD(hh, collector->processes, uid, HK_UID_BYTES, process);
	job_add(collector, job, process);
	job->alive_ns = hk_clock_monotonic_ns();
	if (kin.replaced) {
		pass_on_notice(kin.replaced, process);
		end_by_exec(kin.replaced, state->start);
	}
	if (!old) {
		hk_family_settle(collector, process, kin.ancestor, kin.replaced, identity->forked);
	}
	if (kin.successor) {
		end_by_exec(process, kin.successor->state->start);
	}
	watch(collector, process);
	apply_early_notice(collector, process);
	/* At once: an agent that waits for room must know that somebody will make some. */
	hk_reader_beat(process->segment->reader, (uint32_t)getpid(), hk_clock_monotonic_ns());
	hk_control_tell(process);
	process->changed = true;
	hk_debug("process attached pid=%" PRIu32 " job=%s rank=%d role=%d", state->pid,
		 job->state->id, state->rank, state->role);
	*ret_process = process;
	return 0;
}

bool hk_process_has_segment(const struct hk_process *process, uint64_t now_ns)
{
	return process->segment ||
	       (process->refused_ns != 0 && now_ns - process->refused_ns < REFUSED_NS);
}

/* ---- ending ---- */

/* A zombie still tells how it ended, if nobody was quicker to collect it. */
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
		/* 0 may also mean that we were not allowed to look. */
		state->exit_kind = HK__EXIT_KIND__EXIT_EXITED;
		state->exit_code = WEXITSTATUS(status);
	}
}

/* The image that wrote a segment has it mapped, whatever its program is called by now: that may
 * have been renamed, and of an emulated one the kernel says the emulator's name.
 */
static bool has_segment(const struct hk_process *process)
{
	char name[2 * HK_UID_BYTES + sizeof(HK_SEGMENT_SUFFIX)];
	for (unsigned i = 0; i < HK_UID_BYTES; i++) {
		snprintf(name + (size_t)2 * i, 3, "%02x", process->uid[i]);
	}
	memcpy(name + (size_t)2 * HK_UID_BYTES, HK_SEGMENT_SUFFIX, sizeof(HK_SEGMENT_SUFFIX));
	return hk_procfs_maps(process->state->pid, name);
}

void hk_process_check(struct hk_process *process)
{
	Hk__Process *state = process->state;
	struct hk_procfs_stat stat;
	char program[PATH_MAX];
	if (process->gone) {
		return;
	}
	if (process->foreign) {
		/* A process that has ended, or goes on as another program, has its segment no
		 * longer mapped. */
		const struct hk_attachment *segment = process->segment;
		process->gone = segment && (segment->status.state == HK_STATE_EXITED ||
					    !hk_reader_is_shared(segment->reader));
		return;
	}
	int r = hk_procfs_stat(state->pid, &stat);
	if (r == -ENOENT || r == -ESRCH ||
	    (r == 0 && state->pid_start != 0 && stat.start_ticks != state->pid_start)) {
		process->gone = true;
		return;
	}
	if (r < 0) {
		return;
	}
	if ((stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X') {
		process->gone = true;
		state->cpu_ns = stat.cpu_ns > state->cpu_ns ? stat.cpu_ns : state->cpu_ns;
		read_wait_status(process, stat.exit_code);
		return;
	}
	if (*state->program && hk_procfs_program(state->pid, program, sizeof(program)) == 0 &&
	    strcmp(program, state->program) != 0 && !has_segment(process)) {
		process->gone = true;
		state->exit_kind = HK__EXIT_KIND__EXIT_EXEC;
	}
}

static void settle_exit(struct hk_process *process)
{
	Hk__Process *state = process->state;
	if (state->exit_kind == HK__EXIT_KIND__EXIT_RUNNING ||
	    state->exit_kind == HK__EXIT_KIND__EXIT_VANISHED) {
		bool exited = process->segment->status.state == HK_STATE_EXITED;
		state->exit_kind =
		    exited ? HK__EXIT_KIND__EXIT_EXITED : HK__EXIT_KIND__EXIT_VANISHED;
		state->exit_code = exited ? process->segment->status.exit_code : 0;
	}
	/* Threads that an exit or exec cut off were inside of calls, but nobody waits for those. */
	if (state->exit_kind == HK__EXIT_KIND__EXIT_EXITED ||
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
	hk_activity_look_last(process);
	r = hk_state_refresh(collector, process, true);
	if (r < 0 && r != -ESTALE) {
		return r;
	}
	r = hk_untraced_follow(collector, process, true);
	if (r == -ENOMEM) {
		return r;
	}
	settle_exit(process);
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
	process->segment = detach(process->segment);
	hk_debug("process finalised pid=%" PRIu32 " exit=%d/%d", process->state->pid,
		 process->state->exit_kind, process->state->exit_code);
	return 0;
}

void hk_process_notice(struct hk_collector *collector, const Hk__ExitNotice *notice)
{
	struct hk_process *process = hk_family_by_pid(collector, notice->pid);
	if (process) {
		hk_process_check(process);
	}
	bool untold = process && process->gone && !process->noticed &&
		      process->state->exit_kind != HK__EXIT_KIND__EXIT_EXEC;
	if (untold && !process->job->state->closed) {
		apply_notice(process, notice);
		return;
	}
	/* Its segment may not have been seen yet. */
	struct hk_notice *early = &collector->notices[collector->notice_count++ % HK_NOTICES];
	early->notice = *notice;
	early->at_ns = hk_clock_monotonic_ns();
}
