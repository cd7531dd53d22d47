/* The document's tables of functions: latencies of each, sums by domain and rank, and the map of
 * ranks and functions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/document.h"
#include "report/model/strings.h"

/* Fine buckets, 32 to the octave, that are one bar of the page: 8 to the octave. */
#define BAR_SHIFT 2u

/* One column of a table: its value for a group. */
struct column {
	const char *name;
	void (*write)(struct hk_json *json, const struct hk_report_numbers *numbers);
};

static void put(struct hk_json *json, bool measured, uint64_t value)
{
	if (measured) {
		hk_json_uint(json, NULL, value);
	} else {
		hk_json_null(json, NULL);
	}
}

#define COLUMN(member, measured)                                                                  \
	static void member##_write(struct hk_json *json, const struct hk_report_numbers *numbers) \
	{                                                                                         \
		put(json, measured, numbers->member);                                             \
	}
COLUMN(calls, true)
COLUMN(errors, true)
COLUMN(total_ns, numbers->have_total)
COLUMN(self_ns, numbers->have_total)
COLUMN(bytes, numbers->have_bytes)
COLUMN(device_ns, numbers->have_device)
COLUMN(min_ns, numbers->have_latency)
COLUMN(mean_ns, numbers->have_latency)
COLUMN(p50_ns, numbers->have_latency)
COLUMN(p90_ns, numbers->have_latency)
COLUMN(p99_ns, numbers->have_latency)
COLUMN(max_ns, numbers->have_latency)
COLUMN(estimated, true)

static const struct column columns[] = {
    {"calls", calls_write},	    {"errors", errors_write}, {"total_ns", total_ns_write},
    {"self_ns", self_ns_write},	    {"bytes", bytes_write},   {"min_ns", min_ns_write},
    {"mean_ns", mean_ns_write},	    {"p50_ns", p50_ns_write}, {"p90_ns", p90_ns_write},
    {"p99_ns", p99_ns_write},	    {"max_ns", max_ns_write}, {"estimated", estimated_write},
    {"device_ns", device_ns_write},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Columns of the map: total first, by which its functions were selected. */
static const struct column cell_columns[] = {
    {"total_ns", total_ns_write},
    {"calls", calls_write},
    {"p99_ns", p99_ns_write},
    {"max_ns", max_ns_write},
};
#define CELL_COLUMNS (sizeof(cell_columns) / sizeof(cell_columns[0]))

static void histogram_write(struct hk_json *json, const struct hk_report_buckets *buckets)
{
	hk_json_open(json, NULL, '[');
	for (size_t i = 0; i < buckets->used;) {
		uint32_t bar = buckets->index[i] >> BAR_SHIFT;
		uint64_t count = 0;
		for (; i < buckets->used && buckets->index[i] >> BAR_SHIFT == bar; i++) {
			count += buckets->count[i];
		}
		hk_json_uint(json, NULL, bar);
		hk_json_uint(json, NULL, count);
	}
	hk_json_close(json, ']');
}

static void texts_write(struct hk_json *json, const char *key, const struct hk_groups *groups,
			size_t shown, const char *(*text)(const struct hk_group *group))
{
	hk_json_open(json, key, '[');
	for (size_t i = 0; i < shown; i++) {
		hk_json_string(json, NULL, text(&groups->groups[i]));
	}
	hk_json_close(json, ']');
}

static const char *function_of(const struct hk_group *group)
{
	return group->function;
}

static const char *domain_of(const struct hk_group *group)
{
	return group->domain;
}

static const char *role_of(const struct hk_group *group)
{
	return group->role;
}

/* Writes each library's name once, since names are long and few, and each row's number of its
 * library. */
static int libraries_write(struct hk_json *json, const struct hk_groups *groups, size_t shown)
{
	struct hk_report_strings strings = {0};
	int64_t next = 0, number = 0;

	hk_json_open(json, "libraries", '[');
	for (size_t i = 0; i < shown && number >= 0; i++) {
		number = hk_report_strings_ordinal(&strings, groups->groups[i].library);
		if (number == next) {
			hk_json_string(json, NULL, groups->groups[i].library);
			next++;
		}
	}
	hk_json_close(json, ']');
	hk_json_open(json, "library", '[');
	for (size_t i = 0; i < shown && number >= 0; i++) {
		number = hk_report_strings_ordinal(&strings, groups->groups[i].library);
		hk_json_int(json, NULL, number);
	}
	hk_json_close(json, ']');
	hk_report_strings_fini(&strings);
	return number < 0 ? (int)number : 0;
}

static void spread_write(struct hk_json *json, const struct hk_groups *groups, size_t shown)
{
	hk_json_open(json, "max_rank", '[');
	for (size_t i = 0; i < shown; i++) {
		hk_json_int(json, NULL, groups->groups[i].max_rank);
	}
	hk_json_close(json, ']');
	hk_json_open(json, "imbalance_permille", '[');
	for (size_t i = 0; i < shown; i++) {
		hk_json_uint(json, NULL, (uint64_t)(groups->groups[i].imbalance * 1000 + 0.5));
	}
	hk_json_close(json, ']');
	hk_json_open(json, "histogram", '[');
	for (size_t i = 0; i < shown; i++) {
		histogram_write(json, &groups->groups[i].numbers.buckets);
	}
	hk_json_close(json, ']');
}

static int by_name(const void *a, const void *b)
{
	const struct hk_group *x = *(const struct hk_group *const *)a;
	const struct hk_group *y = *(const struct hk_group *const *)b;

	/* Equal texts of a report have equal addresses. */
	if (x->function != y->function) {
		return (uintptr_t)x->function < (uintptr_t)y->function ? -1 : 1;
	}
	return (uintptr_t)x->domain < (uintptr_t)y->domain ? -1 : x->domain != y->domain;
}

/* Writes sums for the page's head: functions, each once for all its libraries and roles, and their
 * calls. */
static int sums_write(struct hk_json *json, const struct hk_groups *groups)
{
	const struct hk_group **sorted = calloc(groups->count + 1, sizeof(*sorted));
	uint64_t functions = 0, calls = 0;

	if (!sorted) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < groups->count; i++) {
		sorted[i] = &groups->groups[i];
		calls += groups->groups[i].numbers.calls;
	}
	qsort(sorted, groups->count, sizeof(*sorted), by_name);
	for (size_t i = 0; i < groups->count; i++) {
		functions += i == 0 || by_name(&sorted[i - 1], &sorted[i]) != 0;
	}
	free(sorted);
	hk_json_uint(json, "rows", groups->count);
	hk_json_uint(json, "functions_all", functions);
	hk_json_uint(json, "calls_all", calls);
	return 0;
}

static int table_write(const struct hk_groups *groups, struct hk_json *json)
{
	size_t shown = groups->count < HK_HTML_FUNCTIONS ? groups->count : HK_HTML_FUNCTIONS;

	hk_json_newline(json);
	hk_json_open(json, "functions", '{');
	int r = sums_write(json, groups);
	texts_write(json, "function", groups, shown, function_of);
	texts_write(json, "domain", groups, shown, domain_of);
	texts_write(json, "role", groups, shown, role_of);
	r = r ? r : libraries_write(json, groups, shown);
	for (size_t k = 0; k < COLUMNS; k++) {
		hk_json_open(json, columns[k].name, '[');
		for (size_t i = 0; i < shown; i++) {
			columns[k].write(json, &groups->groups[i].numbers);
		}
		hk_json_close(json, ']');
	}
	spread_write(json, groups, shown);
	hk_json_close(json, '}');
	return r;
}

/* The map of main processes: the group of each cell. */
struct map {
	struct hk_groups functions, cells;
	const struct hk_group **function; /* rows, largest total first */
	size_t functions_all, rows;
	const struct hk_report_numbers **at; /* row by row, ranks in the report's order */
};

static bool is_main(const struct hk_group *group)
{
	return strcmp(group->role, "main") == 0;
}

static size_t column_of(const struct hk_report *report, int32_t rank)
{
	size_t low = 0, high = report->rank_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->ranks[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static int rows_choose(struct map *map, size_t ranks)
{
	size_t most = ranks > 0 ? HK_HTML_CELLS / ranks : 0;

	most = most < HK_HTML_CELL_FUNCTIONS ? most : HK_HTML_CELL_FUNCTIONS;
	map->function = calloc(map->functions.count + 1, sizeof(struct hk_group *));
	if (!map->function) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->functions.count; i++) {
		if (is_main(&map->functions.groups[i])) {
			if (map->rows < most) {
				map->function[map->rows++] = &map->functions.groups[i];
			}
			map->functions_all++;
		}
	}
	map->at = calloc(map->rows * ranks + 1, sizeof(struct hk_report_numbers *));
	return map->at ? 0 : -ENOMEM;
}

static int cells_place(struct map *map, const struct hk_report *report)
{
	const struct hk_group **sorted = calloc(map->rows + 1, sizeof(struct hk_group *));
	size_t *row_of = calloc(map->functions.count + 1, sizeof(*row_of));

	if (!sorted || !row_of) {
		free(sorted);
		free(row_of);
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->rows; i++) {
		sorted[i] = map->function[i];
		row_of[map->function[i] - map->functions.groups] = i;
	}
	qsort(sorted, map->rows, sizeof(struct hk_group *), by_name);
	for (size_t i = 0; i < map->cells.count; i++) {
		const struct hk_group *cell = &map->cells.groups[i];
		size_t column = column_of(report, cell->rank);
		const struct hk_group **row =
		    is_main(cell) ? bsearch(&cell, sorted, map->rows, sizeof(*sorted), by_name)
				  : NULL;
		if (row && column < report->rank_count) {
			map->at[row_of[*row - map->functions.groups] * report->rank_count +
				column] = &cell->numbers;
		}
	}
	free(sorted);
	free(row_of);
	return 0;
}

static void map_write(const struct map *map, size_t ranks, struct hk_json *json)
{
	static const struct hk_report_numbers none;

	hk_json_newline(json);
	hk_json_open(json, "cells", '{');
	hk_json_uint(json, "rows", map->functions_all);
	hk_json_open(json, "function", '[');
	for (size_t i = 0; i < map->rows; i++) {
		hk_json_string(json, NULL, map->function[i]->function);
	}
	hk_json_close(json, ']');
	hk_json_open(json, "domain", '[');
	for (size_t i = 0; i < map->rows; i++) {
		hk_json_string(json, NULL, map->function[i]->domain);
	}
	hk_json_close(json, ']');
	for (size_t k = 0; k < CELL_COLUMNS; k++) {
		hk_json_open(json, cell_columns[k].name, '[');
		for (size_t i = 0; i < map->rows * ranks; i++) {
			cell_columns[k].write(json, map->at[i] ? map->at[i] : &none);
		}
		hk_json_close(json, ']');
	}
	hk_json_close(json, '}');
}

static int cells_write(const struct hk_report *report, struct hk_json *json)
{
	struct map map = {0};
	int r = hk_groups_init(&map.functions, report, HK_GROUP_FUNCTION);

	r = r ? r : hk_groups_init(&map.cells, report, HK_GROUP_FUNCTION | HK_GROUP_RANK);
	r = r ? r : rows_choose(&map, report->rank_count);
	r = r ? r : cells_place(&map, report);
	if (r == 0) {
		map_write(&map, report->rank_count, json);
	}
	free(map.function);
	free(map.at);
	hk_groups_fini(&map.cells);
	hk_groups_fini(&map.functions);
	return r;
}

/* Self and outermost time of a domain in each rank's main process, and outermost time of these and
 * their helpers together. */
struct domain {
	const char *name;
	uint64_t *self_ns, *outermost_ns, together_ns;
};
#define DOMAINS 64u /* most domains that are distinguished; hooks files name a handful */

static void domain_write(const struct domain *domain, size_t ranks, struct hk_json *json)
{
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "domain", domain->name);
	hk_json_open(json, "self_ns", '[');
	for (size_t i = 0; i < ranks; i++) {
		hk_json_uint(json, NULL, domain->self_ns[i]);
	}
	hk_json_close(json, ']');
	hk_json_open(json, "outermost_ns", '[');
	for (size_t i = 0; i < ranks; i++) {
		hk_json_uint(json, NULL, domain->outermost_ns[i]);
	}
	hk_json_close(json, ']');
	hk_json_uint(json, "together_ns", domain->together_ns);
	hk_json_close(json, '}');
}

static int domains_sum(const struct hk_report *report, const struct hk_groups *groups,
		       struct domain *domains, uint64_t *room, size_t *ret_count)
{
	struct hk_report_strings strings = {0};
	size_t ranks = report->rank_count;
	int64_t number = 0;

	for (size_t i = 0; i < groups->count && number >= 0; i++) {
		const struct hk_group *call = &groups->groups[i];
		size_t column = column_of(report, call->rank);
		if (strcmp(call->role, "launcher") == 0 || column >= ranks) {
			continue;
		}
		number = hk_report_strings_ordinal(&strings, call->domain);
		if (number == (int64_t)*ret_count && number < DOMAINS) {
			domains[(*ret_count)++] =
			    (struct domain){call->domain, room + 2 * (size_t)number * ranks,
					    room + (2 * (size_t)number + 1) * ranks, 0};
		}
		if (number < 0 || number >= DOMAINS) {
			continue;
		}
		domains[number].together_ns += call->numbers.outermost_ns;
		if (strcmp(call->role, "main") == 0) {
			domains[number].self_ns[column] += call->numbers.self_ns;
			domains[number].outermost_ns[column] += call->numbers.outermost_ns;
		}
	}
	hk_report_strings_fini(&strings);
	return number < 0 ? (int)number : 0;
}

/* GROUPS: by domain and rank. */
static int domains_write(const struct hk_report *report, const struct hk_groups *groups,
			 struct hk_json *json)
{
	struct domain domains[DOMAINS];
	size_t count = 0;
	uint64_t *room = calloc(2 * DOMAINS * report->rank_count + 1, sizeof(*room));
	int r = room ? domains_sum(report, groups, domains, room, &count) : -ENOMEM;

	hk_json_open(json, "domains", '[');
	for (size_t i = 0; i < count; i++) {
		domain_write(&domains[i], report->rank_count, json);
	}
	hk_json_close(json, ']');
	free(room);
	return r;
}

int hk_html_sums_write(const struct hk_report *report, const struct hk_groups *functions,
		       const struct hk_groups *domains, struct hk_json *json)
{
	int r = domains_write(report, domains, json);

	return r ? r : table_write(functions, json);
}

int hk_html_functions_write(const struct hk_report *report, struct hk_json *json)
{
	struct hk_groups functions = {0}, domains = {0};
	int r = hk_groups_init(&functions, report, HK_HTML_FUNCTION_KEYS);

	r = r ? r : hk_groups_init(&domains, report, HK_HTML_DOMAIN_KEYS);
	r = r ? r : hk_html_sums_write(report, &functions, &domains, json);
	hk_groups_fini(&functions);
	hk_groups_fini(&domains);
	return r ? r : cells_write(report, json);
}
