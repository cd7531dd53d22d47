/* The document's delays: what made ranks late, and the critical path. */
#include <errno.h>
#include <stdlib.h>

#include "cli/delay/delay_table.h"
#include "cli/delay/history_notes.h"
#include "cli/delay/history_read.h"
#include "cli/html/document.h"

struct hk_html_delays {
	struct hk_history history;
	struct hk_delays costs;
	struct hk_path path;
	bool unread; /* there are too many records */
};

struct hk_html_delays *hk_html_delays_free(struct hk_html_delays *delays)
{
	if (delays) {
		hk_path_fini(&delays->path);
		hk_delays_fini(&delays->costs);
		hk_history_fini(&delays->history);
		free(delays);
	}
	return NULL;
}

static int read_all(struct hk_html_delays *delays, const Hk__Snapshot *snapshot,
		    const char *directory)
{
	int r = hk_history_read(snapshot, directory, &delays->history);

	r = r < 0 ? r : hk_delays_find(&delays->history, &delays->costs);
	return r < 0 ? r : hk_path_find(&delays->history, &delays->path);
}

struct hk_html_delays *hk_html_delays_new(const Hk__Snapshot *snapshot, const char *directory,
					  uint64_t records)
{
	struct hk_html_delays *delays = calloc(1, sizeof(*delays));
	uint64_t stored = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		stored += snapshot->processes[i]->records_stored;
	}
	if (!delays || stored > records) {
		if (delays) {
			delays->unread = true;
		}
		return delays;
	}
	bool whole = read_all(delays, snapshot, directory) == 0;
	return whole && delays->history.lane_count > 1 ? delays : hk_html_delays_free(delays);
}

void hk_html_delays_write(const struct hk_html_delays *delays, struct hk_json *json)
{
	struct hk_history_notes notes;

	hk_json_newline(json);
	hk_json_open(json, "delay_costs", '{');
	hk_json_bool(json, "unread", delays->unread);
	hk_history_notes_make(&delays->history, &notes);
	hk_history_notes_write_json(&notes, json);
	hk_delay_table_write_members(&delays->history, &delays->costs, HK_HTML_DELAYS, json);
	hk_path_table_write_members(&delays->history, &delays->path, HK_HTML_DELAYS, json);
	hk_json_close(json, '}');
}
