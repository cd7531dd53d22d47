#include "cli/tables/stack_rows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "chunk/read/cursor.h"
#include "cli/tables/stack_digests.h"
#include "hooks/pattern.h"
#include "report/model/role.h"
#include "report/write/frame_text.h"
#include "timeline/source.h"
#include "wire/columns.h"

/* Texts are shared copies, so their addresses stand for them. */
struct key {
	const char *function, *library;
	uint64_t stack; /* digest of its frames: equal in all processes */
	uint64_t group;
};

struct sum {
	UT_hash_handle hh;
	struct key key;
	struct hk_stack_row row;
	int32_t last_rank;
};

struct share {
	UT_hash_handle hh;
	struct hk_stack_share share;
	uint64_t recorded, recorded_ns, recorded_stacks; /* the same of records */
};

struct reading {
	struct hk_stack_rows *rows;
	struct sum *sums;
	struct share *shares;
	const struct hk_stack_options *options;
	uint64_t records; /* of each process, at most */
	/* Of the process under way. */
	const Hk__Process *process;
	int32_t rank;
	uint32_t group;
	struct hk_stack_digests digests;
};

/* ---- sums ---- */

static struct sum *sum_get(struct reading *reading, const struct hk_chunk_site *site,
			   uint32_t stack)
{
	struct key key = {
	    .function = hk_report_strings_get(&reading->rows->strings, site->function),
	    .library = hk_report_strings_get(&reading->rows->strings, site->library),
	    .stack = reading->digests.list[stack],
	    .group = reading->group,
	};
	struct sum *sum;

	const char *domain = hk_report_strings_get(&reading->rows->strings, site->domain);

	if (!key.function || !key.library || !domain) {
		return NULL;
	}
	HASH_FIND(hh, reading->sums, &key, sizeof(key), sum);
	if (sum) {
		return sum;
	}
	sum = calloc(1, sizeof(*sum));
	if (!sum) {
		return NULL;
	}
	sum->key = key;
	sum->row = (struct hk_stack_row){.function = key.function,
					 .library = key.library,
					 .domain = domain,
					 .group = reading->group,
					 .process = reading->process,
					 .rank = reading->rank,
					 .stack = stack};
	sum->last_rank = INT32_MIN;
	HASH_ADD(hh, reading->sums, key, sizeof(key), sum);
	if (!sum->hh.tbl) {
		free(sum);
		return NULL;
	}
	return sum;
}

static struct share *share_get(struct reading *reading, const char *text)
{
	const char *function = hk_report_strings_get(&reading->rows->strings, text);
	struct share *share;

	if (!function) {
		return NULL;
	}
	HASH_FIND_PTR(reading->shares, &function, share);
	if (share) {
		return share;
	}
	share = calloc(1, sizeof(*share));
	if (!share) {
		return NULL;
	}
	share->share.function = function;
	HASH_ADD_PTR(reading->shares, share.function, share);
	if (!share->hh.tbl) {
		free(share);
		return NULL;
	}
	return share;
}

static bool is_wanted(const struct reading *reading, const char *function)
{
	const char *glob = reading->options->function;

	return !glob || hk_pattern_match(glob, function);
}

static int add(struct reading *reading, const struct hk_record *record,
	       const struct hk_chunk_site *site)
{
	if (!site || !hk_source_is_call(record->kind) || !is_wanted(reading, site->function)) {
		return 0;
	}
	bool kept = record->stack > 0 && record->stack <= reading->digests.frames;
	struct share *share = share_get(reading, site->function);
	if (!share) {
		return -ENOMEM;
	}
	share->recorded++;
	share->recorded_ns += record->duration_ns;
	share->recorded_stacks += kept;
	if (!kept) {
		reading->rows->calls_without++;
		return 0;
	}
	struct sum *sum = sum_get(reading, site, record->stack);
	if (!sum) {
		return -ENOMEM;
	}
	sum->row.calls++;
	sum->row.total_ns += record->duration_ns;
	/* Processes come in the order of their ranks. */
	sum->row.ranks += reading->rank >= 0 && sum->last_rank != reading->rank;
	sum->last_rank = reading->rank;
	return 0;
}

static int read_records(struct reading *reading, struct hk_cursor *cursor)
{
	const struct hk_record *records;
	uint64_t read = 0;
	size_t count;
	int r;

	reading->rows->records_there += hk_cursor_stats(cursor)->records;
	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		reading->rows->records += count;
		read += count;
		for (size_t i = 0; i < count; i++) {
			r = add(reading, &records[i], hk_cursor_site(cursor, records[i].site));
			if (r < 0) {
				return r;
			}
		}
		if (reading->records > 0 && read >= reading->records) {
			return 0;
		}
	}
	return r == 0 && hk_cursor_stats(cursor)->damaged > 0 ? -EBADMSG : r;
}

/* Adds the statistics of the process's sites to the shares. Both are in the order of their ids. */
static int add_statistics(struct reading *reading, const Hk__Process *process)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row row;
	size_t at = 0;

	while (hk_columns_next(&walk, &row)) {
		while (at < process->n_sites && process->sites[at]->id < row.site) {
			at++;
		}
		bool known = at < process->n_sites && process->sites[at]->id == row.site;
		if (!known || !is_wanted(reading, process->sites[at]->function)) {
			continue;
		}
		struct share *share = share_get(reading, process->sites[at]->function);
		if (!share) {
			return -ENOMEM;
		}
		share->share.calls += row.calls;
		share->share.total_ns += row.total_ns;
		share->share.stacks += row.stacks;
	}
	return 0;
}

static uint32_t group_of(const struct reading *reading)
{
	int32_t ranks = reading->rows->group_ranks;

	if (reading->options->groups == 0) {
		return 0;
	}
	return reading->rank < 0 ? reading->options->groups : (uint32_t)(reading->rank / ranks);
}

static int read_process(struct reading *reading, struct hk_loader *loader,
			const Hk__Snapshot *snapshot, const char *directory,
			const Hk__Process *process)
{
	struct hk_cursor *cursor = NULL;
	int fd = hk_source_open(snapshot->job, directory, process);

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	reading->process = process;
	reading->rank = hk_report_rank_of(process);
	reading->group = group_of(reading);
	reading->rows->refused += process->stacks_refused;
	if (!*reading->rows->python_note) {
		hk_stacks_without_python(process, reading->rows->python_note,
					 sizeof(reading->rows->python_note));
	}
	int r = hk_stack_digests_make(&reading->digests, process);
	r = r < 0 ? r : hk_cursor_new(loader, fd, &cursor);
	r = r < 0 ? r : read_records(reading, cursor);
	hk_cursor_free(cursor);
	close(fd);
	return r;
}

/* ---- rows ---- */

static int by_rank(const void *a, const void *b)
{
	const Hk__Process *x = *(Hk__Process *const *)a, *y = *(Hk__Process *const *)b;
	int32_t x_rank = hk_report_rank_of(x), y_rank = hk_report_rank_of(y);

	return x_rank != y_rank ? (x_rank < y_rank ? -1 : 1) : x->pid < y->pid ? -1 : 1;
}

static int by_cost(const void *a, const void *b)
{
	const struct hk_stack_row *x = a, *y = b;

	if (x->total_ns != y->total_ns) {
		return x->total_ns > y->total_ns ? -1 : 1;
	}
	return x->calls > y->calls ? -1 : x->calls < y->calls;
}

/* Moves the sums to rows. */
static int make_rows(struct reading *reading)
{
	struct hk_stack_rows *rows = reading->rows;
	struct sum *sum, *next;
	size_t count = HASH_COUNT(reading->sums);

	rows->rows = calloc(count + 1, sizeof(*rows->rows));
	HASH_ITER (hh, reading->sums, sum, next) {
		if (rows->rows) {
			rows->rows[rows->count++] = sum->row;
		}
		HASH_DEL(reading->sums, sum);
		free(sum);
	}
	if (!rows->rows) {
		return -ENOMEM;
	}
	qsort(rows->rows, rows->count, sizeof(*rows->rows), by_cost);
	return 0;
}

static int by_function(const void *a, const void *b)
{
	const struct hk_stack_share *x = a, *y = b;

	return strcmp(x->function, y->function);
}

/* An older agent does not count the stacks that it kept. */
static struct hk_stack_share share_of(const struct share *share)
{
	struct hk_stack_share made = share->share;

	if (made.stacks == 0) {
		made.stacks = share->recorded_stacks;
		made.calls = share->recorded;
		made.total_ns = share->recorded_ns;
	}
	return made;
}

/* Moves the shares of functions that have stacks to the rows. */
static int make_shares(struct reading *reading)
{
	struct hk_stack_rows *rows = reading->rows;
	struct share *share, *next;

	rows->shares = calloc(HASH_COUNT(reading->shares) + 1, sizeof(*rows->shares));
	HASH_ITER (hh, reading->shares, share, next) {
		struct hk_stack_share made = share_of(share);
		if (rows->shares && made.stacks > 0) {
			rows->shares[rows->share_count++] = made;
		}
		HASH_DEL(reading->shares, share);
		free(share);
	}
	if (!rows->shares) {
		return -ENOMEM;
	}
	qsort(rows->shares, rows->share_count, sizeof(*rows->shares), by_function);
	return 0;
}

/* Sets how many ranks a group has. */
static void divide(struct reading *reading, Hk__Process *const *processes, size_t count)
{
	uint32_t groups = reading->options->groups;
	int32_t last = count > 0 ? hk_report_rank_of(processes[count - 1]) : 0;

	reading->rows->group_ranks =
	    groups > 0 && last > 0 ? (int32_t)((uint32_t)last / groups + 1) : 1;
}

int hk_stack_rows_read(const Hk__Snapshot *snapshot, const char *directory,
		       const struct hk_stack_options *options, struct hk_stack_rows *ret_rows)
{
	size_t count = snapshot->n_processes;
	Hk__Process **processes = calloc(count + 1, sizeof(*processes));
	struct reading reading = {.rows = ret_rows,
				  .options = options,
				  .records =
				      options->records ? options->records / (count + 1) + 1 : 0};
	struct hk_loader *loader = hk_loader_new();
	int result = loader && processes ? 0 : -ENOMEM;

	*ret_rows = (struct hk_stack_rows){0};
	if (result == 0 && count > 0) {
		memcpy(processes, snapshot->processes, count * sizeof(*processes));
		qsort(processes, count, sizeof(*processes), by_rank);
		divide(&reading, processes, count);
	}
	for (size_t i = 0; result != -ENOMEM && i < count; i++) {
		int r = add_statistics(&reading, processes[i]);
		result = r < 0 ? r : result;
		r = read_process(&reading, loader, snapshot, directory, processes[i]);
		result = r < 0 ? r : result;
		r = hk_unread_add(&ret_rows->unread, processes[i]);
		result = r < 0 ? r : result;
	}
	int r = make_rows(&reading), shared = make_shares(&reading);
	r = r < 0 ? r : shared;
	free(reading.digests.list);
	free(processes);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}

void hk_stack_rows_fini(struct hk_stack_rows *rows)
{
	hk_report_strings_fini(&rows->strings);
	free(rows->rows);
	free(rows->shares);
	hk_unread_fini(&rows->unread);
}

size_t hk_stack_rows_functions(const Hk__Process *process, uint32_t number,
			       struct hk_export_function list[HK_EXPORT_FUNCTIONS])
{
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	struct hk_stacks_frame frame;
	size_t count = hk_stacks_functions(process, number, functions);

	static_assert(HK_STACKS_FUNCTIONS_MOST <= HK_EXPORT_FUNCTIONS, "all functions fit");
	hk_stacks_frame(process, number, &frame);
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct hk_export_function){.name = functions[i].name,
						      .library = functions[i].library,
						      .file = functions[i].file,
						      .line = functions[i].line};
		if (frame.object == HK_STACKS_OBJECT_END) {
			hk_frame_text_end(&frame, list[i].text, sizeof(list[i].text));
		} else {
			hk_frame_text_name(&frame, &functions[i], list[i].text,
					   sizeof(list[i].text));
		}
	}
	return count;
}
