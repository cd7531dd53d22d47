#include "cli/tables/stream_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "chunk/read/cursor.h"
#include "hooks/hook.h"
#include "report/model/role.h"
#include "text/table.h"
#include "timeline/source.h"

#define STREAMS_MAX 4096u /* of a process; what is on further ones is not shown */

struct stream {
	int32_t device;
	uint64_t handle;
	uint64_t kernels, copies, sets, bytes, busy_ns;
	uint64_t first_ticks, last_ticks; /* of its first start and its last end */
};

struct streams {
	struct stream *rows;
	size_t count;
	uint64_t tick_ns_q32;
};

static uint64_t word_of(const struct hk_record *record, const struct hk_chunk_site *site,
			uint8_t key)
{
	for (uint8_t i = 0; i < site->key_count && i < record->word_count; i++) {
		if (site->keys[i] == key) {
			return record->words[i];
		}
	}
	return 0;
}

/* Returns the row of the stream HANDLE of DEVICE, NULL if there are too many or no memory. */
static struct stream *row_of(struct streams *streams, int32_t device, uint64_t handle)
{
	for (size_t i = 0; i < streams->count; i++) {
		if (streams->rows[i].handle == handle && streams->rows[i].device == device) {
			return &streams->rows[i];
		}
	}
	if (streams->count == STREAMS_MAX) {
		return NULL;
	}
	struct stream *rows =
	    reallocarray(streams->rows, streams->count + 1, sizeof(*streams->rows));
	if (!rows) {
		return NULL;
	}
	streams->rows = rows;
	rows[streams->count] = (struct stream){.device = device, .handle = handle};
	rows[streams->count].first_ticks = UINT64_MAX;
	return &rows[streams->count++];
}

static uint64_t ticks_of(const struct streams *streams, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / streams->tick_ns_q32);
}

static void record_add(struct streams *streams, const struct hk_record *record,
		       const struct hk_chunk_site *site)
{
	uint64_t ns = word_of(record, site, HK_KEY_DURATION);
	uint64_t ago = ticks_of(streams, word_of(record, site, HK_KEY_BEGAN));
	struct stream *row = row_of(streams, (int32_t)word_of(record, site, HK_KEY_DEVICE),
				    word_of(record, site, HK_KEY_STREAM));

	if (!row) {
		return;
	}
	uint64_t start = record->start_ticks > ago ? record->start_ticks - ago : 0;
	uint64_t end = start + ticks_of(streams, ns);
	row->kernels += site->meaning == HK_MEANING_DEVICE_KERNEL;
	row->copies += site->meaning == HK_MEANING_DEVICE_COPY;
	row->sets += site->meaning == HK_MEANING_DEVICE_SET;
	row->bytes += word_of(record, site, HK_KEY_BYTES);
	row->busy_ns += ns;
	row->first_ticks = start < row->first_ticks ? start : row->first_ticks;
	row->last_ticks = end > row->last_ticks ? end : row->last_ticks;
}

static int streams_read(struct hk_cursor *cursor, struct streams *streams)
{
	const struct hk_record *records;
	size_t count;
	int r;

	while ((r = hk_cursor_batch(cursor, &records, &count)) > 0) {
		for (size_t i = 0; i < count; i++) {
			const struct hk_chunk_site *site = hk_cursor_site(cursor, records[i].site);
			if (site && hk_meaning_is_activity(site->meaning)) {
				record_add(streams, &records[i], site);
			}
		}
	}
	return r == 0 && hk_cursor_stats(cursor)->damaged > 0 ? -EBADMSG : r;
}

static void rows_add(struct hk_table *table, const struct streams *streams,
		     const Hk__Process *process)
{
	for (size_t i = 0; i < streams->count; i++) {
		const struct stream *row = &streams->rows[i];
		double used_ns = (double)(row->last_ticks - row->first_ticks) *
				 (double)streams->tick_ns_q32 / 4294967296.0;
		hk_table_add(table, "%" PRId32, hk_report_rank_of(process));
		hk_table_add(table, "%" PRIu32, process->pid);
		hk_table_add(table, "%" PRId32, row->device);
		hk_table_add(table, "%#" PRIx64, row->handle);
		hk_table_add(table, "%" PRIu64, row->kernels);
		hk_table_add(table, "%" PRIu64, row->copies);
		hk_table_add(table, "%" PRIu64, row->sets);
		hk_table_add(table, "%" PRIu64, row->bytes);
		hk_table_add(table, "%.6f", (double)row->busy_ns / 1e9);
		hk_table_add(table, "%.6f", used_ns / 1e9);
		hk_table_add(table, "%.1f", used_ns > 0 ? 100 * (double)row->busy_ns / used_ns : 0);
	}
}

static int process_add(struct hk_table *table, struct hk_loader *loader, const struct hk_job *job,
		       const Hk__Process *process)
{
	struct streams streams = {.tick_ns_q32 =
				      process->tick_ns_q32 ? process->tick_ns_q32 : 1ull << 32};
	struct hk_cursor *cursor = NULL;
	int fd = hk_source_open(job->snapshot->job, job->directory, process);

	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	int r = hk_cursor_new(loader, fd, &cursor);
	r = r < 0 ? r : streams_read(cursor, &streams);
	rows_add(table, &streams, process);
	free(streams.rows);
	hk_cursor_free(cursor);
	close(fd);
	return r;
}

int hk_stream_table_write(const struct hk_job *job, FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new(">rank|>pid|>device|>stream|>kernels|>copies|>sets|>bytes|>busy s|>used "
			 "s|>busy%");
	struct hk_loader *loader = hk_loader_new();
	int result = loader ? 0 : -ENOMEM;

	for (size_t i = 0; loader && i < job->snapshot->n_processes; i++) {
		int r = process_add(table, loader, job, job->snapshot->processes[i]);
		result = r < 0 ? r : result;
	}
	int r = 0;
	if (!hk_table_is_empty(table)) {
		r = hk_table_write(table, output, colour);
	} else if (result == 0) {
		fputs("no work of devices was recorded: run with --device-time\n", output);
	}
	hk_table_free(table);
	hk_loader_free(loader);
	return r < 0 ? r : result;
}
