#include "cli/log/log_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "hooks/hook.h"
#include "hooks/names.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 120
#define VALUE_BYTES 300

#define DIM "\033[2m"
#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

struct line {
	char *text;
	size_t used;
	bool colour;
};

static void __attribute__((format(printf, 2, 3))) put(struct line *line, const char *format, ...)
{
	size_t room = HK_LOG_LINE_BYTES - line->used;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line->text + line->used, room, format, arguments);
	va_end(arguments);
	line->used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static void paint(struct line *line, const char *colour)
{
	if (line->colour) {
		put(line, "%s", colour);
	}
}

static void put_name(struct line *line, const char *name)
{
	char text[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print(text, NAME_COLUMNS, name);
	put(line, "%s", text);
}

static void put_origin(struct line *line, const struct hk_log_style *style,
		       const struct hk_export_process *process, uint64_t time_ns)
{
	int64_t since = (int64_t)(time_ns - style->origin_ns);
	uint64_t ns = since < 0 ? 0 - (uint64_t)since : (uint64_t)since;

	paint(line, DIM);
	put(line, "%s%" PRIu64 ".%09" PRIu64 " ", since < 0 ? "-" : "", ns / 1000000000u,
	    ns % 1000000000u);
	paint(line, PLAIN);
	if (process->rank < 0) {
		put(line, "- ");
	} else {
		put(line, "%" PRId32 "%s ", process->rank, process->is_main ? "" : "/helper");
	}
}

static void put_value(struct line *line, const struct hk_export_site *site, uint8_t key,
		      uint64_t word)
{
	char text[VALUE_BYTES];
	double value;

	switch (hk_exporter_value_form(key)) {
	case HK_VALUE_INT64:
		put(line, "%" PRId64, (int64_t)word);
		break;
	case HK_VALUE_INT32:
		put(line, "%" PRId32, (int32_t)word);
		break;
	case HK_VALUE_HANDLE:
		put(line, "0x%" PRIx64, word);
		break;
	case HK_VALUE_DOUBLE:
		memcpy(&value, &word, sizeof(value));
		hk_argument_print_double(value, text, sizeof(text));
		put(line, "%s", text);
		break;
	case HK_VALUE_TEXT:
		put_name(line, hk_exporter_value_text(site, key, word, text));
		break;
	default:
		put(line, "%" PRIu64, word);
		break;
	}
}

/* Writes the kernel of a launch, whose arguments are known, before them. */
static void put_kernel(struct line *line, const struct hk_slice *slice)
{
	for (uint32_t i = 0; i < slice->word_count; i++) {
		if (slice->site->keys[i] == HK_KEY_KERNEL && slice->words[i]) {
			put(line, "%s=", hk_key_name(HK_KEY_KERNEL));
			put_value(line, slice->site, HK_KEY_KERNEL, slice->words[i]);
			put(line, ", ");
		}
	}
}

/* Writes the call's arguments if they are known, else its named values. */
static void put_arguments(struct line *line, const struct hk_slice *slice)
{
	struct hk_arguments arguments;
	char name[HK_ARGUMENT_NAME_BYTES], value[VALUE_BYTES];
	bool known = hk_slice_arguments(slice, &arguments);

	/* A name such as "f (model.py:1)" is no name of a function of C. */
	if (!known && slice->word_count == 0 && strchr(slice->site->function, '(')) {
		return;
	}
	put(line, "(");
	if (known) {
		put_kernel(line, slice);
	}
	for (uint32_t i = 0; known && i < arguments.count; i++) {
		hk_argument_name(&arguments.list[i], name);
		hk_argument_print(&arguments.list[i], value, sizeof(value));
		put(line, "%s%s=%s", i ? ", " : "", name, value);
	}
	bool first = true;
	for (uint32_t i = 0; !known && i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];
		if (hk_exporter_value_form(key) != HK_VALUE_UNNAMED && !slice->unwound &&
		    hk_exporter_has_value(key, slice->words[i])) {
			put(line, "%s%s=", first ? "" : ", ", hk_key_name(key));
			put_value(line, slice->site, key, slice->words[i]);
			first = false;
		}
	}
	put(line, ")");
	if (known && arguments.result.form != HK_ARGUMENT_NONE) {
		hk_argument_print(&arguments.result, value, sizeof(value));
		put(line, " = %s", value);
	}
}

static void put_instant(struct line *line, const struct hk_slice *slice)
{
	bool counter = slice->site->meaning == HK_MEANING_COUNTER;

	put(line, counter ? "counter " : "mark ");
	put_name(line, slice->site->function);
	if (slice->word_count) {
		put(line, counter ? " = " : " ");
		put_value(line, slice->site, slice->site->keys[0], slice->words[0]);
	}
}

static void put_call(struct line *line, const struct hk_slice *slice)
{
	uint64_t ns = slice->end_ns - slice->start_ns;

	paint(line, slice->failed ? RED : BOLD);
	put_name(line, slice->site->function);
	paint(line, PLAIN);
	put_arguments(line, slice);
	put(line, slice->failed ? " failed" : slice->unwound ? " never returned" : "");
	paint(line, DIM);
	if (ns < 1000000u) {
		put(line, " <%" PRIu64 ".%03" PRIu64 "us>", ns / 1000, ns % 1000);
	} else if (ns < 1000000000u) {
		put(line, " <%" PRIu64 ".%03" PRIu64 "ms>", ns / 1000000, ns / 1000 % 1000);
	} else {
		put(line, " <%" PRIu64 ".%03" PRIu64 "s>", ns / 1000000000u, ns / 1000000 % 1000);
	}
	paint(line, PLAIN);
}

/* Ends the line with a newline. A cut line with colours also resets them. */
static size_t finish(struct line *line)
{
	static const char end[] = PLAIN "\n";
	size_t most = HK_LOG_LINE_BYTES - sizeof(end);

	if (line->used > most) {
		line->used = most;
		put(line, "%s", line->colour ? end : "\n");
	} else {
		put(line, "\n");
	}
	return line->used;
}

size_t hk_log_line_call(const struct hk_log_style *style, const struct hk_export_thread *thread,
			const struct hk_slice *slice, char text[HK_LOG_LINE_BYTES])
{
	struct line line = {.text = text, .colour = style->colour};
	uint8_t meaning = slice->site->meaning;

	put_origin(&line, style, thread->process, slice->start_ns);
	put(&line, "%" PRIu32 " ", thread->show_tid);
	put_name(&line, hk_name_base(slice->site->library));
	put(&line, " ");
	if (hk_meaning_is_instant(meaning) && !hk_meaning_is_activity(meaning)) {
		put_instant(&line, slice);
	} else {
		put_call(&line, slice);
	}
	return finish(&line);
}

size_t hk_log_line_gap(const struct hk_log_style *style, const struct hk_export_process *process,
		       uint64_t time_ns, const struct hk_export_gap *gap,
		       char text[HK_LOG_LINE_BYTES])
{
	struct line line = {.text = text, .colour = style->colour};

	put_origin(&line, style, process, time_ns);
	paint(&line, RED);
	put(&line, "%s %" PRIu64 " records", gap->why, gap->records);
	paint(&line, PLAIN);
	return finish(&line);
}
