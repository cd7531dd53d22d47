#include "collector/spool/drain.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/arrival/arrivals.h"
#include "collector/job/disk_reserve.h"
#include "collector/memory/ledger.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/spool/retention.h"
#include "collector/spool/spool.h"
#include "hooks/hook.h"

#define SEAL_BYTES (3u << 19) /* about 64 Ki records */
#define BUSY_SHARE 16u	      /* 1/16 of the pool between two passes: passes must come often */
#define SEAL_AGE_NS 1000000000u
/* Most runs per pass: a process that writes faster than the collector reads must not block the
 * others. */
#define RUNS_MAX 8192u
#define RETRY_NS 250000000u	 /* pause after records could not be stored */
#define PATIENCE_NS 10000000000u /* longest wait of an exited process's records for room */

/* Results of one walk over the thread slots. */
struct survey {
	uint64_t pending_bytes;
	uint64_t lost;
	uint64_t horizon_ticks; /* no later release takes effect before this time */
};

static bool releases(struct hk_process *process, uint32_t site)
{
	const struct hk_site_info *info = hk_reader_site(process->segment->reader, site);
	return !info || info->meaning == HK_MEANING_FREE || info->meaning == HK_MEANING_REALLOC ||
	       info->meaning == HK_MEANING_UNMAP || info->meaning == HK_MEANING_REMAP;
}

static void survey_open_calls(struct hk_process *process, const struct hk_thread_copy *thread,
			      struct survey *survey)
{
	for (uint32_t i = 0; i < thread->open_count; i++) {
		/* A call with unknown inner calls is no release. */
		if (thread->open[i].start_ticks < survey->horizon_ticks &&
		    releases(process, thread->open[i].site)) {
			survey->horizon_ticks = thread->open[i].start_ticks;
		}
	}
}

static int survey_threads(struct hk_process *process, uint64_t now_ticks, struct survey *survey)
{
	struct hk_thread_copy thread;
	uint64_t cursor = 0;
	int r;
	*survey = (struct survey){.horizon_ticks = now_ticks,
				  .lost = process->segment->status.records_untracked};
	while ((r = hk_reader_next_thread(process->segment->reader, &cursor, &thread)) > 0) {
		for (uint32_t i = 0; i < HK_STREAMS; i++) {
			survey->pending_bytes += thread.pending_bytes[i];
			survey->lost += thread.lost[i];
		}
		survey_open_calls(process, &thread, survey);
	}
	return r;
}

/* Puts the next run of a chain into the spool. Returns 1, or 0 if there is none, or -errno. A later
 * pass reads again what the spool did not accept. */
static int read_run(struct hk_process *process, const struct hk_thread_copy *thread,
		    uint32_t stream, uint64_t lost, uint64_t limit_bytes)
{
	struct hk_run run;
	size_t taken = 0;
	uint64_t used = hk_spool_bytes(process->segment->spool);
	if (hk_reader_next_run(process->segment->reader, thread->slot, stream, &run) <= 0) {
		return 0;
	}
	int r = hk_spool_put(process->segment->spool, &run, lost,
			     limit_bytes > used ? limit_bytes - used : 0, &taken);
	if (r < 0) {
		hk_reader_put_back(process->segment->reader, &run, run.word_count - taken);
	}
	return r < 0 ? r : 1;
}

/* Puts every committed run of every chain into the spool. Sets *RET_ALL to whether all chains were
 * read to their ends. */
static int read_runs(struct hk_process *process, const struct survey *survey, uint64_t limit_bytes,
		     bool *ret_all)
{
	struct hk_thread_copy thread;
	uint64_t cursor = 0;
	uint32_t runs = 0;
	int r;
	*ret_all = false;
	while ((r = hk_reader_next_thread(process->segment->reader, &cursor, &thread)) > 0) {
		for (uint32_t stream = 0; stream < HK_STREAMS; stream++) {
			int more = 1;
			while (runs < RUNS_MAX && more > 0) {
				more =
				    read_run(process, &thread, stream, survey->lost, limit_bytes);
				if (more < 0) {
					return more;
				}
				runs += (uint32_t)more;
			}
		}
	}
	*ret_all = runs < RUNS_MAX;
	return r;
}

/* Notes why records are not stored, for readers of the job, and logs it once. A full disk stops all
 * processes of the job until there is room again. */
static void note_store_error(struct hk_process *process, int error)
{
	struct hk_job *job = process->job;
	if (hk_reserve_is_full(error) && job->full_error == 0) {
		job->full_error = error;
	}
	const char *reason = error == -ENOBUFS ? "what --keep allows is used up"
			     : error == -EFBIG ? "ulimit -f allows no larger file"
					       : strerror(-error);
	if (strcmp(job->state->store_error, reason) != 0) {
		hk_warning("records not stored job=%s error=%s", job->state->id, reason);
		hk_field_set_string(&job->state->store_error, reason);
		job->changed = true;
	}
}

/* Returns whether most of the process's pages are used. */
static bool is_short(const struct hk_process *process)
{
	uint64_t used, cap;
	hk_reader_pool(process->segment->reader, &used, &cap);
	return used > cap - cap / 4;
}

/* Returns whether records that could not be stored for ERROR are given up. Until then they wait in
 * the segment. Records of a live process wait until its pages run short: later records of memory
 * calls can only be read behind them. Records of a process that is gone wait for some seconds, but
 * not if a client waits for the end of the job. */
static bool give_up(struct hk_process *process, int error)
{
	uint64_t now = hk_clock_monotonic_ns();
	note_store_error(process, error);
	process->segment->retry_ns = now + RETRY_NS;
	if (process->segment->stuck_ns == 0) {
		process->segment->stuck_ns = now;
	}
	if (!process->exited) {
		return is_short(process);
	}
	return error == -ENOBUFS || error == -EFBIG || process->job->close_requested ||
	       now - process->segment->stuck_ns >= PATIENCE_NS;
}

/* Seals the committed records, or the part that is read at once. Sets *RET_ALL to whether that was
 * all. */
static int seal_some(struct hk_process *process, uint64_t limit_bytes, bool *ret_all)
{
	struct survey survey;
	/* The order is: clock, open calls, records. A release that appears in none of them begins
	 * later than this time. */
	uint64_t now_ticks = hk_clock_ticks(process->state->clock_kind == HK_CLOCK_TSC);
	uint64_t number = hk_spool_number(process->segment->spool);
	*ret_all = false;
	int r = hk_reader_refresh(process->segment->reader, &process->segment->status);
	r = r < 0 ? r : survey_threads(process, now_ticks, &survey);
	if (r < 0) {
		return r;
	}
	if (survey.lost > 0) {
		hk_arrivals_doubt(process->arrivals, HK_DOUBT_LOST); /* of records behind */
	}
	r = read_runs(process, &survey, limit_bytes, ret_all);
	hk_spool_account(process->segment->spool);
	if (hk_spool_dropped(process->segment->spool) > 0) {
		hk_arrivals_doubt(process->arrivals, HK_DOUBT_LOST);
	}
	uint64_t used = hk_spool_bytes(process->segment->spool);
	/* Records read before the segment proved damaged are kept. */
	int flushed = hk_spool_flush(process->segment->spool, survey.lost,
				     limit_bytes > used ? limit_bytes - used : 0);
	r = flushed < 0 ? flushed : r;
	/* The spool has no room for a chunk because the disk is full. */
	r = r == -ENOBUFS && process->job->full_error != 0 ? process->job->full_error : r;
	if (r == 0) {
		process->segment->stuck_ns = 0;
	} else if (r != -ESTALE && give_up(process, r)) {
		hk_spool_drop(process->segment->spool, survey.lost);
		r = 0;
	}
	if (hk_spool_number(process->segment->spool) != number) {
		hk_reader_note(process->segment->reader, hk_spool_number(process->segment->spool));
	}
	if (r == 0) {
		hk_reader_release(process->segment->reader);
	}
	if (r == 0 && *ret_all) {
		hk_ledger_advance(process->segment->ledger, survey.horizon_ticks);
	}
	return r;
}

int hk_drain_seal(struct hk_collector *collector, struct hk_process *process)
{
	bool all = false;
	uint64_t before = hk_spool_records(process->segment->spool);
	uint64_t limit =
	    hk_spool_bytes(process->segment->spool) + hk_retention_room(collector, process->job);
	int r;
	do {
		r = seal_some(process, limit, &all);
	} while (r == 0 && process->exited && !all);
	if (all && process->exited) {
		hk_arrivals_end(process->arrivals);
	}
	uint64_t after = hk_spool_records(process->segment->spool);
	collector->drained_records += after > before ? after - before : 0;
	process->job->grown |= after > before;
	process->segment->pending_since_ns = 0;
	process->segment->pending_bytes = 0;
	return r;
}

/* Applies the events that wait in the ledger though no record is left to read. They waited for an
 * open release, or since a restart. */
static int settle(struct hk_process *process)
{
	struct survey survey, after;
	uint64_t now_ticks = hk_clock_ticks(process->state->clock_kind == HK_CLOCK_TSC);
	int r = hk_reader_refresh(process->segment->reader, &process->segment->status);
	r = r < 0 ? r : survey_threads(process, now_ticks, &survey);
	/* A release that the first survey did not see open, and that began before it, has left a
	 * record by the second one. */
	r = r < 0 ? r : survey_threads(process, 0, &after);
	if (r == 0 && after.pending_bytes == 0) {
		hk_ledger_advance(process->segment->ledger, survey.horizon_ticks);
	}
	return r;
}

int hk_drain_pass(struct hk_collector *collector, struct hk_process *process, uint64_t now_ns)
{
	struct survey survey;
	uint64_t used, cap;
	int r = hk_reader_refresh(process->segment->reader, &process->segment->status);
	r = r < 0 ? r : survey_threads(process, 0, &survey);
	if (r < 0) {
		return r;
	}
	bool waits = process->segment->stuck_ns != 0;
	if (survey.pending_bytes == 0 && !waits) {
		return hk_ledger_waits(process->segment->ledger) ? settle(process) : 0;
	}
	hk_reader_pool(process->segment->reader, &used, &cap);
	bool busy = survey.pending_bytes > process->segment->pending_bytes + cap / BUSY_SHARE ||
		    used > cap / 8;
	process->segment->pending_bytes = survey.pending_bytes;
	if (process->segment->pending_since_ns == 0) {
		process->segment->pending_since_ns = now_ns;
	}
	bool due = survey.pending_bytes >= SEAL_BYTES || used > cap / 4 ||
		   now_ns - process->segment->pending_since_ns >= SEAL_AGE_NS;
	if (waits ? now_ns >= process->segment->retry_ns || is_short(process) : due) {
		r = hk_drain_seal(collector, process);
	}
	return r < 0 ? r : busy;
}
