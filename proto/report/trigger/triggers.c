#include "report/trigger/triggers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/names.h"
#include "text/name.h"
#include "text/quantity.h"

#define FIRED_MOST 64u /* a collector fires 8: what more there is was made up */
#define TEXT_COLUMNS 160
#define FILES_COLUMNS 240

/* ---- rows ---- */

static int64_t time_of(const Hk__Snapshot *snapshot, uint64_t unix_ns)
{
	return unix_ns ? (int64_t)(unix_ns - snapshot->job->start_unix_ns) : 0;
}

/* Returns since when all records are there: not before the job began. */
static uint64_t begin_of(const Hk__Snapshot *snapshot, const Hk__Trigger *from)
{
	uint64_t begin =
	    from->first_unix_ns > from->from_unix_ns ? from->first_unix_ns : from->from_unix_ns;
	uint64_t start = snapshot->job->start_unix_ns;

	return begin > start ? begin : start;
}

static int fill(struct hk_report *report, const Hk__Snapshot *snapshot, const Hk__Trigger *from,
		struct hk_report_trigger *to)
{
	struct hk_report_strings *strings = &report->strings;

	*to = (struct hk_report_trigger){
	    .number = from->number,
	    .condition = hk_report_strings_get(strings, from->condition),
	    .function = hk_report_strings_get(strings, from->function),
	    .saw = hk_report_strings_get(strings, from->saw),
	    .directory = hk_report_strings_get(strings, from->directory),
	    .problem = hk_report_strings_get(strings, from->problem),
	    .level = from->level ? hk_level_name(from->level) : "",
	    .rank = from->rank,
	    .at_ns = time_of(snapshot, from->at_unix_ns),
	    .from_ns = time_of(snapshot, begin_of(snapshot, from)),
	    .until_ns = time_of(snapshot, from->until_unix_ns),
	    .value = (double)from->value / 1000,
	    .limit = (double)from->limit / 1000,
	    .records = from->records,
	    .bytes = from->bytes,
	    .refused_records = from->refused_records,
	    .prolonged = from->prolonged,
	    .open = from->open,
	};
	return to->condition && to->function && to->saw && to->directory && to->problem ? 0
											: -ENOMEM;
}

/* Returns the first condition of FROM about a function that no process has hooked, or NULL. */
static const char *unseen(const Hk__Triggers *from)
{
	for (size_t i = 0; i < from->plan->n_conditions && i < 32; i++) {
		if (from->unseen >> i & 1) {
			return from->plan->conditions[i];
		}
	}
	return NULL;
}

int hk_report_triggers_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	const Hk__Job *job = snapshot->job;
	const Hk__Triggers *from = job ? job->triggers : NULL;
	struct hk_report_triggers *to = &report->triggers;
	size_t count = !from ? 0 : from->n_fired < FIRED_MOST ? from->n_fired : FIRED_MOST;
	int r = 0;

	to->why = hk_report_strings_get(&report->strings, from ? from->refused_why : "");
	to->list = calloc(count + 1, sizeof(*to->list));
	if (!to->list || !to->why) {
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = fill(report, snapshot, from->fired[i], &to->list[to->count++]);
	}
	to->refused = from ? from->refused : 0;
	to->too_soon = from ? from->too_soon : 0;
	if (from && from->plan) {
		const char *text = unseen(from);
		to->conditions = from->plan->n_conditions;
		to->unseen = text ? hk_report_strings_get(&report->strings, text) : NULL;
	}
	if (r == 0 && job && job->kept) {
		r = fill(report, snapshot, job->kept, &to->kept);
	}
	return r;
}

/* ---- sentences ---- */

static void subject_write(const struct hk_report_trigger *row, FILE *output)
{
	char name[HK_NAME_BYTES(TEXT_COLUMNS)], at[HK_QUANTITY_BYTES];

	fprintf(output, "trigger %" PRIu32 " at %s", row->number,
		hk_quantity_time(at, (double)row->at_ns));
	if (row->rank >= 0) {
		fprintf(output, ", rank %" PRId32, row->rank);
	}
	if (*row->function) {
		hk_name_print(name, TEXT_COLUMNS, row->function);
		fprintf(output, ", %s", name);
	}
	hk_name_print(name, TEXT_COLUMNS, *row->saw ? row->saw : row->condition);
	fprintf(output, ": %s", name);
}

static void kept_write(const struct hk_report_trigger *row, const char *files, FILE *output)
{
	char seconds[HK_QUANTITY_BYTES], bytes[HK_QUANTITY_BYTES];
	char directory[HK_NAME_BYTES(TEXT_COLUMNS)], shown[HK_NAME_BYTES(FILES_COLUMNS)];

	hk_name_print(directory, TEXT_COLUMNS, row->directory);
	hk_name_print_end(shown, FILES_COLUMNS, files);
	if (row->open) {
		fputs("; its records are being kept", output);
	} else if (row->records > 0) {
		fprintf(output, "; kept %" PRIu64 " records of %s (%s) in %s/%s", row->records,
			hk_quantity_time(seconds, (double)(row->until_ns - row->from_ns)),
			hk_quantity_bytes(bytes, row->bytes), shown, directory);
	} else {
		fputs("; kept nothing", output);
	}
}

static void row_write(const struct hk_report_trigger *row, const char *files, FILE *output)
{
	char problem[HK_NAME_BYTES(TEXT_COLUMNS)];

	subject_write(row, output);
	kept_write(row, files, output);
	hk_name_print(problem, TEXT_COLUMNS, row->problem);
	if (row->refused_records > 0) {
		fprintf(output, "; %" PRIu64 " records refused: %s", row->refused_records, problem);
	} else if (*row->problem) {
		fprintf(output, "; %s", problem);
	}
	if (*row->level) {
		fprintf(output, "; levels raised to %s", row->level);
	}
	if (row->prolonged > 0) {
		fprintf(output, "; prolonged %" PRIu32 " time%s", row->prolonged,
			row->prolonged == 1 ? "" : "s");
	}
	fputc('\n', output);
}

void hk_report_triggers_write(const struct hk_report *report, const char *prefix, const char *files,
			      FILE *output)
{
	const struct hk_report_triggers *triggers = &report->triggers;
	char why[HK_NAME_BYTES(TEXT_COLUMNS)];

	for (size_t i = 0; i < triggers->count; i++) {
		fputs(prefix, output);
		row_write(&triggers->list[i], files ? files : report->job.directory, output);
	}
	if (triggers->refused > 0) {
		hk_name_print(why, TEXT_COLUMNS, triggers->why);
		fprintf(output, "%s%" PRIu32 " trigger%s refused, last: %s\n", prefix,
			triggers->refused, triggers->refused == 1 ? "" : "s", why);
	}
	if (triggers->too_soon > 0) {
		fprintf(output,
			"%s%" PRIu32 " time%s a condition came true too soon after its trigger\n",
			prefix, triggers->too_soon, triggers->too_soon == 1 ? "" : "s");
	}
	if (triggers->conditions > 0 && triggers->count + triggers->refused == 0) {
		fprintf(output, "%sno trigger fired: %zu condition%s watched\n", prefix,
			triggers->conditions, triggers->conditions == 1 ? "" : "s");
	}
	if (triggers->unseen) {
		hk_name_print(why, TEXT_COLUMNS, triggers->unseen);
		fprintf(output,
			"%strigger '%s' is about a function that no process has hooked: hookcli "
			"report --by function lists those that were called\n",
			prefix, why);
	}
	if (triggers->kept.number) {
		char from[HK_QUANTITY_BYTES], until[HK_QUANTITY_BYTES];
		fputs(prefix, output);
		subject_write(&triggers->kept, output);
		fprintf(output,
			"; its records are here, from %s to %s; counts and times are of the whole "
			"job until then\n",
			hk_quantity_time(from, (double)triggers->kept.from_ns),
			hk_quantity_time(until, (double)triggers->kept.until_ns));
	}
}

/* ---- JSON ---- */

static json_t *text(const char *value)
{
	char *clean = hk_name_utf8(value);
	json_t *string = clean ? json_string_nocheck(clean) : NULL;

	free(clean);
	return string;
}

static json_t *number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *row_json(const struct hk_report_trigger *row)
{
	return json_pack(
	    "{s:o, s:o, s:I, s:o, s:o, s:o, s:f, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
	    "s:b}",
	    "number", number(row->number), "condition", text(row->condition), "time_ns",
	    (json_int_t)row->at_ns, "rank", row->rank < 0 ? json_null() : json_integer(row->rank),
	    "function", *row->function ? text(row->function) : json_null(), "saw", text(row->saw),
	    "value", row->value, "limit", row->limit, "from_ns", (json_int_t)row->from_ns,
	    "until_ns", (json_int_t)row->until_ns, "records", number(row->records), "bytes",
	    number(row->bytes), "refused_records", number(row->refused_records), "problem",
	    *row->problem ? text(row->problem) : json_null(), "level",
	    *row->level ? json_string(row->level) : json_null(), "prolonged",
	    number(row->prolonged), "directory", text(row->directory), "open", (int)row->open);
}

json_t *hk_report_triggers_json(const struct hk_report *report)
{
	const struct hk_report_triggers *triggers = &report->triggers;
	json_t *fired = json_array();

	for (size_t i = 0; i < triggers->count; i++) {
		json_array_append_new(fired, row_json(&triggers->list[i]));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "fired", fired, "refused",
			 number(triggers->refused), "refused_why",
			 *triggers->why ? text(triggers->why) : json_null(), "too_soon",
			 number(triggers->too_soon), "conditions", number(triggers->conditions),
			 "unseen", triggers->unseen ? text(triggers->unseen) : json_null(), "kept",
			 triggers->kept.number ? row_json(&triggers->kept) : json_null());
}
