#include "cli/tui/batch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/tui/head.h"
#include "report/write/write.h"
#include "text/table.h"

#define HEADS_BYTES 512u
/* Wait for a collector that died: it is soon replaced, or started again. */
#define PATIENCE_NS UINT64_C(20000000000)

size_t hk_batch_column(const struct hk_view *view, const char *title)
{
	size_t i = 0;

	while (i < view->column_count && strcasecmp(view->columns[i].title, title) != 0) {
		i++;
	}
	return i;
}

static struct hk_table *table_new(const struct hk_view *view)
{
	char heads[HEADS_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < view->column_count; i++) {
		const struct hk_column *column = &view->columns[i];
		if (column->batch && used < sizeof(heads)) {
			used += (size_t)snprintf(
			    heads + used, sizeof(heads) - used, "%s%s%s%s", used > 0 ? "|" : "",
			    hk_cell_is_text(column->kind) ? "<" : ">", column->title,
			    column->kind == HK_CELL_NAME ? ":36" : "");
		}
	}
	return hk_table_new(heads);
}

static void add(struct hk_table *table, const struct hk_view *view, const struct hk_row *row)
{
	char text[HK_CELL_BYTES_MAX];

	for (size_t i = 0; i < view->column_count; i++) {
		const struct hk_column *column = &view->columns[i];
		const struct hk_table_cell *cell = &row->cells[i];
		if (!column->batch) {
			continue;
		}
		if (hk_cell_is_text(column->kind)) {
			hk_table_add(table, "%s", cell->text ? cell->text : "");
		} else {
			hk_table_add(table, "%s", hk_cell_number(text, column->kind, cell->now));
		}
	}
}

static int table_write(const struct hk_batch *batch, struct hk_rows *rows)
{
	const struct hk_view *view = batch->view;
	const struct hk_order order = {
	    .columns = view->columns,
	    .column_count = view->column_count,
	    .column = batch->sort ? hk_batch_column(view, batch->sort) : view->sort,
	    .reverse = !batch->sort && view->rising,
	};
	struct hk_table *table = table_new(view);

	size_t hidden = batch->all_rows ? 0 : hk_rows_hide(rows);
	hk_rows_sort(rows, &order);
	for (size_t i = 0; i < rows->count && i < batch->rows; i++) {
		add(table, view, &rows->rows[i]);
	}
	int r = hk_table_write(table, stdout, hk_command_colour(stdout));
	hk_table_free(table);
	if (rows->count == 0) {
		puts(view->empty);
	} else if (rows->count > batch->rows) {
		printf("(%zu more)\n", rows->count - (size_t)batch->rows);
	}
	if (hidden > 0) {
		printf("(%zu hidden: idle waits, launchers, helpers; --all shows them)\n", hidden);
	}
	return rows->failed ? -ENOMEM : r;
}

static int picture_write(const struct hk_batch *batch, const struct hk_scene *scene,
			 struct hk_history *head)
{
	static const char *const states[] = {[HK_TOP_SNAPSHOT_LIVE] = "LIVE",
					     [HK_TOP_SNAPSHOT_ENDED] = "ENDED",
					     [HK_TOP_SNAPSHOT_LEFT] = "NO COLLECTOR"};
	const struct hk_top_snapshot *snapshot = scene->snapshot;
	enum hk_top_snapshot_state state = hk_top_snapshot_state(snapshot);
	struct hk_rows rows = {.rows = NULL};

	if (batch->json) {
		return hk_report_write_json(snapshot->report, NULL, stdout);
	}
	/* A job that ended, or that no collector follows, has no present rates: show those of its
	 * life. */
	hk_history_begin(scene->history, snapshot->duration_ns, state != HK_TOP_SNAPSHOT_LIVE);
	hk_head_write(snapshot, head, states[state], true, stdout);
	hk_head_warn(snapshot, stdout);
	fputc('\n', stdout);
	batch->view->fill(scene, &rows);
	int r = table_write(batch, &rows);
	hk_rows_fini(&rows);
	if (batch->view == &hk_view_functions) {
		fputc('\n', stdout);
		hk_foot_write(snapshot, stdout);
	}
	fputs(batch->snapshots != 1 ? "\n" : "", stdout);
	return r;
}

enum found { FOUND_LAST, FOUND_LIVE, FOUND_NONE };

/* Writes one snapshot. PATIENT: writes nothing without a collector, which may return. */
static int take_and_write(const struct hk_batch *batch, struct hk_history *history,
			  struct hk_history *head, bool patient, enum found *ret_found)
{
	const struct hk_top_snapshot_request request = {
	    .job = batch->job, .keys = batch->json ? 0 : batch->view->keys};
	struct hk_top_snapshot *snapshot;
	int code = hk_top_snapshot_take(&request, &snapshot);

	*ret_found = FOUND_LAST;
	if (!snapshot) {
		return code;
	}
	if (patient && hk_top_snapshot_state(snapshot) == HK_TOP_SNAPSHOT_LEFT) {
		*ret_found = FOUND_NONE;
		hk_top_snapshot_free(snapshot);
		return code;
	}
	const struct hk_scene scene = {.snapshot = snapshot, .history = history};
	int r = picture_write(batch, &scene, head);
	*ret_found = snapshot->job.live ? FOUND_LIVE : FOUND_LAST;
	if (r < 0 || fflush(stdout) != 0) {
		hk_error("cannot show the job: %s", strerror(r < 0 ? -r : errno));
		*ret_found = FOUND_LAST;
		code = HK_EXIT_FAILED;
	}
	hk_top_snapshot_free(snapshot);
	return code;
}

int hk_batch_run(const struct hk_batch *batch)
{
	struct hk_history *history = hk_history_new(), *head = hk_history_new();
	int code = HK_EXIT_FAILED;
	enum found found = history && head ? FOUND_LIVE : FOUND_LAST;
	uint64_t live_ns = 0; /* time when the job was last seen live */
	unsigned long written = 0;

	while (found != FOUND_LAST && (written == 0 || written != batch->snapshots)) {
		uint64_t now_ns = hk_clock_monotonic_ns();
		if (written > 0) {
			poll(NULL, 0, (int)(batch->delay_s * 1000));
		}
		code = take_and_write(batch, history, head,
				      written > 0 && now_ns - live_ns < PATIENCE_NS, &found);
		live_ns = found == FOUND_LIVE ? now_ns : live_ns;
		written += found != FOUND_NONE;
	}
	hk_history_free(history);
	hk_history_free(head);
	return code;
}
