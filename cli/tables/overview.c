#include "cli/tables/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/read/cursor.h"
#include "cli/tables/overview_seen.h"
#include "hooks/hook.h"
#include "report/clock/job_clock.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "timeline/source.h"

#define DOMAIN_NONE 0xffu
/* Threads whose present call is known. Another thread may take a slot; nested calls of the first
 * one then count twice for a moment. */
#define THREAD_SLOTS 1024u

struct thread {
	uint64_t uid; /* 0: unused */
	/* End of its outermost call of each domain. */
	int64_t until_ns[HK_OVERVIEW_DOMAINS_MAX];
};

/* State of the reading. */
struct reading {
	struct hk_overview *overview;
	struct hk_loader *loader;
	uint64_t stride;	/* one of so many chunks is read */
	struct thread *threads; /* array of THREAD_SLOTS */
	/* The present process: */
	struct hk_cursor *cursor;
	const struct hk_report_clock *clock;
	uint64_t tick_ns_q32;
	struct hk_overview_bin *bins;
	uint8_t *domain_of; /* by site; DOMAIN_NONE: not looked up, DOMAIN_NONE - 1: no call */
	uint32_t site_count;
	uint64_t chunk, end_ticks, lost; /* state of the walk through its file */
};
#define DOMAIN_OF_NO_CALL (DOMAIN_NONE - 1)

/* ---- bins ---- */

static size_t bin_of(const struct hk_overview *overview, int64_t ns)
{
	if (ns <= overview->start_ns) {
		return 0;
	}
	uint64_t bin = ((uint64_t)ns - (uint64_t)overview->start_ns) / overview->width_ns;
	return bin < overview->bins ? (size_t)bin : overview->bins - 1;
}

static int64_t begin_of(const struct hk_overview *overview, size_t bin)
{
	return overview->start_ns + (int64_t)(bin * overview->width_ns);
}

/* Returns the part of BIN that lies in [from_ns, to_ns). */
static uint64_t share(const struct hk_overview *overview, size_t bin, int64_t from_ns,
		      int64_t to_ns)
{
	int64_t begin = begin_of(overview, bin), end = begin + (int64_t)overview->width_ns;
	int64_t from = from_ns > begin ? from_ns : begin, to = to_ns < end ? to_ns : end;

	return to > from ? (uint64_t)(to - from) : 0;
}

static void add_busy(const struct reading *reading, uint32_t domain, int64_t from_ns, int64_t to_ns)
{
	const struct hk_overview *overview = reading->overview;
	size_t last = bin_of(overview, to_ns);

	for (size_t bin = bin_of(overview, from_ns); bin <= last; bin++) {
		reading->bins[bin].busy_ns[domain] += share(overview, bin, from_ns, to_ns);
	}
}

static void add_unknown(const struct reading *reading, int64_t from_ns, int64_t to_ns)
{
	const struct hk_overview *overview = reading->overview;
	size_t last = bin_of(overview, to_ns);

	for (size_t bin = bin_of(overview, from_ns); bin <= last; bin++) {
		reading->bins[bin].unknown +=
		    (double)share(overview, bin, from_ns, to_ns) / (double)overview->width_ns;
	}
}

/* Scales the read part of a bin up to all of it, but not beyond the bin's width: a long call is
 * known for all of its time. */
static void scale_bin(struct hk_overview_bin *bin, uint64_t width_ns)
{
	bin->unknown = bin->unknown > 1 ? 1 : bin->unknown;
	double known = 1 - bin->unknown;
	if (known > 0.999 || known < 0.001) {
		return;
	}
	bin->calls = (uint64_t)((double)bin->calls / known);
	for (size_t i = 0; i < HK_OVERVIEW_DOMAINS_MAX; i++) {
		uint64_t scaled = (uint64_t)((double)bin->busy_ns[i] / known);
		uint64_t most = bin->busy_ns[i] > width_ns ? bin->busy_ns[i] : width_ns;
		bin->busy_ns[i] = scaled < most ? scaled : most;
	}
}

static int make_room(struct reading *reading, uint32_t site)
{
	if (site < reading->site_count) {
		return 0;
	}
	uint32_t count = reading->site_count ? reading->site_count : 256;
	while (count <= site) {
		count *= 2;
	}
	uint8_t *larger = realloc(reading->domain_of, count);
	if (!larger) {
		return -ENOMEM;
	}
	memset(larger + reading->site_count, DOMAIN_NONE, count - reading->site_count);
	reading->domain_of = larger;
	reading->site_count = count;
	return 0;
}

/* Returns the domain of a record's site, DOMAIN_OF_NO_CALL if the record is no call, or -ENOMEM. */
static int domain_of(struct reading *reading, uint32_t id)
{
	int r = id < HK_CHUNK_SITES_MAX ? make_room(reading, id) : 0;

	if (r < 0 || id >= HK_CHUNK_SITES_MAX) {
		return r < 0 ? r : (int)DOMAIN_OF_NO_CALL;
	}
	if (reading->domain_of[id] == DOMAIN_NONE) {
		const struct hk_chunk_site *site = hk_cursor_site(reading->cursor, id);
		bool instant = site && (site->meaning == HK_MEANING_MARK ||
					site->meaning == HK_MEANING_COUNTER);
		r = instant ? (int)DOMAIN_OF_NO_CALL
			    : hk_overview_domain(reading->overview,
						 site ? site->domain : HK_OVERVIEW_OTHER);
		reading->domain_of[id] = r < 0 ? DOMAIN_NONE : (uint8_t)r;
	}
	return r < 0 ? r : reading->domain_of[id];
}

/* ---- records ---- */

static struct thread *thread_of(const struct reading *reading, uint64_t uid)
{
	struct thread *thread = &reading->threads[uid % THREAD_SLOTS];

	if (thread->uid != uid) {
		thread->uid = uid;
		for (size_t i = 0; i < HK_OVERVIEW_DOMAINS_MAX; i++) {
			thread->until_ns[i] = INT64_MIN;
		}
	}
	return thread;
}

static int add_record(struct reading *reading, const struct hk_record *record)
{
	int domain = hk_source_is_call(record->kind) ? domain_of(reading, record->site)
						     : (int)DOMAIN_OF_NO_CALL;

	if (domain < 0 || domain == (int)DOMAIN_OF_NO_CALL) {
		return domain < 0 ? domain : 0;
	}
	int64_t start_ns = hk_report_clock_ns(reading->clock, record->start_ticks);
	struct thread *thread = thread_of(reading, record->thread->uid);
	reading->bins[bin_of(reading->overview, start_ns)].calls++;
	if (start_ns < thread->until_ns[domain]) {
		return 0; /* inside a call of the same domain */
	}
	int64_t end_ns = hk_source_end_ns(reading->clock, reading->tick_ns_q32, record);
	thread->until_ns[domain] = end_ns;
	add_busy(reading, (uint32_t)domain, start_ns, end_ns);
	return 0;
}

static int read_records(struct reading *reading)
{
	const struct hk_record *records;
	size_t count;
	int r;

	while ((r = hk_cursor_batch(reading->cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			r = add_record(reading, &records[i]);
			if (r < 0) {
				return r;
			}
		}
		reading->overview->records += count;
	}
	if (r < 0 && r != -ENOMEM) {
		/* A file that is unreadable from here is finished. */
		reading->overview->damaged++;
		r = 0;
	}
	reading->overview->damaged += hk_cursor_stats(reading->cursor)->damaged;
	return r;
}

/* ---- chunks ---- */

static void note_lost(struct reading *reading, const struct hk_chunk_header *header, int64_t at_ns)
{
	uint64_t lost = hk_chunk_is_evicted(header) ? header->shed_records : 0;

	if (header->lost_records > reading->lost) {
		lost += header->lost_records - reading->lost;
		reading->lost = header->lost_records;
	}
	if (lost > 0) {
		reading->bins[bin_of(reading->overview, at_ns)].lost += lost;
		reading->overview->records_missing += lost;
	}
}

/* Returns whether CHUNK is read: one of each stretch, at a pseudo-random place. The place is the
 * same for all processes, since chunk sizes may alternate. */
static bool is_chosen(uint64_t chunk, uint64_t stride)
{
	uint64_t mixed = (chunk / stride + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return chunk % stride == (mixed >> 32) % stride;
}

/* Returns whether a chunk is read. Records lie in the chunk in which their calls ended: each chunk
 * covers the time since the end of the last. */
static bool wants(void *context, const struct hk_chunk_header *header)
{
	struct reading *reading = context;
	uint64_t end_ticks =
	    header->max_end_ticks > reading->end_ticks ? header->max_end_ticks : reading->end_ticks;
	int64_t from_ns = hk_report_clock_ns(reading->clock, reading->end_ticks);
	int64_t to_ns = hk_report_clock_ns(reading->clock, end_ticks);
	bool is_read = !hk_chunk_is_evicted(header) && is_chosen(reading->chunk, reading->stride);
	reading->chunk += !hk_chunk_is_evicted(header);

	note_lost(reading, header, to_ns);
	if (!hk_chunk_is_evicted(header)) {
		reading->overview->records_there +=
		    (uint64_t)header->records + header->long_records;
	}
	if (!is_read) {
		add_unknown(reading, from_ns, to_ns);
	}
	reading->end_ticks = end_ticks;
	return is_read;
}

/* Returns true for errors of hookcli itself, not of a file: continuing would hide them. */
static bool is_ours(int error)
{
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static int read_process(struct reading *reading, const Hk__Process *process, int fd)
{
	const Hk__Anchor *start = process->start;

	reading->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : UINT64_C(1) << 32;
	reading->site_count = 0;
	reading->chunk = reading->lost = 0;
	reading->end_ticks = start ? start->ticks : 0;
	memset(reading->threads, 0, THREAD_SLOTS * sizeof(*reading->threads));
	int r = hk_cursor_new_some(reading->loader, fd, wants, reading, &reading->cursor);
	if (r < 0) {
		reading->overview->damaged++;
		return is_ours(r) ? r : 0;
	}
	r = read_records(reading);
	reading->cursor = hk_cursor_free(reading->cursor);
	if (process->lost_records > reading->lost) {
		uint64_t lost = process->lost_records - reading->lost;
		int64_t at_ns = hk_report_clock_ns(reading->clock, reading->end_ticks);
		reading->bins[bin_of(reading->overview, at_ns)].lost += lost;
		reading->overview->records_missing += lost;
	}
	return r;
}

/* ---- ranks ---- */

static uint64_t divide_up(uint64_t number, uint64_t by)
{
	return number / by + (number % by > 0);
}

static bool is_main(const Hk__Process *process)
{
	return strcmp(hk_report_role_of(process), "main") == 0;
}

static struct hk_overview_rank *find_rank(const struct hk_overview *overview, int32_t rank)
{
	size_t low = 0, high = overview->rank_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (overview->ranks[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < overview->rank_count && overview->ranks[low].rank == rank
		   ? &overview->ranks[low]
		   : NULL;
}

static int by_rank(const void *a, const void *b)
{
	const struct hk_overview_rank *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Limits times to 36 years around the job's start, so that sums do not overflow. */
static int64_t bounded(int64_t ns)
{
	const int64_t most = INT64_C(1) << 60;

	return ns > most ? most : ns < -most ? -most : ns;
}

static int64_t last_ns(const Hk__Process *process, const struct hk_report_clock *clock)
{
	const Hk__Anchor *last = process->end ? process->end : process->seen;
	int64_t ns = last ? hk_report_clock_ns(clock, last->ticks) : clock->since_ns;

	return ns > clock->since_ns ? ns : clock->since_ns;
}

static int find_ranks(struct hk_overview *overview, const Hk__Snapshot *snapshot,
		      const struct hk_report_clock *clocks)
{
	size_t used = 0;

	overview->ranks = calloc(snapshot->n_processes + 1, sizeof(*overview->ranks));
	if (!overview->ranks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (is_main(process)) {
			struct hk_overview_rank *rank = &overview->ranks[overview->rank_count++];
			rank->rank = hk_report_rank_of(process);
			rank->start_ns = bounded(clocks[i].since_ns);
			rank->end_ns = bounded(last_ns(process, &clocks[i]));
		}
	}
	qsort(overview->ranks, overview->rank_count, sizeof(*overview->ranks), by_rank);
	for (size_t i = 0; i < overview->rank_count; i++) {
		struct hk_overview_rank *rank = &overview->ranks[i], *last = rank;
		if (used > 0 && overview->ranks[used - 1].rank == rank->rank) {
			last = &overview->ranks[used - 1];
			last->start_ns =
			    rank->start_ns < last->start_ns ? rank->start_ns : last->start_ns;
			last->end_ns = rank->end_ns > last->end_ns ? rank->end_ns : last->end_ns;
		} else {
			overview->ranks[used++] = *rank;
		}
	}
	overview->rank_count = used;
	return 0;
}

/* Sets the span of the bins to the life of all ranks. */
static void find_span(struct hk_overview *overview, size_t bins)
{
	int64_t start_ns = 0, end_ns = 0;

	for (size_t i = 0; i < overview->rank_count; i++) {
		const struct hk_overview_rank *rank = &overview->ranks[i];
		start_ns = i == 0 || rank->start_ns < start_ns ? rank->start_ns : start_ns;
		end_ns = i == 0 || rank->end_ns > end_ns ? rank->end_ns : end_ns;
	}
	overview->start_ns = start_ns;
	overview->bins = bins;
	uint64_t width_ns = divide_up((uint64_t)(end_ns - start_ns), bins);
	overview->width_ns = width_ns > 0 ? width_ns : 1;
}

static bool is_whole(const Hk__Snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (is_main(process) && (process->lost_records || process->records_shed ||
					 process->records_elsewhere)) {
			return false;
		}
	}
	return true;
}

static int see_ranks(const struct reading *reading, const Hk__Snapshot *snapshot,
		     const struct hk_report *report)
{
	struct hk_overview *overview = reading->overview;
	int r = 0;

	if (!report || (reading->stride == 1 && is_whole(snapshot))) {
		return 0;
	}
	for (size_t i = 0; i < overview->rank_count && r == 0; i++) {
		r = hk_overview_see(overview, report, &overview->ranks[i]);
	}
	return r;
}

/* ---- the whole ---- */

static uint64_t stored_here(const Hk__Process *process)
{
	uint64_t gone = process->records_shed + process->records_elsewhere;

	return process->records_stored > gone ? process->records_stored - gone : 0;
}

/* Returns the number of chunks per chunk read, so that the requested amount is kept. */
static uint64_t find_stride(const Hk__Snapshot *snapshot, const struct hk_overview_options *options)
{
	uint64_t records = 0, chunks = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		if (is_main(process) && process->last_chunk > 0) {
			records += stored_here(process);
			chunks += process->last_chunk;
		}
	}
	uint64_t by_records = divide_up(records, options->records);
	uint64_t by_chunks = divide_up(chunks, options->chunks);
	uint64_t stride = by_records > by_chunks ? by_records : by_chunks;
	return stride > 0 ? stride : 1;
}

static int add_process(struct reading *reading, const Hk__Snapshot *snapshot, const char *directory,
		       size_t index, const struct hk_report_clock *clocks)
{
	const Hk__Process *process = snapshot->processes[index];
	struct hk_overview *overview = reading->overview;

	if (!is_main(process)) {
		return 0;
	}
	struct hk_overview_rank *rank = find_rank(overview, hk_report_rank_of(process));
	if (rank->seen) {
		overview->records_there += stored_here(process);
		overview->records_missing +=
		    process->lost_records + process->records_shed + process->records_elsewhere;
		return 0;
	}
	int fd = hk_source_open(snapshot->job, directory, process);
	if (fd < 0) {
		bool none = fd == -ENOENT && process->last_chunk == 0;
		overview->damaged += !none;
		overview->records_missing += process->lost_records;
		return is_ours(fd) ? fd : 0;
	}
	if (!rank->bins) {
		rank->bins = calloc(overview->bins, sizeof(*rank->bins));
	}
	reading->bins = rank->bins;
	reading->clock = &clocks[index];
	int r = rank->bins ? read_process(reading, process, fd) : -ENOMEM;
	close(fd);
	return r;
}

static int read_all(struct reading *reading, const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_report_clock *clocks)
{
	struct hk_overview *overview = reading->overview;
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = add_process(reading, snapshot, directory, i, clocks);
	}
	for (size_t i = 0; i < overview->rank_count; i++) {
		bool read = overview->ranks[i].bins && !overview->ranks[i].seen;
		for (size_t k = 0; read && k < overview->bins; k++) {
			scale_bin(&overview->ranks[i].bins[k], overview->width_ns);
		}
	}
	overview->complete = overview->records == overview->records_there && overview->damaged == 0;
	return r;
}

static int fill(struct hk_overview *overview, const Hk__Snapshot *snapshot, const char *directory,
		const struct hk_overview_options *options)
{
	struct reading reading = {.overview = overview};
	struct hk_report_clock *clocks = NULL;
	int r = hk_report_clock_all(snapshot, &clocks);

	reading.loader = hk_loader_new();
	reading.threads = calloc(THREAD_SLOTS, sizeof(*reading.threads));
	reading.stride = find_stride(snapshot, options);
	r = r == 0 && (!reading.loader || !reading.threads) ? -ENOMEM : r;
	r = r < 0 ? r : find_ranks(overview, snapshot, clocks);
	if (r == 0) {
		find_span(overview, options->bins);
		r = see_ranks(&reading, snapshot, options->report);
		r = r < 0 ? r : read_all(&reading, snapshot, directory, clocks);
	}
	hk_loader_free(reading.loader);
	free(reading.threads);
	free(reading.domain_of);
	free(clocks);
	return r;
}

int hk_overview_new(const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_overview_options *options, struct hk_overview **ret_overview)
{
	struct hk_overview *overview = calloc(1, sizeof(*overview));

	if (!overview) {
		return -ENOMEM;
	}
	int r = fill(overview, snapshot, directory, options);
	if (r < 0) {
		hk_overview_free(overview);
		return r;
	}
	*ret_overview = overview;
	return 0;
}
