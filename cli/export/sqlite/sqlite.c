/* A SQLite database: one row per recorded call, and all tables of the report; SCHEMA.md describes
 * it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/exporter.h"
#include "cli/export/sqlite/sqlite_file.h"
#include "cli/export/sqlite/sqlite_report.h"
#include "cli/export/sqlite/sqlite_schema.h"
#include "cli/export/sqlite/sqlite_sites.h"
#include "hooks/names.h"
#include "timeline/details_json.h"

#define KEYS_MAX 256u /* values of a site's key byte */

struct open_call {
	int64_t id;
	uint64_t inner_ns; /* in calls inside of it */
};

struct track {
	int64_t process, thread;
	struct open_call *calls;
	size_t depth, capacity;
};

struct hk_exporter {
	const char *path;
	struct hk_sqlite *file;
	struct hk_sqlite_sites *sites;
	sqlite3_stmt *call, *thread, *gap;
	uint64_t origin_ns, from_ns, to_ns;
	int64_t last_call;
	int columns[KEYS_MAX]; /* columns of the named values, 0: none */
	int arguments_column;
	/* Arguments are a JSON text. */
	FILE *json;
	char *json_text;
	size_t json_bytes;
};

static void sqlite_free(struct hk_exporter *sqlite)
{
	if (!sqlite) {
		return;
	}
	hk_sqlite_sites_free(sqlite->sites);
	hk_sqlite_free(sqlite->file);
	if (sqlite->json) {
		fclose(sqlite->json);
	}
	free(sqlite->json_text);
	free(sqlite);
}

static struct hk_exporter *sqlite_create(const struct hk_export_target *target)
{
	struct hk_exporter *sqlite = calloc(1, sizeof(*sqlite));

	if (!sqlite) {
		return NULL;
	}
	sqlite->path = target->path;
	sqlite->file = hk_sqlite_new();
	sqlite->json = open_memstream(&sqlite->json_text, &sqlite->json_bytes);
	if (!sqlite->file || !sqlite->json) {
		sqlite_free(sqlite);
		return NULL;
	}
	return sqlite;
}

/* ---- tables ---- */

/* Creates the table of calls, which has a column for each named value, even if the job does not use
 * it. */
static int make_calls(struct hk_exporter *sqlite)
{
	int column = HK_SQLITE_CALL_COLUMNS, rc = -ENOMEM;
	char *text = NULL;
	size_t bytes = 0;
	FILE *statement = open_memstream(&text, &bytes);

	if (!statement) {
		return rc;
	}
	fputs(hk_sqlite_calls, statement);
	for (unsigned int key = 0; key < hk_names_key.count && key < KEYS_MAX; key++) {
		if (hk_exporter_value_form((uint8_t)key) != HK_VALUE_UNNAMED) {
			fprintf(statement, ", value_%s", hk_key_name(key));
			sqlite->columns[key] = ++column;
		}
	}
	fputs(", arguments TEXT, returned);", statement);
	sqlite->arguments_column = column + 1;
	if (fclose(statement) == 0) {
		rc = hk_sqlite_run(sqlite->file, text);
	}
	free(text);
	return rc;
}

static int sqlite_begin(struct hk_exporter *sqlite, const struct hk_export_job *job)
{
	int rc = hk_sqlite_open(sqlite->file, sqlite->path);

	sqlite->origin_ns = job->origin_ns;
	sqlite->from_ns = job->from_ns;
	sqlite->to_ns = job->to_ns;
	rc = rc < 0 ? rc : hk_sqlite_run(sqlite->file, hk_sqlite_tables);
	rc = rc < 0 ? rc : make_calls(sqlite);
	if (rc < 0) {
		return rc;
	}
	sqlite->sites = hk_sqlite_sites_new(sqlite->file);
	if (!sqlite->sites) {
		rc = hk_sqlite_error(sqlite->file);
		return rc < 0 ? rc : -ENOMEM;
	}
	sqlite->call =
	    hk_sqlite_insert(sqlite->file, "calls", (unsigned int)sqlite->arguments_column + 1);
	sqlite->thread = hk_sqlite_insert(sqlite->file, "threads", 5);
	sqlite->gap = hk_sqlite_insert(sqlite->file, "gaps", 4);
	return hk_sqlite_report(sqlite->file, sqlite->sites, job);
}

static int64_t process_id(const struct hk_export_process *process)
{
	return (int64_t)process->index + 1;
}

static int sqlite_thread(struct hk_exporter *sqlite, struct hk_export_thread *thread)
{
	struct track *track = calloc(1, sizeof(*track));

	thread->private = track;
	if (!track) {
		return -ENOMEM;
	}
	track->process = process_id(thread->process);
	track->thread = thread->sequence;
	return hk_sqlite_row(sqlite->file, sqlite->thread, "iiuti", track->thread, track->process,
			     (uint64_t)thread->tid, thread->name, (int64_t)thread->is_main);
}

static void sqlite_forget(struct hk_exporter *sqlite, struct hk_export_thread *thread)
{
	struct track *track = thread->private;

	(void)sqlite;
	if (track) {
		free(track->calls);
		free(track);
		thread->private = NULL;
	}
}

static int sqlite_mark(struct hk_exporter *sqlite, const struct hk_export_process *process,
		       uint64_t time_ns, const struct hk_export_gap *gap)
{
	return hk_sqlite_row(sqlite->file, sqlite->gap, "iitu", process_id(process),
			     (int64_t)(time_ns - sqlite->origin_ns), gap->why, gap->records);
}

/* ---- calls ---- */

static void bind_value(sqlite3_stmt *call, int column, const struct hk_export_site *site,
		       uint8_t key, uint64_t word)
{
	char text[HK_VALUE_TEXT_BYTES];
	double number;

	switch (hk_exporter_value_form(key)) {
	case HK_VALUE_UNNAMED:
		break;
	case HK_VALUE_UINT64:
	case HK_VALUE_INT64:
	case HK_VALUE_HANDLE:
		sqlite3_bind_int64(call, column, (int64_t)word);
		break;
	case HK_VALUE_INT32:
		sqlite3_bind_int64(call, column, (int32_t)word);
		break;
	case HK_VALUE_DOUBLE:
		memcpy(&number, &word, sizeof(number));
		sqlite3_bind_double(call, column, number);
		break;
	case HK_VALUE_TEXT:
		sqlite3_bind_text(call, column, hk_exporter_value_text(site, key, word, text), -1,
				  SQLITE_TRANSIENT);
		break;
	}
}

static void bind_result(sqlite3_stmt *call, int column, const struct hk_argument *result)
{
	char text[HK_ARGUMENT_VALUE_BYTES];
	double number;

	switch (result->form) {
	case HK_ARGUMENT_DOUBLE:
		memcpy(&number, &result->word, sizeof(number));
		sqlite3_bind_double(call, column, number);
		break;
	case HK_ARGUMENT_TEXT:
		hk_argument_text(result, text);
		sqlite3_bind_text(call, column, text, -1, SQLITE_TRANSIENT);
		break;
	case HK_ARGUMENT_SIGNED:
	case HK_ARGUMENT_UNSIGNED:
	case HK_ARGUMENT_POINTER:
	case HK_ARGUMENT_HANDLE:
		sqlite3_bind_int64(call, column, (int64_t)result->word);
		break;
	default:
		break;
	}
}

static int bind_arguments(struct hk_exporter *sqlite, const struct hk_slice *slice)
{
	struct hk_json json = {.output = sqlite->json};
	struct hk_arguments arguments;

	if (!hk_slice_arguments(slice, &arguments)) {
		return 0;
	}
	rewind(sqlite->json);
	hk_details_json_arguments(&json, NULL, &arguments);
	if (fflush(sqlite->json) || ferror(sqlite->json)) {
		return -ENOMEM;
	}
	sqlite3_bind_text(sqlite->call, sqlite->arguments_column, sqlite->json_text,
			  (int)sqlite->json_bytes, SQLITE_TRANSIENT);
	bind_result(sqlite->call, sqlite->arguments_column + 1, &arguments.result);
	return 0;
}

/* Inserts SLICE as call ID inside of the open calls of TRACK. */
static int put_call(struct hk_exporter *sqlite, const struct track *track,
		    const struct hk_slice *slice, const struct open_call *call)
{
	sqlite3_stmt *insert = sqlite->call;
	int64_t site = hk_sqlite_site_shown(sqlite->sites, slice->site);
	uint64_t duration_ns = slice->end_ns - slice->start_ns;
	/* The content of a call is known only if the range covers all of it. */
	bool whole = slice->start_ns >= sqlite->from_ns && slice->end_ns <= sqlite->to_ns;

	if (site < 0) {
		return (int)site;
	}
	sqlite3_clear_bindings(insert);
	sqlite3_bind_int64(insert, 1, call->id);
	sqlite3_bind_int64(insert, 2, track->process);
	sqlite3_bind_int64(insert, 3, track->thread);
	sqlite3_bind_int64(insert, 4, site);
	if (track->depth) {
		sqlite3_bind_int64(insert, 5, track->calls[track->depth - 1].id);
	}
	sqlite3_bind_int64(insert, 6, (int64_t)track->depth + 1);
	sqlite3_bind_int64(insert, 7, (int64_t)(slice->start_ns - sqlite->origin_ns));
	sqlite3_bind_int64(insert, 8, (int64_t)duration_ns);
	if (whole) {
		sqlite3_bind_int64(insert, 9, (int64_t)(duration_ns - call->inner_ns));
	}
	sqlite3_bind_int64(insert, 10, slice->failed);
	sqlite3_bind_int64(insert, 11, slice->unwound);
	for (unsigned int i = 0; i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];

		if (sqlite->columns[key] && hk_exporter_has_value(key, slice->words[i])) {
			bind_value(insert, sqlite->columns[key], slice->site, key, slice->words[i]);
		}
	}
	int rc = bind_arguments(sqlite, slice);

	return rc < 0 ? rc : hk_sqlite_step(sqlite->file, insert);
}

static int sqlite_open(struct hk_exporter *sqlite, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	struct track *track = thread->private;

	(void)slice;
	if (track->depth == track->capacity) {
		size_t capacity = track->capacity ? track->capacity * 2 : 16;
		struct open_call *calls = reallocarray(track->calls, capacity, sizeof(*calls));

		if (!calls) {
			return -ENOMEM;
		}
		track->calls = calls;
		track->capacity = capacity;
	}
	track->calls[track->depth++] = (struct open_call){.id = ++sqlite->last_call};
	return 0;
}

static int sqlite_close(struct hk_exporter *sqlite, struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	struct track *track = thread->private;
	const struct open_call *call = &track->calls[--track->depth];

	if (track->depth) {
		track->calls[track->depth - 1].inner_ns += slice->end_ns - slice->start_ns;
	}
	return put_call(sqlite, track, slice, call);
}

static int sqlite_instant(struct hk_exporter *sqlite, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	const struct open_call call = {.id = ++sqlite->last_call};
	struct hk_slice instant = *slice;

	instant.end_ns = instant.start_ns;
	return put_call(sqlite, thread->private, &instant, &call);
}

static int sqlite_end(struct hk_exporter *sqlite)
{
	char version[64];

	hk_sqlite_done(sqlite->file, sqlite->call);
	hk_sqlite_done(sqlite->file, sqlite->thread);
	hk_sqlite_done(sqlite->file, sqlite->gap);
	snprintf(version, sizeof(version), "PRAGMA user_version=%d;", HK_SQLITE_VERSION);
	hk_sqlite_run(sqlite->file, hk_sqlite_indices);
	hk_sqlite_run(sqlite->file, hk_sqlite_views);
	hk_sqlite_run(sqlite->file, version);
	/* Finalize its statement before the file is closed. */
	sqlite->sites = hk_sqlite_sites_free(sqlite->sites);
	return hk_sqlite_finish(sqlite->file);
}

const struct hk_exporter_ops hk_sqlite_exporter = {
    .format = "sqlite",
    .suffix = "sqlite",
    .binary = true,
    .end_percent = 75, /* indices: of 7 s, 3 */
    .makes_files = true,
    .create = sqlite_create,
    .begin = sqlite_begin,
    .thread = sqlite_thread,
    .open = sqlite_open,
    .close = sqlite_close,
    .instant = sqlite_instant,
    .mark = sqlite_mark,
    .forget = sqlite_forget,
    .end = sqlite_end,
    .free = sqlite_free,
};
