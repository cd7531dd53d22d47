#include "cli/tables/stack_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "chunk/read/cursor.h"
#include "cli/tables/stack_digests.h"
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
	if (record->stack == 0 || record->stack > reading->digests.frames) {
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
	}
	int r = make_rows(&reading);
	free(reading.digests.list);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}

void hk_stack_rows_fini(struct hk_stack_rows *rows)
{
	hk_report_strings_fini(&rows->strings);
	free(rows->rows);
}

/* Why no further frame is known, by enum hk_walk_end of the agent. */
static const char *end_of(uint64_t reason)
{
	static const char *const reasons[] = {
	    NULL,
	    "the stack is deeper",
	    "code without unwind information",
	    "unwind information that is not understood",
	    "no frame there",
	    "the process may not check its memory",
	};

	return reason < sizeof(reasons) / sizeof(reasons[0]) && reasons[reason]
		   ? reasons[reason]
		   : "an unknown reason";
}

/* A name as a reader of source code knows it, in the making. */
struct demangling {
	char *text;
	size_t size, used;
	jmp_buf full;
};

/* The demangler passes its output in pieces. A crafted name has no end. */
static void add_piece(const char *piece, size_t length, void *data)
{
	struct demangling *to = data;

	for (size_t i = 0; i < length; i++) {
		if (to->used + 1 >= to->size) {
			longjmp(to->full, 1);
		}
		to->text[to->used++] = piece[i];
	}
}

/* Writes NAME to TEXT, demangled if it is a name of C++, cut to SIZE. */
static void write_name(const char *name, char *text, size_t size)
{
	struct demangling to = {.text = text, .size = size};

	if (setjmp(to.full) == 0 &&
	    !cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, add_piece, &to)) {
		snprintf(text, size, "%s", name);
		return;
	}
	text[to.used] = '\0';
}

void hk_stack_rows_frame(const struct hk_stacks_frame *frame, char *text, size_t size)
{
	if (frame->object == HK_STACKS_OBJECT_END) {
		snprintf(text, size, "[ends here: %s]", end_of(frame->address));
	} else if (*frame->name) {
		write_name(frame->name, text, size);
	} else if (*frame->path) {
		snprintf(text, size, "%s+0x%" PRIx64, hk_name_base(frame->path), frame->address);
	} else {
		snprintf(text, size, "[0x%" PRIx64 "]", frame->address);
	}
}
