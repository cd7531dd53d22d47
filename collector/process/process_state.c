#include "collector/process/process_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/memory/memory_rows.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/activity.h"
#include "collector/process/bare.h"
#include "collector/process/cells.h"
#include "collector/process/cost.h"
#include "collector/process/kernels.h"
#include "collector/process/naming.h"
#include "collector/process/stacks.h"
#include "collector/spool/spool.h"
#include "hooks/hook.h"
#include "report/model/stacks.h"

#define THREADS_KEPT_MAX 4096u

/* ---- small parts of messages ---- */

/* Makes room for one more pointer in a repeated field; grows by halves of its size. */
static int reserve(void ***list, size_t count)
{
	/* The capacity is not stored: it is the next power of two. */
	if ((count & (count - 1)) != 0 && count != 0) {
		return 0;
	}
	void **larger = realloc(*list, (count ? 2 * count : 1) * sizeof(**list));
	if (!larger) {
		return -ENOMEM;
	}
	*list = larger;
	return 0;
}

int hk_state_stamp(const struct hk_collector *collector, const Hk__Process *state,
		   Hk__Anchor **anchor)
{
	bool tsc = state->clock_kind == HK_CLOCK_TSC && collector->tsc;
	struct hk_clock_point now = hk_clock_now(tsc);
	return hk_field_set_anchor(anchor, now.ticks, now.monotonic_ns, now.realtime_ns);
}

int hk_state_new(const struct hk_segment_identity *identity, Hk__Process **ret_state)
{
	Hk__Process *state = malloc(sizeof(*state));
	if (!state) {
		return -ENOMEM;
	}
	hk__process__init(state);
	state->uid.data = malloc(HK_UID_BYTES);
	state->uid.len = HK_UID_BYTES;
	if (!state->uid.data || hk_field_set_string(&state->host, identity->host) < 0 ||
	    hk_field_set_string(&state->program, identity->program) < 0 ||
	    hk_field_set_string(&state->command, identity->command) < 0 ||
	    hk_field_set_string(&state->note, identity->note) < 0 ||
	    hk_field_set_string(&state->hooks, identity->hooks) < 0 ||
	    hk_field_set_string(&state->job_source, identity->job_source) < 0 ||
	    hk_field_set_anchor(&state->start, identity->start.ticks, identity->start.monotonic_ns,
				identity->start.realtime_ns) < 0) {
		hk__process__free_unpacked(state, NULL);
		return -ENOMEM;
	}
	memcpy(state->uid.data, identity->uid, HK_UID_BYTES);
	state->pid = identity->pid;
	state->ppid = identity->ppid;
	state->pid_start = identity->pid_start;
	state->rank = identity->rank;
	state->rank_known = identity->rank >= 0;
	state->world_size = identity->world_size;
	state->default_level = identity->default_level;
	state->budget_ppm = identity->budget_ppm;
	state->clock_kind = identity->clock_kind;
	state->tick_ns_q32 = identity->tick_ns_q32;
	state->agent = identity->default_level == HK_LEVEL_OFF ? HK__AGENT_STATE__AGENT_OFF
							       : HK__AGENT_STATE__AGENT_ON;
	*ret_state = state;
	return 0;
}

/* ---- sites ---- */

static int add_site(Hk__Process *state, const struct hk_site_info *info)
{
	int r = reserve((void ***)&state->sites, state->n_sites);
	Hk__Site *site = r < 0 ? NULL : malloc(sizeof(*site));
	if (!site) {
		return -ENOMEM;
	}
	hk__site__init(site);
	state->sites[state->n_sites++] = site;
	site->id = info->id;
	site->flags = info->flags;
	site->meaning = info->meaning;
	if (hk_field_set_string(&site->function, info->function) < 0 ||
	    hk_field_set_string(&site->library, info->library) < 0 ||
	    hk_field_set_string(&site->provider, info->provider ? info->provider : "") < 0 ||
	    hk_field_set_string(&site->domain, info->domain) < 0) {
		return -ENOMEM;
	}
	site->keys = calloc(HK_SITE_KEYS, sizeof(*site->keys));
	if (!site->keys) {
		return -ENOMEM;
	}
	site->n_keys = info->key_count <= HK_SITE_KEYS ? info->key_count : HK_SITE_KEYS;
	for (size_t i = 0; i < site->n_keys; i++) {
		site->keys[i] = info->keys[i];
	}
	return 0;
}

static int refresh_sites(struct hk_process *process)
{
	Hk__Process *state = process->state;
	/* Sites come in the order of their ids. A site that is not readable yet is read later. */
	uint32_t next = state->n_sites ? state->sites[state->n_sites - 1]->id + 1 : 0;
	for (uint32_t id = next; id < process->segment->status.sites && id < HK_SITES_MAX; id++) {
		const struct hk_site_info *info = hk_reader_site(process->segment->reader, id);
		if (info && add_site(state, info) < 0) {
			return -ENOMEM;
		}
	}
	for (size_t i = 0; i < state->n_sites; i++) {
		const struct hk_site_info *info =
		    hk_reader_site(process->segment->reader, state->sites[i]->id);
		if (info) {
			state->sites[i]->level = info->level;
			state->sites[i]->pinned = info->pinned;
		}
	}
	return 0;
}

/* ---- threads and open calls ---- */

static Hk__Thread *find_thread(const Hk__Process *state, uint64_t uid)
{
	for (size_t i = state->n_threads; i > 0; i--) {
		if (state->threads[i - 1]->uid == uid) {
			return state->threads[i - 1];
		}
	}
	return NULL;
}

int hk_state_thread_name(const Hk__Process *state, uint64_t uid, char *name, size_t size)
{
	const Hk__Thread *thread = find_thread(state, uid);
	if (!thread || !*thread->name) {
		return -ENOENT;
	}
	snprintf(name, size, "%s", thread->name);
	return 0;
}

static int note_thread(Hk__Process *state, const struct hk_thread_copy *copy)
{
	if (find_thread(state, copy->uid)) {
		return 0;
	}
	if (state->n_threads >= THREADS_KEPT_MAX) {
		/* Drops the oldest thread but the first: short-lived threads must not fill the
		 * memory. */
		hk__thread__free_unpacked(state->threads[1], NULL);
		memmove(&state->threads[1], &state->threads[2],
			(state->n_threads - 2) * sizeof(*state->threads));
		state->n_threads--;
	} else if (reserve((void ***)&state->threads, state->n_threads) < 0) {
		return -ENOMEM;
	}
	Hk__Thread *thread = malloc(sizeof(*thread));
	if (!thread) {
		return -ENOMEM;
	}
	hk__thread__init(thread);
	thread->uid = copy->uid;
	thread->tid = copy->tid;
	state->threads[state->n_threads++] = thread;
	return 0;
}

static int add_open_call(Hk__Process *state, const struct hk_thread_copy *thread, uint32_t index)
{
	int r = reserve((void ***)&state->open_calls, state->n_open_calls);
	Hk__OpenCall *call = r < 0 ? NULL : malloc(sizeof(*call));
	if (!call) {
		return -ENOMEM;
	}
	hk__open_call__init(call);
	call->thread = thread->uid;
	call->tid = thread->tid;
	call->depth = thread->open[index].depth;
	call->site = thread->open[index].site;
	call->start_ticks = thread->open[index].start_ticks;
	state->open_calls[state->n_open_calls++] = call;
	return 0;
}

void hk_state_clear_open_calls(Hk__Process *state)
{
	for (size_t i = 0; i < state->n_open_calls; i++) {
		hk__open_call__free_unpacked(state->open_calls[i], NULL);
	}
	free(state->open_calls);
	state->open_calls = NULL;
	state->n_open_calls = 0;
}

/* Reads the thread slots: their owners, open calls and losses. */
static int refresh_threads(struct hk_process *process, uint64_t *ret_fingerprint)
{
	Hk__Process *state = process->state;
	struct hk_thread_copy thread;
	uint64_t cursor = 0, lost = process->segment->status.records_untracked, memory_lost = 0;
	uint64_t fingerprint = 0, untimed = 0;
	int r;
	hk_state_clear_open_calls(state);
	while ((r = hk_reader_next_thread(process->segment->reader, &cursor, &thread)) > 0) {
		for (uint32_t i = 0; i < HK_STREAMS; i++) {
			lost += thread.lost[i];
		}
		memory_lost += thread.lost[HK_STREAM_MEMORY] + thread.lost[HK_STREAM_NESTED];
		untimed += thread.calls_untimed;
		fingerprint = fingerprint * 31 + thread.uid + thread.state;
		if (thread.uid != 0 && note_thread(state, &thread) < 0) {
			return -ENOMEM;
		}
		for (uint32_t i = 0; i < thread.open_count && thread.state == HK_SLOT_LIVE; i++) {
			fingerprint =
			    fingerprint * 31 + thread.open[i].start_ticks + thread.open[i].site;
			if (add_open_call(state, &thread, i) < 0) {
				return -ENOMEM;
			}
		}
	}
	state->lost_records = lost;
	state->calls_untimed = untimed;
	if (process->segment->ledger) {
		hk_ledger_set_lost(process->segment->ledger, memory_lost);
	}
	*ret_fingerprint = fingerprint;
	return r;
}

/* ---- coverage and counts ---- */

static int refresh_device(Hk__Process *state, struct hk_reader *reader)
{
	struct hk_device_copy from;
	if (!hk_reader_device(reader, &from)) {
		return 0;
	}
	if (!state->device_time) {
		state->device_time = malloc(sizeof(*state->device_time));
		if (!state->device_time) {
			return -ENOMEM;
		}
		hk__device_time__init(state->device_time);
	}
	Hk__DeviceTime *to = state->device_time;
	to->state = from.state;
	to->library = from.library;
	to->version = from.version;
	to->status = from.status;
	to->activities = from.activities;
	to->dropped = from.dropped;
	to->unlinked = from.unlinked;
	to->skipped = from.skipped;
	to->yields = from.yields;
	return 0;
}

static uint64_t device_fingerprint(const Hk__DeviceTime *device)
{
	return device->state + device->yields + device->activities + device->dropped +
	       device->unlinked + device->skipped;
}

static int refresh_coverage(Hk__Process *state, const struct hk_coverage *from)
{
	if (!state->coverage) {
		state->coverage = malloc(sizeof(*state->coverage));
		if (!state->coverage) {
			return -ENOMEM;
		}
		hk__coverage__init(state->coverage);
	}
	Hk__Coverage *coverage = state->coverage;
	coverage->objects = from->objects;
	coverage->objects_pending = from->objects_pending;
	coverage->slots_found = from->slots_found;
	coverage->slots_patched = from->slots_patched;
	coverage->namespaces_hidden = from->namespaces_hidden;
	coverage->hook_lines_bad = from->hook_lines_bad;
	coverage->hooks = from->hooks;
	coverage->symbols_escaped = from->symbols_escaped;
	coverage->objects_hidden = from->objects_hidden;
	size_t used = 0;
	for (uint32_t reason = 0; reason < HK_REFUSALS_MAX; reason++) {
		if (from->slots_refused[reason] == 0) {
			continue;
		}
		if (used == coverage->n_refusals) {
			int r = reserve((void ***)&coverage->refusals, used);
			Hk__Refusal *refusal = r < 0 ? NULL : malloc(sizeof(*refusal));
			if (!refusal) {
				return -ENOMEM;
			}
			hk__refusal__init(refusal);
			coverage->refusals[coverage->n_refusals++] = refusal;
		}
		coverage->refusals[used]->reason = reason;
		coverage->refusals[used++]->slots = from->slots_refused[reason];
	}
	/* A refused slot may have been patched since. */
	while (coverage->n_refusals > used) {
		hk__refusal__free_unpacked(coverage->refusals[--coverage->n_refusals], NULL);
	}
	return 0;
}

static int refresh_counts(struct hk_process *process)
{
	Hk__Process *state = process->state;
	state->calls_untracked = process->segment->status.calls_untracked;
	if (process->segment->spool) {
		uint64_t stored = hk_spool_records(process->segment->spool);
		state->records_dropped = hk_spool_dropped(process->segment->spool);
		state->records = stored + state->records_dropped;
		state->records_stored = stored;
		state->records_shed = hk_spool_evicted_records(process->segment->spool);
		state->records_elsewhere = hk_spool_elsewhere_records(process->segment->spool);
		state->last_chunk = hk_spool_number(process->segment->spool);
		state->lost_records += state->records_dropped;
	}
	int r = refresh_coverage(state, &process->segment->status.coverage);
	r = r < 0 ? r : refresh_device(state, process->segment->reader);
	/* Before the objects that kernels name, so that those are all there. */
	r = r < 0 ? r : hk_kernels_refresh(state, process->segment->reader);
	r = r < 0 ? r : hk_stacks_refresh(state, process->segment->reader);
	state->stacks_refused = process->segment->status.stacks_refused;
	state->python = process->segment->status.python;
	r = r < 0 ? r : hk_activity_refresh(process);
	return r < 0 || !process->segment->ledger
		   ? r
		   : hk_memory_refresh(state, process->segment->ledger);
}

int hk_state_refresh(const struct hk_collector *collector, struct hk_process *process, bool force)
{
	Hk__Process *state = process->state;
	struct hk_cells cells = {0};
	uint64_t fingerprint = 0;
	int r = hk_reader_refresh(process->segment->reader, &process->segment->status);
	if (r == 0) {
		r = refresh_threads(process, &fingerprint);
	}
	if (r == 0) {
		r = hk_bare_refresh(state, process->segment->reader, &process->segment->status,
				    &fingerprint);
	}
	if (r == 0) {
		r = hk_cells_copy(process->segment->reader, &cells);
	}
	/* The counts are kept even of a segment that proves damaged. */
	int counts = refresh_counts(process);
	r = r < 0 ? r : counts;
	r = r < 0 ? r : hk_spool_steps(process->segment->spool, &state->step_times);
	fingerprint += cells.fingerprint + state->records + state->lost_records +
		       state->records_shed + state->records_elsewhere +
		       process->segment->status.sites + process->segment->status.coverage.scans +
		       state->stacks_refused + hk_stacks_frames(state) + state->n_kernels +
		       (state->device_time ? device_fingerprint(state->device_time) : 0);
	if (r == 0 && (force || fingerprint != process->segment->fingerprint)) {
		r = refresh_sites(process);
		r = r < 0 || !collector->naming ? r : hk_naming_add(collector->naming, process);
		r = r < 0 ? r : hk_cells_merge(&cells, process->segment->reader, state);
		/* The cost never falls: time spent at a higher level stays. */
		uint64_t cost = hk_cost_total_ns(process);
		state->tracing_cost_ns =
		    cost > state->tracing_cost_ns ? cost : state->tracing_cost_ns;
		process->segment->fingerprint = fingerprint;
		process->changed = true;
	}
	hk_cells_fini(&cells);
	if (process->segment->status.state == HK_STATE_EXITED && r == 0) {
		/* The process's last values of itself are later than any sample. */
		const struct hk_segment_status *status = &process->segment->status;
		state->cpu_ns =
		    status->end_cpu_ns > state->cpu_ns ? status->end_cpu_ns : state->cpu_ns;
		state->rss_peak_bytes = status->end_rss_peak_bytes > state->rss_peak_bytes
					    ? status->end_rss_peak_bytes
					    : state->rss_peak_bytes;
		r = hk_field_set_anchor(&state->end, process->segment->status.end.ticks,
					process->segment->status.end.monotonic_ns,
					process->segment->status.end.realtime_ns);
	}
	return r < 0 ? r : hk_state_stamp(collector, state, &state->seen);
}

void hk_state_usage(struct hk_process *process)
{
	Hk__Process *state = process->state;
	struct hk_procfs_stat stat;
	uint64_t rss;
	char name[32];
	if (process->foreign || hk_procfs_stat(state->pid, &stat) < 0 ||
	    stat.start_ticks != state->pid_start) {
		return;
	}
	state->cpu_ns = stat.cpu_ns > state->cpu_ns ? stat.cpu_ns : state->cpu_ns;
	if (hk_procfs_rss_peak(state->pid, &rss) == 0 && rss > state->rss_peak_bytes) {
		state->rss_peak_bytes = rss;
	}
	/* Thread names rarely change after the first moments: they are read often at first, then at
	 * powers of two. */
	process->segment->refreshes++;
	bool look = (process->segment->refreshes & (process->segment->refreshes - 1)) == 0;
	for (size_t i = 0; i < state->n_threads; i++) {
		Hk__Thread *thread = state->threads[i];
		if ((look || !*thread->name) &&
		    hk_procfs_thread_name(state->pid, thread->tid, name, sizeof(name)) == 0) {
			hk_field_set_string(&thread->name, name);
		}
	}
}
