#include "cli/tui/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 2048u

#define ENTRY(name, word) &hk_view_##name,
const struct hk_view *const hk_views[HK_VIEWS] = {HK_VIEW_LIST(ENTRY)};

const struct hk_view *hk_view_find(const char *word)
{
	const struct hk_view *found = NULL;

	for (size_t i = 0; i < HK_VIEWS; i++) {
		const char *alias = hk_views[i]->alias;
		if (strncmp(hk_views[i]->word, word, strlen(word)) == 0 ||
		    (alias && strncmp(alias, word, strlen(word)) == 0)) {
			if (found) {
				return NULL;
			}
			found = hk_views[i];
		}
	}
	return *word ? found : NULL;
}

void hk_view_count(struct hk_history *history, struct hk_row *row, const struct hk_group *group,
		   double ranks, bool self, struct hk_table_cell cells[HK_VIEW_CALLS])
{
	const struct hk_report_numbers *n = &group->numbers;
	uint64_t ns = self ? n->self_ns : n->total_ns;
	const uint64_t counts[HK_TRACK_COUNTS] = {n->calls, ns, n->errors};
	const struct hk_track *track = hk_history_count(history, row->key, counts);

	row->track = track;
	cells[HK_VIEW_RATE] =
	    (struct hk_table_cell){track ? track->per_s[0] : NAN, (double)n->calls, NULL};
	cells[HK_VIEW_BUSY] = (struct hk_table_cell){NAN, NAN, NULL};
	cells[HK_VIEW_ERRORS] = (struct hk_table_cell){(double)n->errors, (double)n->errors, NULL};
	if (n->have_total && track) {
		cells[HK_VIEW_BUSY].now = track->per_s[1] / 1e7 / fmax(ranks, 1);
		cells[HK_VIEW_BUSY].total = (double)ns;
	}
	/* Failures from some time ago are not highlighted. */
	if (track && track->per_s[2] > 0 && hk_history_is_now(history)) {
		row->mark = HK_ROW_ALERT;
	}
}

const char *hk_view_role(const char *role)
{
	return strcmp(role, "main") == 0 ? "" : role;
}

struct hk_row *hk_view_add(struct hk_rows *rows, const char *prefix, const struct hk_group *group)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "%s\n%s\n%" PRId32 "\n%s\n%s\n%s\n%s", prefix, group->role,
		 group->rank, group->function ? group->function : "",
		 group->domain ? group->domain : "", group->library ? group->library : "",
		 group->host ? group->host : "");
	return hk_rows_add(rows, key);
}

static int by_rank(const void *a, const void *b)
{
	int32_t rank = *(const int32_t *)a;
	const struct hk_report_rank *row = b;

	return (rank > row->rank) - (rank < row->rank);
}

const struct hk_report_rank *hk_view_rank(const struct hk_report *report, int32_t rank)
{
	return report->rank_count > 0 ? bsearch(&rank, report->ranks, report->rank_count,
						sizeof(*report->ranks), by_rank)
				      : NULL;
}

size_t hk_view_memory_of(const struct hk_report *report, int32_t rank)
{
	size_t low = 0, high = report->memory_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->memory[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

void hk_view_expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows,
		    const struct hk_view_below *below)
{
	const struct hk_top_snapshot *snapshot = scene->snapshot;

	if (!snapshot->have_detail || !hk_pick_is_same(&snapshot->pick, &parent->pick)) {
		return; /* on its way */
	}
	for (size_t i = 0; i < snapshot->detail.count; i++) {
		const struct hk_group *group = &snapshot->detail.groups[i];
		struct hk_row *row = hk_view_add(rows, parent->key, group);
		struct hk_table_cell cells[HK_VIEW_CALLS];
		if (!row) {
			return;
		}
		hk_view_count(scene->below, row, group, 1,
			      !group->function && !parent->pick.function, cells);
		row->depth = 1;
		row->cells[below->rate] = cells[HK_VIEW_RATE];
		row->cells[below->busy] = cells[HK_VIEW_BUSY];
		row->cells[below->errors] = cells[HK_VIEW_ERRORS];
		if (below->latency > 0 && group->numbers.have_latency) {
			struct hk_table_cell *p50 = &row->cells[below->latency], *p99 = p50 + 1;
			p50->now = p50->total = (double)group->numbers.p50_ns;
			p99->now = p99->total = (double)group->numbers.p99_ns;
		}
		below->name(scene, group, rows, row);
	}
}
