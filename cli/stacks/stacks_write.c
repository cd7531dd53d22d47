#include "cli/stacks/stacks_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tables/frame_json.h"
#include "cli/tables/stack_rows.h"
#include "report/model/role.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"

#define FRAME_COLUMNS 100
#define LABEL_COLUMNS 24
#define RANKS_COLUMNS 28
#define LINES_MOST 6u	 /* of one stack on a terminal */
#define FRAMES_SHOWN 24u /* of one stack elsewhere */
#define LABEL_BYTES 96
#define NOTE_BYTES 1024

/* ---- parts of a line ---- */

/* Writes RANKS as "ranks 0-2,4", cut to SIZE. */
static void write_ranks(const struct hk_stack_group *group, size_t all, char *text, size_t size)
{
	size_t used = 0;

	if (group->rank_count == 0) {
		snprintf(text, size, "-");
		return;
	}
	if (group->rank_count == all && all > 1) {
		snprintf(text, size, "all");
		return;
	}
	used = (size_t)snprintf(text, size, group->rank_count > 1 ? "ranks " : "rank ");
	for (size_t i = 0; i < group->rank_count && used < size;) {
		size_t last = i;
		while (last + 1 < group->rank_count &&
		       group->ranks[last + 1] == group->ranks[last] + 1) {
			last++;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%" PRId32, i ? "," : "",
					 group->ranks[i]);
		if (last > i && used < size) {
			used += (size_t)snprintf(text + used, size - used, "%c%" PRId32,
						 last > i + 1 ? '-' : ',', group->ranks[last]);
		}
		i = last + 1;
	}
}

/* Writes what the group is in, or why it has no stack. */
static void write_note(const struct hk_stack_group *group, char text[NOTE_BYTES])
{
	char function[HK_NAME_BYTES(FRAME_COLUMNS / 2)], missing[HK_NAME_BYTES(FRAME_COLUMNS)];
	char least[HK_QUANTITY_BYTES], most[HK_QUANTITY_BYTES];
	size_t used = 0;

	text[0] = '\0';
	if (group->call) {
		hk_name_print(function, FRAME_COLUMNS / 2, group->call->function);
		hk_quantity_time(least, (double)group->least_ns);
		hk_quantity_time(most, (double)group->most_ns);
		bool same = strcmp(least, most) == 0;
		used = (size_t)snprintf(text, NOTE_BYTES, "in %s for %s%s%s", function, least,
					same ? "" : " to ", same ? "" : most);
	}
	if (group->thread->stack == 0 && used < NOTE_BYTES) {
		hk_name_print(missing, FRAME_COLUMNS, group->thread->missing);
		snprintf(text + used, NOTE_BYTES - used, "%sno stack: %s", used ? "; " : "",
			 *missing ? missing : "out of memory");
	}
}

/* ---- text ---- */

struct line {
	FILE *output;
	unsigned width, indent, column, lines;
};

/* Writes TEXT, of COLUMNS characters, where there is room: on this line or the next. */
static void put(struct line *line, const char *text, unsigned columns)
{
	if (line->width > 0 && line->column > line->indent &&
	    line->column + 1 + columns > line->width) {
		fprintf(line->output, "\n%*s", (int)line->indent, "");
		line->column = line->indent;
		line->lines++;
	} else {
		fputc(' ', line->output);
		line->column++;
	}
	fputs(text, line->output);
	line->column += columns;
}

/* Writes the functions at frame NUMBER, innermost first. */
static void write_frame(const Hk__Process *process, uint32_t number, struct line *line)
{
	struct hk_export_function functions[HK_EXPORT_FUNCTIONS];
	char text[HK_NAME_BYTES(FRAME_COLUMNS)];
	size_t count = hk_stack_rows_functions(process, number, functions);

	for (size_t i = 0; i < count; i++) {
		if (i > 0) {
			put(line, "<-", 2);
		}
		hk_name_print(text, FRAME_COLUMNS, functions[i].text);
		put(line, text, (unsigned)strlen(text));
	}
}

static void write_chain(const struct hk_stack_group *group, const struct hk_stacks_look *look,
			struct line *line)
{
	char more[48];
	uint32_t numbers[HK_GROUPS_FRAMES];
	size_t count = hk_stack_groups_frames(group->process, group->thread, numbers);

	for (size_t i = 0; i < count; i++) {
		bool over = look->width > 0 ? line->lines >= LINES_MOST : i >= FRAMES_SHOWN;
		if (over && !look->all && i + 1 < count) {
			int columns = snprintf(more, sizeof(more), "<- %zu more (-a)", count - i);
			put(line, more, (unsigned)columns);
			return;
		}
		if (i > 0) {
			put(line, "<-", 2);
		}
		write_frame(group->process, numbers[i], line);
	}
}

static void write_group(const struct hk_stack_groups *groups, const struct hk_stack_group *group,
			const struct hk_stacks_look *look, int ranks_width, bool odd, FILE *output)
{
	char ranks[256], shown[HK_NAME_BYTES(RANKS_COLUMNS)], label[LABEL_BYTES];
	char name[HK_NAME_BYTES(LABEL_COLUMNS)], note[NOTE_BYTES];
	bool coloured = look->colour && (odd || group->idle);

	write_ranks(group, groups->ranks, ranks, sizeof(ranks));
	hk_name_print(shown, RANKS_COLUMNS, ranks);
	hk_stack_groups_label(group->process, group->thread, label, sizeof(label));
	hk_name_print(name, LABEL_COLUMNS, label);
	write_note(group, note);
	fputs(coloured ? (odd ? "\033[1;33m" : "\033[2m") : "", output);
	int head = fprintf(output, "%-*s  %-10s %4zu x ", ranks_width, look->width ? shown : ranks,
			   name, group->threads);
	struct line line = {.output = output, .width = look->width};
	line.column = head > 0 ? (unsigned)head : 0;
	line.indent = line.column;
	if (line.width > 0 && line.indent > line.width / 2) {
		line.indent = 4;
	}
	if (*note) {
		put(&line, note, (unsigned)strlen(note));
		if (group->thread->stack != 0) {
			put(&line, "|", 1);
		}
	}
	write_chain(group, look, &line);
	fputs(coloured ? "\033[0m\n" : "\n", output);
}

static int ranks_width_of(const struct hk_stack_groups *groups, const struct hk_stacks_look *look)
{
	char text[256];
	size_t width = 4;

	for (size_t i = 0; i < groups->count; i++) {
		if (look->all || !groups->groups[i].idle) {
			write_ranks(&groups->groups[i], groups->ranks, text, sizeof(text));
			width = strlen(text) > width ? strlen(text) : width;
		}
	}
	return (int)(width < RANKS_COLUMNS ? width : RANKS_COLUMNS);
}

/* Returns the smallest group of first threads, or NULL if it is not smaller than another one. */
static const struct hk_stack_group *odd_of(const struct hk_stack_groups *groups)
{
	const struct hk_stack_group *odd = NULL;
	size_t most = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		if (group->is_main && !group->idle) {
			most = group->rank_count > most ? group->rank_count : most;
			odd = !odd || group->rank_count < odd->rank_count ? group : odd;
		}
	}
	return odd && odd->rank_count < most ? odd : NULL;
}

static void write_hidden(const struct hk_stack_groups *groups, FILE *output)
{
	size_t threads = 0;

	for (size_t i = 0; i < groups->count; i++) {
		threads += groups->groups[i].idle ? groups->groups[i].threads : 0;
	}
	if (threads > 0) {
		fprintf(output, "%zu idle thread%s not shown (-a shows them)\n", threads,
			threads == 1 ? "" : "s");
	}
}

/* Writes why interpreters are not read, and why stacks that are shown lack Python frames. Equal
 * reasons in succession are written once. */
static void write_python_notes(const struct hk_stack_groups *groups, const Hk__StacksReply *reply,
			       const struct hk_stacks_look *look, FILE *output)
{
	char note[NOTE_BYTES], last[NOTE_BYTES] = "", shown[HK_NAME_BYTES(FRAME_COLUMNS)];

	for (size_t i = 0; i < reply->n_processes; i++) {
		if (hk_stacks_without_python(reply->processes[i], note, sizeof(note)) &&
		    strcmp(note, last) != 0) {
			fprintf(output, "! %s\n", note);
			memcpy(last, note, sizeof(last));
		}
	}
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		if ((look->all || !group->idle) && *group->thread->python_missing &&
		    strcmp(group->thread->python_missing, last) != 0) {
			hk_name_print(shown, FRAME_COLUMNS, group->thread->python_missing);
			fprintf(output, "! no Python frames in some stacks: %s\n", shown);
			snprintf(last, sizeof(last), "%s", group->thread->python_missing);
		}
	}
}

int hk_stacks_write_text(const struct hk_stack_groups *groups, const Hk__StacksReply *reply,
			 const char *job, const struct hk_stacks_look *look, FILE *output)
{
	char name[HK_NAME_BYTES(FRAME_COLUMNS)];
	const struct hk_stack_group *odd = odd_of(groups);
	int ranks_width = ranks_width_of(groups, look);
	bool silent = false;

	hk_name_print(name, FRAME_COLUMNS, job);
	fprintf(output, "hooktrace stacks  %s  %zu rank%s, %zu thread%s\n\n", name, groups->ranks,
		groups->ranks == 1 ? "" : "s", groups->threads, groups->threads == 1 ? "" : "s");
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_stack_group *group = &groups->groups[i];
		if (look->all || !group->idle) {
			bool is_odd = odd && group->is_main && group->rank_count == odd->rank_count;
			write_group(groups, group, look, ranks_width, is_odd, output);
			silent |= group->thread->stack == 0;
		}
	}
	if (!look->all) {
		write_hidden(groups, output);
	}
	for (size_t i = 0; i < reply->n_missing; i++) {
		hk_name_print(name, FRAME_COLUMNS, reply->missing[i]);
		fprintf(output, "! %s\n", name);
	}
	hk_unread_write_text(&groups->unread, output);
	write_python_notes(groups, reply, look, output);
	if (silent) {
		fputs("--ptrace stops threads that do not answer for a moment, and reads their "
		      "stacks\n",
		      output);
	}
	return ferror(output) ? -EIO : 0;
}

/* ---- JSON ---- */

static void write_frames(const Hk__Process *process, const Hk__ThreadStack *thread,
			 struct hk_json *json)
{
	uint32_t numbers[HK_GROUPS_FRAMES];
	size_t count = hk_stack_groups_frames(process, thread, numbers);

	hk_json_open(json, "frames", '[');
	for (size_t i = 0; i < count; i++) {
		hk_frame_json_write(process, numbers[i], json);
	}
	hk_json_close(json, ']');
}

static void write_missing(const Hk__ThreadStack *thread, struct hk_json *json)
{
	if (thread->stack == 0) {
		hk_json_string(json, "missing", thread->missing);
	} else {
		hk_json_null(json, "missing");
	}
}

static void write_without_python(const Hk__Process *process, const Hk__ThreadStack *thread,
				 struct hk_json *json)
{
	char note[NOTE_BYTES];

	if (hk_stacks_without_python(process, note, sizeof(note))) {
		hk_json_string(json, "python_missing", note);
	} else if (*thread->python_missing) {
		hk_json_string(json, "python_missing", thread->python_missing);
	} else {
		hk_json_null(json, "python_missing");
	}
}

static void write_calls(const Hk__Process *process, const Hk__ThreadStack *thread,
			struct hk_json *json)
{
	hk_json_open(json, "open_calls", '[');
	for (size_t i = 0; i < process->n_open_calls; i++) {
		const Hk__OpenCall *call = process->open_calls[i];
		for (size_t k = 0; k < process->n_sites && call->tid == thread->tid; k++) {
			const Hk__Site *site = process->sites[k];
			if (site->id == call->site) {
				hk_json_open(json, NULL, '{');
				hk_json_uint(json, "depth", call->depth);
				hk_json_string(json, "function", site->function);
				hk_json_string(json, "library", site->library);
				hk_json_uint(json, "open_ns", hk_stack_groups_age(process, call));
				hk_json_close(json, '}');
			}
		}
	}
	hk_json_close(json, ']');
}

static void write_thread(const Hk__Process *process, const Hk__ThreadStack *thread,
			 struct hk_json *json)
{
	hk_json_open(json, NULL, '{');
	hk_json_uint(json, "tid", thread->tid);
	hk_json_string(json, "name", thread->name);
	hk_json_string(json, "state", thread->state);
	hk_json_bool(json, "idle", hk_stack_groups_is_idle(process, thread));
	hk_json_bool(json, "traced", thread->traced);
	write_missing(thread, json);
	write_without_python(process, thread, json);
	write_calls(process, thread, json);
	write_frames(process, thread, json);
	hk_json_close(json, '}');
}

static void write_process(const Hk__Process *process, struct hk_json *json)
{
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_int(json, "rank", hk_report_rank_of(process));
	hk_json_string(json, "role", hk_report_role_of(process));
	hk_json_string(json, "host", process->host);
	hk_json_uint(json, "pid", process->pid);
	hk_json_string(json, "command", process->command);
	hk_json_open(json, "threads", '[');
	for (size_t i = 0; i < process->n_thread_stacks && hk_stacks_valid(process); i++) {
		write_thread(process, process->thread_stacks[i], json);
	}
	hk_json_close(json, ']');
	hk_json_close(json, '}');
}

static void write_json_group(const struct hk_stack_group *group, struct hk_json *json)
{
	char label[LABEL_BYTES];

	hk_stack_groups_label(group->process, group->thread, label, sizeof(label));
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_open(json, "ranks", '[');
	for (size_t i = 0; i < group->rank_count; i++) {
		hk_json_int(json, NULL, group->ranks[i]);
	}
	hk_json_close(json, ']');
	hk_json_string(json, "thread", label);
	hk_json_uint(json, "threads", group->threads);
	hk_json_bool(json, "idle", group->idle);
	if (group->call) {
		hk_json_string(json, "function", group->call->function);
		hk_json_uint(json, "open_min_ns", group->least_ns);
		hk_json_uint(json, "open_max_ns", group->most_ns);
	} else {
		hk_json_null(json, "function");
		hk_json_null(json, "open_min_ns");
		hk_json_null(json, "open_max_ns");
	}
	write_missing(group->thread, json);
	write_frames(group->process, group->thread, json);
	hk_json_close(json, '}');
}

int hk_stacks_write_json(const struct hk_stack_groups *groups, const Hk__StacksReply *reply,
			 const char *job, FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	hk_json_string(&json, "job", job);
	hk_json_open(&json, "groups", '[');
	for (size_t i = 0; i < groups->count; i++) {
		write_json_group(&groups->groups[i], &json);
	}
	hk_json_close(&json, ']');
	hk_json_newline(&json);
	hk_json_open(&json, "processes", '[');
	for (size_t i = 0; i < reply->n_processes; i++) {
		write_process(reply->processes[i], &json);
	}
	hk_json_close(&json, ']');
	hk_json_newline(&json);
	hk_json_open(&json, "missing", '[');
	for (size_t i = 0; i < reply->n_missing; i++) {
		hk_json_string(&json, NULL, reply->missing[i]);
	}
	hk_json_close(&json, ']');
	hk_unread_write_json(&groups->unread, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}
