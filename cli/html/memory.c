/* The document's memory: peaks by rank and by library, their composition, and live bytes over
 * time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/document.h"

/* Libraries that a peak's composition names; the rest is summed. */
#define PARTS 8u

static bool is_whole(const struct hk_report_memory *row)
{
	return strcmp(row->library, "*") == 0;
}

static void where_write(const struct hk_report_memory *row, struct hk_json *json)
{
	hk_json_string(json, "role", row->role);
	hk_json_int(json, "device", row->device);
	hk_json_string(json, "kind", row->kind);
}

static int by_at_peak(const void *a, const void *b)
{
	const struct hk_report_memory *x = *(const struct hk_report_memory *const *)a;
	const struct hk_report_memory *y = *(const struct hk_report_memory *const *)b;

	return (x->at_peak_bytes < y->at_peak_bytes) - (x->at_peak_bytes > y->at_peak_bytes);
}

static bool is_part_of(const struct hk_report_memory *row, const struct hk_report_memory *whole)
{
	return row->rank == whole->rank && row->device == whole->device &&
	       strcmp(row->kind, whole->kind) == 0 && strcmp(row->role, whole->role) == 0;
}

/* Writes the libraries of WHOLE, which is the first of its rows in the report. */
static void parts_write(const struct hk_report *report, const struct hk_report_memory *whole,
			const struct hk_report_memory **room, struct hk_json *json)
{
	const struct hk_report_memory *end = report->memory + report->memory_count;
	uint64_t rest = 0;
	size_t count = 0;

	for (const struct hk_report_memory *row = whole + 1; row < end && is_part_of(row, whole);
	     row++) {
		if (row->have_at_peak && row->at_peak_bytes > 0) {
			room[count++] = row;
		}
	}
	qsort(room, count, sizeof(struct hk_report_memory *), by_at_peak);
	hk_json_open(json, "at_peak", '[');
	for (size_t i = 0; i < count; i++) {
		if (i < PARTS) {
			hk_json_open(json, NULL, '{');
			hk_json_string(json, "library", room[i]->library);
			hk_json_uint(json, "bytes", room[i]->at_peak_bytes);
			hk_json_close(json, '}');
		} else {
			rest += room[i]->at_peak_bytes;
		}
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "at_peak_rest_bytes", rest);
}

static int peaks_write(const struct hk_report *report, struct hk_json *json)
{
	const struct hk_report_memory **room =
	    calloc(report->memory_count + 1, sizeof(struct hk_report_memory *));
	size_t rows = 0;

	if (!room) {
		return -ENOMEM;
	}
	hk_json_newline(json);
	hk_json_open(json, "peaks", '[');
	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *row = &report->memory[i];
		if (!is_whole(row) || ++rows > HK_HTML_ROWS) {
			continue;
		}
		hk_json_open(json, NULL, '{');
		hk_json_int(json, "rank", row->rank);
		where_write(row, json);
		hk_json_uint(json, "allocs", row->allocs);
		hk_json_uint(json, "frees", row->frees);
		hk_json_uint(json, "live_bytes", row->live_bytes);
		hk_json_uint(json, "peak_bytes", row->peak_bytes);
		hk_json_uint(json, "peak_low", row->peak_low);
		hk_json_uint(json, "peak_high", row->peak_high);
		hk_json_int(json, "peak_time_ns", row->peak_time_ns);
		parts_write(report, row, room, json);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "peak_rows", rows);
	free(room);
	return 0;
}

/* A library's memory of one role, device and kind over all ranks. */
struct holder {
	const struct hk_report_memory *first;
	uint64_t allocs, frees, live_bytes, peak_bytes;
	int32_t peak_rank;
};

static int by_holder(const void *a, const void *b)
{
	const struct hk_report_memory *x = *(const struct hk_report_memory *const *)a;
	const struct hk_report_memory *y = *(const struct hk_report_memory *const *)b;
	int order = strcmp(x->role, y->role);

	order = order ? order : strcmp(x->kind, y->kind);
	order = order ? order : (x->device > y->device) - (x->device < y->device);
	order = order ? order : strcmp(x->library, y->library);
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same_holder(const struct hk_report_memory *x, const struct hk_report_memory *y)
{
	/* Equal texts of a report have equal addresses; kinds and roles are compared as text. */
	return x->library == y->library && x->device == y->device &&
	       strcmp(x->kind, y->kind) == 0 && strcmp(x->role, y->role) == 0;
}

static int by_peak(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return (x->peak_bytes < y->peak_bytes) - (x->peak_bytes > y->peak_bytes);
}

static size_t holders_sum(const struct hk_report_memory **rows, size_t count,
			  struct holder *holders)
{
	size_t used = 0;

	qsort(rows, count, sizeof(struct hk_report_memory *), by_holder);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || !same_holder(rows[i], rows[i - 1])) {
			holders[used++] =
			    (struct holder){.first = rows[i], .peak_rank = rows[i]->rank};
		}
		struct holder *holder = &holders[used - 1];
		holder->allocs += rows[i]->allocs;
		holder->frees += rows[i]->frees;
		holder->live_bytes += rows[i]->live_bytes;
		if (rows[i]->peak_bytes > holder->peak_bytes) {
			holder->peak_bytes = rows[i]->peak_bytes;
			holder->peak_rank = rows[i]->rank;
		}
	}
	qsort(holders, used, sizeof(*holders), by_peak);
	return used;
}

static int libraries_write(const struct hk_report *report, struct hk_json *json)
{
	const struct hk_report_memory **rows =
	    calloc(report->memory_count + 1, sizeof(struct hk_report_memory *));
	struct holder *holders = calloc(report->memory_count + 1, sizeof(*holders));
	size_t count = 0, used = 0;

	for (size_t i = 0; rows && holders && i < report->memory_count; i++) {
		if (!is_whole(&report->memory[i])) {
			rows[count++] = &report->memory[i];
		}
	}
	if (rows && holders) {
		used = holders_sum(rows, count, holders);
	}
	hk_json_open(json, "libraries", '[');
	for (size_t i = 0; i < used && i < HK_HTML_FUNCTIONS; i++) {
		hk_json_open(json, NULL, '{');
		where_write(holders[i].first, json);
		hk_json_string(json, "library", holders[i].first->library);
		hk_json_uint(json, "allocs", holders[i].allocs);
		hk_json_uint(json, "frees", holders[i].frees);
		hk_json_uint(json, "live_bytes", holders[i].live_bytes);
		hk_json_uint(json, "peak_bytes", holders[i].peak_bytes);
		hk_json_int(json, "peak_rank", holders[i].peak_rank);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "library_rows", used);
	int r = rows && holders ? 0 : -ENOMEM;
	free(rows);
	free(holders);
	return r;
}

/* Returns the number of bins of the series that are joined into one, so that all of them fit. */
static size_t bins_joined(const struct hk_report *report)
{
	size_t numbers = 0, joined = 1;

	for (size_t i = 0; i < report->memory_series_count && i < HK_HTML_SERIES; i++) {
		numbers += report->memory_series[i].count;
	}
	while (numbers / joined > HK_HTML_SERIES_NUMBERS) {
		joined *= 2;
	}
	return joined;
}

static void series_write(const struct hk_report_memory_series *series, size_t joined,
			 struct hk_json *json)
{
	hk_json_open(json, NULL, '{');
	hk_json_int(json, "rank", series->rank);
	hk_json_string(json, "role", series->role);
	hk_json_uint(json, "pid", series->pid);
	hk_json_int(json, "device", series->device);
	hk_json_string(json, "kind", series->kind);
	hk_json_int(json, "start_ns", series->start_ns);
	hk_json_uint(json, "width_ns", series->width_ns * joined);
	hk_json_int(json, "end_ns", series->end_ns);
	hk_json_open(json, "max_bytes", '[');
	for (size_t i = 0; i < series->count; i += joined) {
		uint64_t most = 0;
		for (size_t k = i; k < i + joined && k < series->count; k++) {
			most = series->max_bytes[k] > most ? series->max_bytes[k] : most;
		}
		hk_json_uint(json, NULL, most);
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "last_bytes", series->last_bytes[series->count - 1]);
	hk_json_close(json, '}');
}

int hk_html_memory_write(const struct hk_report *report, struct hk_json *json)
{
	size_t joined = bins_joined(report);

	hk_json_open(json, "memory", '{');
	int r = peaks_write(report, json);
	r = r ? r : libraries_write(report, json);
	hk_json_newline(json);
	hk_json_open(json, "series", '[');
	for (size_t i = 0; i < report->memory_series_count && i < HK_HTML_SERIES; i++) {
		series_write(&report->memory_series[i], joined, json);
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "series_rows", report->memory_series_count);
	hk_json_close(json, '}');
	return r;
}
