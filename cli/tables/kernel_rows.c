#include "cli/tables/kernel_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/clock.h"
#include "chunk/read/cursor.h"
#include "cli/export/activity.h"
#include "cli/tables/stack_digests.h"
#include "hooks/hook.h"
#include "report/model/role.h"
#include "timeline/kernel_name.h"
#include "timeline/source.h"

#define CUT_BYTES 127u /* activities may have the first CUT_BYTES of a name */

/* Texts are shared copies, so their addresses stand for them. */
struct key {
	const char *name;
	uint64_t hash; /* names that were cut differ only here */
};

/* Launches of one kernel that are alike: of one shape, or from one stack. */
struct alike {
	UT_hash_handle hh;
	struct {
		uint64_t of[3];
	} key;
	uint64_t launches;
	const Hk__Process *process;
	uint32_t stack;
};

struct sum {
	UT_hash_handle hh;
	struct key key;
	struct hk_kernel_row row;
	struct alike *shapes, *stacks;
	int32_t last_rank;
};

struct reading {
	struct hk_kernel_rows *rows;
	const char *directory;
	struct sum *sums;
	/* The process being read. */
	const Hk__Process *process;
	int32_t rank;
	uint64_t tick_ns_q32;
	struct hk_stack_digests digests;
	struct hk_launches launches; /* the correlation of each is its sum */
	uint64_t calls;		     /* recorded calls of functions that launch kernels */
};

/* The values of a launch. */
struct launch {
	uint64_t kernel, grid, block, shared;
	bool has_kernel;
};

/* ---- sums ---- */

static struct sum *sum_get(struct reading *reading, const char *name, uint64_t hash)
{
	struct key key = {hk_report_strings_get(&reading->rows->strings, name), hash};
	struct sum *sum = NULL;

	if (!key.name) {
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
	sum->row = (struct hk_kernel_row){.name = key.name, .hash = hash, .rank = reading->rank};
	sum->last_rank = INT32_MIN;
	HASH_ADD(hh, reading->sums, key, sizeof(key), sum);
	if (!sum->hh.tbl) {
		free(sum);
		return NULL;
	}
	return sum;
}

static struct sum *sum_of(struct reading *reading, uint64_t number)
{
	const Hk__Kernel *kernel = hk_kernel_find(reading->process, number);
	char address[32];

	if (!kernel) {
		return sum_get(reading, "", 0);
	}
	snprintf(address, sizeof(address), "0x%" PRIx64, kernel->address);
	bool cut = kernel->name_bytes > strlen(kernel->name);
	struct sum *sum =
	    sum_get(reading, *kernel->name ? kernel->name : address, cut ? kernel->hash : 0);
	if (sum && cut) {
		sum->row.hash = kernel->hash;
		sum->row.cut_bytes = kernel->name_bytes - (uint32_t)strlen(kernel->name);
	}
	return sum;
}

static struct alike *alike_get(struct alike **list, uint64_t a, uint64_t b, uint64_t c)
{
	struct alike *alike = NULL, like = {.key = {{a, b, c}}};

	HASH_FIND(hh, *list, &like.key, sizeof(like.key), alike);
	if (alike) {
		return alike;
	}
	alike = calloc(1, sizeof(*alike));
	if (!alike) {
		return NULL;
	}
	alike->key = like.key;
	HASH_ADD(hh, *list, key, sizeof(alike->key), alike);
	if (!alike->hh.tbl) {
		free(alike);
		return NULL;
	}
	return alike;
}

/* ---- records ---- */

static void read_launch(const struct hk_record *record, const struct hk_chunk_site *site,
			struct launch *launch)
{
	*launch = (struct launch){0};
	for (uint32_t i = 0; i < site->key_count && i < record->word_count; i++) {
		uint64_t word = record->words[i];
		switch (site->keys[i]) {
		case HK_KEY_KERNEL:
			launch->has_kernel = true;
			launch->kernel = word;
			break;
		case HK_KEY_GRID:
			launch->grid = word;
			break;
		case HK_KEY_BLOCK:
			launch->block = word;
			break;
		case HK_KEY_SHARED:
			launch->shared = word;
			break;
		default:
			break;
		}
	}
}

/* Remembers a launch for the device's activities, which come later. */
static int remember(struct reading *reading, const struct hk_record *record, struct sum *sum)
{
	uint64_t start_ns = hk_clock_ticks_to_ns(record->start_ticks, reading->tick_ns_q32);
	const struct hk_launch launch = {
	    .start_ns = start_ns,
	    .end_ns = start_ns + record->duration_ns,
	    .thread = record->thread->uid,
	    .correlation = (uintptr_t)sum,
	};

	return reading->process->device_time ? hk_launches_add(&reading->launches, &launch) : 0;
}

static int add_launch(struct reading *reading, const struct hk_record *record,
		      const struct launch *launch)
{
	struct sum *sum = sum_of(reading, launch->kernel);
	struct alike *shape =
	    sum ? alike_get(&sum->shapes, launch->grid, launch->block, launch->shared) : NULL;

	if (!shape || remember(reading, record, sum) < 0) {
		return -ENOMEM;
	}
	shape->launches++;
	reading->rows->launches++;
	sum->row.launches++;
	sum->row.failed += record->kind == HK_CHUNK_KIND_FAILED;
	sum->row.host_ns += record->duration_ns;
	/* Processes come in the order of their ranks. */
	sum->row.ranks += reading->rank >= 0 && sum->last_rank != reading->rank;
	sum->last_rank = reading->rank;
	if (record->stack == 0 || record->stack > reading->digests.frames) {
		return 0;
	}
	struct alike *stack = alike_get(&sum->stacks, reading->digests.list[record->stack], 0, 0);
	if (!stack) {
		return -ENOMEM;
	}
	if (stack->launches++ == 0) {
		stack->process = reading->process;
		stack->stack = record->stack;
	}
	if (sum->row.first.number == 0) {
		sum->row.first =
		    (struct hk_kernel_stack){reading->process, record->stack, stack->launches};
	}
	return 0;
}

static uint64_t word_of(const struct hk_record *record, const struct hk_chunk_site *site,
			uint8_t key)
{
	for (uint32_t i = 0; i < site->key_count && i < record->word_count; i++) {
		if (site->keys[i] == key) {
			return record->words[i];
		}
	}
	return 0;
}

/* Returns the sum of the launch that submitted an activity, or NULL if it is not known. */
static struct sum *submitter(const struct reading *reading, const struct hk_record *record,
			     const struct hk_chunk_site *site)
{
	uint64_t now_ns = hk_clock_ticks_to_ns(record->start_ticks, reading->tick_ns_q32);
	uint64_t ago_ns = word_of(record, site, HK_KEY_SUBMITTED);
	const struct hk_device_activity activity = {
	    .thread = word_of(record, site, HK_KEY_THREAD),
	    .submitted_ns = ago_ns && ago_ns < now_ns ? now_ns - ago_ns : 0,
	};
	const struct hk_launch *launch =
	    activity.thread ? hk_launches_find(&reading->launches, &activity, 0, 0) : NULL;

	return launch ? (struct sum *)(uintptr_t)launch->correlation : NULL;
}

/* Adds a device's activity: one run of a kernel. If its launch is not known, as in graphs, the
 * kernel is found by name. */
static int add_activity(struct reading *reading, const struct hk_record *record,
			const struct hk_chunk_site *site)
{
	struct sum *launched = submitter(reading, record, site);
	struct sum *sum = launched ? launched : sum_get(reading, site->function, 0);

	if (!sum) {
		return -ENOMEM;
	}
	sum->row.device_activities++;
	sum->row.device_ns += word_of(record, site, HK_KEY_DURATION);
	return 0;
}

static int add(struct reading *reading, const struct hk_record *record,
	       const struct hk_chunk_site *site)
{
	struct launch launch;

	if (site && site->meaning == HK_MEANING_DEVICE_KERNEL) {
		return add_activity(reading, record, site);
	}
	if (!site || site->meaning != HK_MEANING_LAUNCH || !hk_source_is_call(record->kind)) {
		return 0;
	}
	read_launch(record, site, &launch);
	reading->calls += launch.has_kernel;
	/* The kernel of a launch inside another launch is counted with the outer one. */
	return launch.has_kernel && launch.kernel != 0 && record->kind != HK_CHUNK_KIND_UNWOUND
		   ? add_launch(reading, record, &launch)
		   : 0;
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

/* ---- processes ---- */

static bool launches_kernels(const Hk__Process *process, uint32_t id)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		const Hk__Site *site = process->sites[i];
		for (size_t k = 0; site->id == id && k < site->n_keys; k++) {
			if (site->keys[k] == HK_KEY_KERNEL && site->meaning == HK_MEANING_LAUNCH) {
				return true;
			}
		}
	}
	return false;
}

/* Returns the calls of functions that launch kernels, by the statistics, which are exact. */
static uint64_t counted(const Hk__Process *process)
{
	const Hk__Cells *cells = process->cells;
	uint64_t calls = 0;

	for (size_t i = 0; cells && i < cells->n_site && i < cells->n_calls; i++) {
		calls += launches_kernels(process, cells->site[i]) ? cells->calls[i] : 0;
	}
	return calls;
}

static int read_process(struct reading *reading, struct hk_loader *loader, const Hk__Job *job,
			const Hk__Process *process)
{
	struct hk_cursor *cursor = NULL;
	int fd = hk_source_open(job, reading->directory, process);
	int r = 0;

	reading->process = process;
	reading->rank = hk_report_rank_of(process);
	reading->tick_ns_q32 = process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32;
	reading->launches.count = 0;
	reading->calls = 0;
	if (fd >= 0) {
		r = hk_stack_digests_make(&reading->digests, process);
		r = r < 0 ? r : hk_cursor_new(loader, fd, &cursor);
		r = r < 0 ? r : read_records(reading, cursor);
		hk_cursor_free(cursor);
		close(fd);
	} else if (fd != -ENOENT) {
		return fd;
	}
	uint64_t all = counted(process);
	reading->rows->unrecorded += all > reading->calls ? all - reading->calls : 0;
	return r;
}

/* ---- rows ---- */

static int by_launches(const void *a, const void *b)
{
	const struct hk_kernel_row *x = a, *y = b;

	if (x->device_ns != y->device_ns) {
		return x->device_ns > y->device_ns ? -1 : 1;
	}
	if (x->launches != y->launches) {
		return x->launches > y->launches ? -1 : 1;
	}
	int order = strcmp(x->name, y->name);
	return order ? order : x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int by_shape(const void *a, const void *b)
{
	const struct hk_kernel_shape *x = a, *y = b;

	if (x->launches != y->launches) {
		return x->launches > y->launches ? -1 : 1;
	}
	return memcmp(x, y, sizeof(*x));
}

/* Moves the shapes of SUM to its row. */
static int make_shapes(struct sum *sum)
{
	struct alike *alike, *next;
	struct hk_kernel_row *row = &sum->row;

	row->shapes = calloc(HASH_COUNT(sum->shapes) + 1, sizeof(*row->shapes));
	HASH_ITER (hh, sum->shapes, alike, next) {
		if (row->shapes) {
			row->shapes[row->shape_count++] = (struct hk_kernel_shape){
			    alike->key.of[0], alike->key.of[1], alike->key.of[2], alike->launches};
		}
		HASH_DEL(sum->shapes, alike);
		free(alike);
	}
	if (row->shapes) {
		qsort(row->shapes, row->shape_count, sizeof(*row->shapes), by_shape);
	}
	return row->shapes ? 0 : -ENOMEM;
}

static void find_top_stack(struct sum *sum)
{
	struct hk_kernel_row *row = &sum->row;
	struct alike *alike, *next;

	HASH_ITER (hh, sum->stacks, alike, next) {
		if (alike->launches > row->top.launches) {
			row->top =
			    (struct hk_kernel_stack){alike->process, alike->stack, alike->launches};
		}
		if (alike->process == row->first.process && alike->stack == row->first.number) {
			row->first.launches = alike->launches;
		}
		HASH_DEL(sum->stacks, alike);
		free(alike);
	}
}

static int make_rows(struct reading *reading)
{
	struct hk_kernel_rows *rows = reading->rows;
	struct sum *sum, *next;
	int r = 0;

	rows->rows = calloc(HASH_COUNT(reading->sums) + 1, sizeof(*rows->rows));
	HASH_ITER (hh, reading->sums, sum, next) {
		find_top_stack(sum);
		int made = make_shapes(sum);
		r = made < 0 ? made : r;
		if (rows->rows) {
			rows->rows[rows->count++] = sum->row;
		} else {
			free(sum->row.shapes);
		}
		HASH_DEL(reading->sums, sum);
		free(sum);
	}
	if (!rows->rows) {
		return -ENOMEM;
	}
	qsort(rows->rows, rows->count, sizeof(*rows->rows), by_launches);
	return r;
}

/* Adds activities under a cut name to the one kernel whose name begins with it. */
static void join_cut(struct hk_kernel_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct hk_kernel_row *row = &rows->rows[i], *like = NULL;
		size_t bytes = strlen(row->name), count = 0;
		bool cut = row->launches == 0 && bytes >= CUT_BYTES;
		for (size_t k = 0; cut && k < rows->count; k++) {
			bool is = rows->rows[k].launches > 0 &&
				  strncmp(rows->rows[k].name, row->name, bytes) == 0;
			like = is ? &rows->rows[k] : like;
			count += is;
		}
		if (count == 1) {
			like->device_activities += row->device_activities;
			like->device_ns += row->device_ns;
			row->device_activities = 0;
		}
	}
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->rows[i].launches > 0 || rows->rows[i].device_activities > 0) {
			rows->rows[kept++] = rows->rows[i];
		} else {
			free(rows->rows[i].shapes);
		}
	}
	rows->count = kept;
}

/* Processes without a rank come first. */
static int by_rank(const void *a, const void *b)
{
	const Hk__Process *x = *(Hk__Process *const *)a, *y = *(Hk__Process *const *)b;
	int32_t x_rank = hk_report_rank_of(x), y_rank = hk_report_rank_of(y);

	return x_rank != y_rank ? (x_rank < y_rank ? -1 : 1) : x->pid < y->pid ? -1 : 1;
}

static Hk__Process **sorted(const Hk__Snapshot *snapshot)
{
	Hk__Process **processes = calloc(snapshot->n_processes + 1, sizeof(Hk__Process *));

	if (processes) {
		memcpy(processes, snapshot->processes,
		       snapshot->n_processes * sizeof(Hk__Process *));
		qsort(processes, snapshot->n_processes, sizeof(Hk__Process *), by_rank);
	}
	return processes;
}

int hk_kernel_rows_read(const Hk__Snapshot *snapshot, const char *directory,
			struct hk_kernel_rows *ret_rows)
{
	struct reading reading = {.rows = ret_rows, .directory = directory};
	struct hk_loader *loader = hk_loader_new();
	Hk__Process **processes = sorted(snapshot);
	int result = loader && processes ? 0 : -ENOMEM;

	*ret_rows = (struct hk_kernel_rows){0};
	for (size_t i = 0; loader && processes && i < snapshot->n_processes; i++) {
		int r = read_process(&reading, loader, snapshot->job, processes[i]);
		result = r < 0 ? r : result;
		r = processes[i]->n_kernels > 0 ? hk_unread_add(&ret_rows->unread, processes[i])
						: 0;
		result = r < 0 ? r : result;
	}
	int r = make_rows(&reading);
	if (r == 0) {
		join_cut(ret_rows);
	}
	free(processes);
	free(reading.digests.list);
	hk_launches_fini(&reading.launches);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}

void hk_kernel_rows_fini(struct hk_kernel_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->rows[i].shapes);
	}
	hk_report_strings_fini(&rows->strings);
	hk_unread_fini(&rows->unread);
	free(rows->rows);
}

void hk_kernel_rows_short(const struct hk_kernel_row *row, char text[HK_KERNEL_ROW_BYTES])
{
	hk_kernel_name_short(row->name, text, HK_KERNEL_SHORT_BYTES);
}

void hk_kernel_rows_whole(const struct hk_kernel_row *row, char text[HK_KERNEL_ROW_BYTES])
{
	hk_kernel_name_whole(row->name, text, HK_KERNEL_ROW_BYTES);
}

void hk_kernel_rows_dim(uint64_t dim, char text[HK_KERNEL_SHAPE_BYTES])
{
	snprintf(text, HK_KERNEL_SHAPE_BYTES, "%" PRIu32 "x%" PRIu32 "x%" PRIu32, (uint32_t)dim,
		 (uint32_t)(dim >> 32) & 0xffff, (uint32_t)(dim >> 48));
}
