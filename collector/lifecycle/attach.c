#include "collector/lifecycle/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/agreement/rows.h"
#include "collector/arrival/arrivals.h"
#include "collector/level/rules.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_open.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/lifecycle/process_list.h"
#include "collector/memory/group.h"
#include "collector/memory/ledger.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/activity.h"
#include "collector/process/ancestry.h"
#include "collector/process/process_state.h"
#include "collector/spool/spool.h"

#define LATE_NS 60000000000u

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
	const struct hk_rows_options rows = {describe_site, process, process->state};
	process->segment->rows = hk_rows_new(&rows);
	if (!process->segment->rows) {
		return -ENOMEM;
	}
	const struct hk_arrivals_options arrivals = {describe_site, process};
	hk_arrivals_free(process->arrivals);
	process->arrivals = hk_arrivals_new(&arrivals);
	if (!process->arrivals) {
		return -ENOMEM;
	}
	const struct hk_spool_options spool = {
	    .job_directory = process->job->state->directory,
	    .uid = process->uid,
	    .reader = process->segment->reader,
	    .ledger = process->segment->ledger,
	    .rows = process->segment->rows,
	    .arrivals = process->arrivals,
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

/* Takes from FRAME, which an earlier collector wrote, what the segment does not hold. */
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
		process->segment->memory_group = hk_memory_group_of(identity->pid);
		if (process->segment->memory_group) {
			process->state->memory_limit_bytes =
			    hk_memory_group_limit(process->segment->memory_group);
		}
	}
	hk_process_check(process);
}

/* An image replaced by exec ended at NEXT, the start of its successor. This replaces any earlier
 * conclusion about its end. */
static void end_by_exec(struct hk_process *process, const Hk__Anchor *next)
{
	Hk__Process *state = process->state;
	if (state->exit_kind == HK__EXIT_KIND__EXIT_DETACHED) {
		return; /* NEXT is the same process, traced once more */
	}
	state->exit_kind = HK__EXIT_KIND__EXIT_EXEC;
	state->exit_code = 0;
	hk_state_clear_open_calls(state);
	process->exited = true;
	process->changed = true;
	if (hk_field_set_anchor(&state->end, next->ticks, next->monotonic_ns, next->realtime_ns) <
	    0) {
		hk_debug("end of pid=%" PRIu32 " not noted", state->pid);
	}
}

/* A notice of a parent about the process may have reached the image before TO. It then belongs to
 * TO. */
static void pass_on_notice(struct hk_process *from, struct hk_process *to)
{
	if (from->noticed) {
		from->noticed = false;
		to->noticed = true;
		to->state->exit_kind = from->state->exit_kind;
		to->state->exit_code = from->state->exit_code;
	}
}

/* Known processes that are related to a new one, or NULL. */
struct relatives {
	struct hk_process *ancestor;  /* nearest known ancestor */
	struct hk_process *replaced;  /* earlier image of the same process */
	struct hk_process *successor; /* later image of the same process, if it was found first */
};

static struct relatives find_relatives(struct hk_collector *collector,
				       const struct hk_segment_identity *identity)
{
	struct relatives relatives = {NULL, NULL, NULL};
	if (identity->forked) {
		relatives.ancestor = hk_ancestry_by_uid(collector, identity->parent);
	}
	relatives.replaced = hk_ancestry_previous_image(collector, identity);
	if (!relatives.ancestor && identity->pid_namespace == collector->pid_namespace) {
		relatives.ancestor =
		    hk_ancestry_nearest(collector, identity->ppid, identity->start.monotonic_ns);
	}
	if (relatives.replaced &&
	    relatives.replaced->state->start->monotonic_ns > identity->start.monotonic_ns) {
		relatives.successor = relatives.replaced;
		relatives.replaced = NULL;
	}
	return relatives;
}

/* Ends the images that exec replaced. Role and rank of PROCESS follow from its relatives if it is
 * FRESH: an earlier collector has not concluded them. */
static void join_relatives(struct hk_collector *collector, struct hk_process *process,
			   const struct relatives *relatives,
			   const struct hk_segment_identity *identity, bool fresh)
{
	if (relatives->replaced) {
		pass_on_notice(relatives->replaced, process);
		end_by_exec(relatives->replaced, process->state->start);
	}
	if (fresh) {
		hk_ancestry_settle(collector, process, relatives->ancestor, relatives->replaced,
				   identity->forked);
	}
	if (relatives->successor) {
		end_by_exec(process, relatives->successor->state->start);
	}
}

int hk_process_attach(struct hk_collector *collector, int dirfd, struct hk_reader *reader,
		      struct hk_process **ret_process)
{
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	struct hk_process *process;
	struct hk_job *job = NULL;
	/* The process may be known from a frame of an earlier collector. */
	struct hk_process *old = hk_ancestry_by_uid(collector, identity->uid);
	if (old && old->segment) {
		return -EEXIST;
	}
	struct relatives relatives = find_relatives(collector, identity);
	int r = 0;
	if (old) {
		job = old->job;
		r = job->state->closed ? hk_job_reopen(collector, job) : 0;
	} else {
		const struct hk_process *image =
		    relatives.successor ? relatives.successor : relatives.replaced;
		r = job_of(collector, identity, image ? image : relatives.ancestor, &job);
	}
	Hk__Process *state = NULL;
	r = r < 0 ? r : hk_state_new(identity, &state);
	if (r < 0) {
		return r;
	}
	process = hk_process_new(identity->uid, state, true);
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
		process->segment->reader = NULL; /* The caller keeps its reader. */
		hk_process_free(process);
		if (old) {
			old->refused_ns = hk_clock_monotonic_ns();
		}
		return r;
	}
	if (old) {
		hk_process_forget(collector, old);
	}
	HASH_ADD(hh, collector->processes, uid, HK_UID_BYTES, process);
	hk_process_add(collector, job, process);
	job->alive_ns = hk_clock_monotonic_ns();
	join_relatives(collector, process, &relatives, identity, !old);
	watch(collector, process);
	hk_process_apply_early_notices(collector, process);
	/* The first heartbeat comes at once: an agent that waits for room must see that a collector
	 * is attached. */
	hk_reader_beat(process->segment->reader, (uint32_t)getpid(), hk_clock_monotonic_ns());
	hk_rules_publish(process);
	process->changed = true;
	hk_debug("process attached pid=%" PRIu32 " job=%s rank=%d role=%d", state->pid,
		 job->state->id, state->rank, state->role);
	*ret_process = process;
	return 0;
}
