/* Comma-separated values (RFC 4180): one line per call, in the order in which calls end, with the
 * same columns for every job. Missing values are empty. */
#include <errno.h>
#include <stdlib.h>

#include "cli/export/exporter.h"
#include "hooks/names.h"
#include "text/csv_text.h"
#include "timeline/details_json.h"

struct hk_exporter {
	FILE *output;
	uint64_t origin_ns;
	/* Arguments are collected as JSON text, which becomes one field. */
	FILE *json;
	char *json_text;
	size_t json_bytes;
};

static struct hk_exporter *csv_create(const struct hk_export_target *target)
{
	struct hk_exporter *csv = calloc(1, sizeof(*csv));

	if (!csv) {
		return NULL;
	}
	csv->output = target->output;
	csv->json = open_memstream(&csv->json_text, &csv->json_bytes);
	if (!csv->json) {
		free(csv);
		return NULL;
	}
	return csv;
}

static int check(const struct hk_exporter *csv)
{
	if (!ferror_unlocked(csv->output)) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO; /* errno as the failed write left it */
}

static bool is_column(unsigned int key)
{
	return hk_exporter_value_form((uint8_t)key) != HK_VALUE_UNNAMED;
}

static int csv_begin(struct hk_exporter *csv, const struct hk_export_job *job)
{
	csv->origin_ns = job->origin_ns;
	fputs("rank,role,host,pid,tid,thread,start_ns,duration_ns,domain,function,library,failed,"
	      "unwound",
	      csv->output);
	for (unsigned int key = 0; key < hk_names_key.count; key++) {
		if (is_column(key)) {
			fprintf(csv->output, ",value_%s", hk_key_name(key));
		}
	}
	fputs(",arguments,returned\n", csv->output);
	return check(csv);
}

/* ---- fields ---- */

static void comma(const struct hk_exporter *csv)
{
	putc_unlocked(',', csv->output);
}

/* Returns a JSON writer for numbers, whose form is valid in CSV. */
static struct hk_json number_at(const struct hk_exporter *csv)
{
	return (struct hk_json){.output = csv->output};
}

static void put_int(const struct hk_exporter *csv, int64_t value)
{
	struct hk_json json = number_at(csv);

	hk_json_int(&json, NULL, value);
	comma(csv);
}

static void put_text(const struct hk_exporter *csv, const char *text)
{
	hk_csv_text(csv->output, text);
	comma(csv);
}

static void put_value(const struct hk_exporter *csv, const struct hk_export_site *site, uint8_t key,
		      uint64_t word)
{
	struct hk_json json = number_at(csv);
	char text[HK_VALUE_TEXT_BYTES];

	switch (hk_exporter_value_form(key)) {
	case HK_VALUE_UNNAMED:
		break;
	case HK_VALUE_UINT64:
		hk_json_uint(&json, NULL, word);
		break;
	case HK_VALUE_INT64:
		hk_json_int(&json, NULL, (int64_t)word);
		break;
	case HK_VALUE_INT32:
		hk_json_int(&json, NULL, (int32_t)word);
		break;
	case HK_VALUE_HANDLE:
		hk_json_hex(&json, NULL, word);
		break;
	case HK_VALUE_DOUBLE:
		hk_json_double(&json, NULL, word);
		break;
	case HK_VALUE_TEXT:
		hk_csv_text(csv->output, hk_exporter_value_text(site, key, word, text));
		break;
	}
}

static void put_values(const struct hk_exporter *csv, const struct hk_slice *slice)
{
	uint64_t words[UINT8_MAX + 1];
	bool have[UINT8_MAX + 1] = {false};

	for (unsigned int i = 0; i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];

		have[key] = hk_exporter_has_value(key, slice->words[i]);
		words[key] = slice->words[i];
	}
	for (unsigned int key = 0; key < hk_names_key.count; key++) {
		if (is_column(key)) {
			comma(csv);
			if (have[key]) {
				put_value(csv, slice->site, (uint8_t)key, words[key]);
			}
		}
	}
}

static int put_arguments(struct hk_exporter *csv, const struct hk_arguments *arguments)
{
	struct hk_json json = {.output = csv->json};

	rewind(csv->json);
	hk_details_json_arguments(&json, NULL, arguments);
	putc_unlocked('\0', csv->json);
	if (fflush(csv->json) || ferror(csv->json)) {
		return -ENOMEM;
	}
	hk_csv_text(csv->output, csv->json_text);
	return 0;
}

/* Writes RESULT. JSON's form of a value is a valid field, except for texts. */
static void put_result(const struct hk_exporter *csv, const struct hk_argument *result)
{
	struct hk_json json = number_at(csv);
	char text[HK_ARGUMENT_VALUE_BYTES];

	if (result->form == HK_ARGUMENT_TEXT) {
		hk_argument_text(result, text);
		hk_csv_text(csv->output, text);
	} else {
		hk_details_json_argument(&json, NULL, result);
	}
}

static int put_details(struct hk_exporter *csv, const struct hk_slice *slice)
{
	struct hk_arguments arguments;
	int rc = 0;

	if (!hk_slice_arguments(slice, &arguments)) {
		fputs_unlocked(",,\n", csv->output);
		return check(csv);
	}
	comma(csv);
	rc = put_arguments(csv, &arguments);
	comma(csv);
	put_result(csv, &arguments.result);
	putc_unlocked('\n', csv->output);
	return rc < 0 ? rc : check(csv);
}

static int csv_call(struct hk_exporter *csv, struct hk_export_thread *thread,
		    const struct hk_slice *slice)
{
	const struct hk_export_process *process = thread->process;

	put_int(csv, process->rank);
	fputs_unlocked(process->role, csv->output);
	comma(csv);
	put_text(csv, process->host);
	put_int(csv, process->pid);
	put_int(csv, thread->tid);
	put_text(csv, thread->name);
	put_int(csv, (int64_t)(slice->start_ns - csv->origin_ns));
	put_int(csv, (int64_t)(slice->end_ns - slice->start_ns));
	put_text(csv, slice->site->domain);
	put_text(csv, slice->site->function);
	put_text(csv, slice->site->library);
	put_int(csv, slice->failed);
	putc_unlocked(slice->unwound ? '1' : '0', csv->output);
	put_values(csv, slice);
	return put_details(csv, slice);
}

static int csv_instant(struct hk_exporter *csv, struct hk_export_thread *thread,
		       const struct hk_slice *slice)
{
	struct hk_slice instant = *slice;

	instant.end_ns = instant.start_ns;
	return csv_call(csv, thread, &instant);
}

static int csv_end(struct hk_exporter *csv)
{
	return fflush(csv->output) ? -errno : check(csv);
}

static void csv_free(struct hk_exporter *csv)
{
	if (csv) {
		fclose(csv->json);
		free(csv->json_text);
		free(csv);
	}
}

const struct hk_exporter_ops hk_csv_exporter = {
    .format = "csv",
    .suffix = "csv",
    .create = csv_create,
    .begin = csv_begin,
    .close = csv_call,
    .instant = csv_instant,
    .end = csv_end,
    .free = csv_free,
};
