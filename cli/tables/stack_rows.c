#include "cli/tables/stack_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>
#include <xxhash.h>

#include "chunk/read/cursor.h"
#include "cli/timeline/source.h"
#include "hooks/pattern.h"
#include "report/model/role.h"
#include "text/name.h"

/* Texts are shared copies, so their addresses stand for them. */
struct key {
	const char *function, *library;
	uint64_t stack; /* digest of its frames: equal in all processes */
};

struct sum {
	UT_hash_handle hh;
	struct key key;
	struct hk_stack_row row;
	int32_t last_rank;
};

struct reading {
	struct hk_stack_rows *rows;
	struct sum *sums;
	const char *function; /* glob, or NULL */
	/* Of the process under way. */
	const Hk__Process *process;
	int32_t rank;
	uint64_t *digests; /* by frame number */
	uint32_t frames;
};

/* ---- digests ---- */

/* Gives every frame of PROCESS a digest of itself and all its callers. */
static int digest_frames(struct reading *reading, const Hk__Process *process)
{
	struct hk_stacks_frame frame;
	uint32_t count = 0;

	free(reading->digests);
	reading->digests = NULL;
	reading->frames = 0;
	while (hk_stacks_valid(process) && hk_stacks_frame(process, count + 1, &frame)) {
		count++;
	}
	reading->digests = calloc((size_t)count + 1, sizeof(*reading->digests));
	if (!reading->digests) {
		return -ENOMEM;
	}
	reading->frames = count;
	for (uint32_t number = 1; number <= count; number++) {
		hk_stacks_frame(process, number, &frame);
		uint64_t seed = reading->digests[frame.caller] ^ frame.address;
		reading->digests[number] =
		    XXH3_64bits_withSeed(frame.path, strlen(frame.path), seed * 31 + frame.object);
	}
	return 0;
}

/* ---- sums ---- */

static struct sum *sum_get(struct reading *reading, const struct hk_chunk_site *site,
			   uint32_t stack)
{
	struct key key = {
	    .function = hk_report_strings_get(&reading->rows->strings, site->function),
	    .library = hk_report_strings_get(&reading->rows->strings, site->library),
	    .stack = reading->digests[stack],
	};
	struct sum *sum;

	if (!key.function || !key.library) {
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

static int add(struct reading *reading, const struct hk_record *record,
	       const struct hk_chunk_site *site)
{
	if (!site || !hk_source_is_call(record->kind) ||
	    (reading->function && !hk_pattern_match(reading->function, site->function))) {
		return 0;
	}
	if (record->stack == 0 || record->stack > reading->frames) {
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
	size_t count;
	int r;

	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			r = add(reading, &records[i], hk_cursor_site(cursor, records[i].site));
			if (r < 0) {
				return r;
			}
		}
	}
	return r == 0 && hk_cursor_stats(cursor)->damaged > 0 ? -EBADMSG : r;
}

static int read_process(struct reading *reading, struct hk_loader *loader, const struct hk_job *job,
			const Hk__Process *process)
{
	struct hk_cursor *cursor = NULL;
	int fd = hk_source_open(job->snapshot->job, job->directory, process);

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	reading->process = process;
	reading->rank = hk_report_rank_of(process);
	reading->rows->refused += process->stacks_refused;
	int r = digest_frames(reading, process);
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

/* Adds the objects of PROCESS whose functions are not named, each once. */
static int add_unread(struct hk_stack_rows *rows, const Hk__Process *process)
{
	for (size_t i = 0; i < process->n_stack_objects; i++) {
		const Hk__StackObject *object = process->stack_objects[i];
		if (!*object->unread) {
			continue;
		}
		const char *library = hk_report_strings_get(&rows->strings, object->path);
		const char *reason = hk_report_strings_get(&rows->strings, object->unread);
		struct hk_stack_unread *larger =
		    reallocarray(rows->unread, rows->unread_count + 1, sizeof(*larger));
		rows->unread = larger ? larger : rows->unread;
		if (!library || !reason || !larger) {
			return -ENOMEM;
		}
		size_t known = 0;
		while (known < rows->unread_count && larger[known].library != library) {
			known++;
		}
		larger[known] = (struct hk_stack_unread){library, reason};
		rows->unread_count += known == rows->unread_count;
	}
	return 0;
}

int hk_stack_rows_read(const struct hk_job *job, const char *function,
		       struct hk_stack_rows *ret_rows)
{
	struct reading reading = {.rows = ret_rows, .function = function};
	struct hk_loader *loader = hk_loader_new();
	int result = loader ? 0 : -ENOMEM;

	*ret_rows = (struct hk_stack_rows){0};
	qsort(job->snapshot->processes, job->snapshot->n_processes,
	      sizeof(job->snapshot->processes[0]), by_rank);
	for (size_t i = 0; loader && i < job->snapshot->n_processes; i++) {
		int r = read_process(&reading, loader, job, job->snapshot->processes[i]);
		result = r < 0 ? r : result;
		r = add_unread(ret_rows, job->snapshot->processes[i]);
		result = r < 0 ? r : result;
	}
	int r = make_rows(&reading);
	free(reading.digests);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}

void hk_stack_rows_fini(struct hk_stack_rows *rows)
{
	hk_report_strings_fini(&rows->strings);
	free(rows->rows);
	free(rows->unread);
}
