#include "cli/export/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

#include <uthash.h>

#define ROOM_FLOOR 256u
#define TEXT_BYTES 4096u
#define REST "..."

struct text {
	UT_hash_handle hh;
	char bytes[];
};

/* The frames of a process that were got, by number. */
struct known {
	struct hk_callers_frame **frames;
	size_t count;
};

struct hk_callers {
	hk_export_functions *functions;
	struct known *processes; /* by index */
	size_t process_count;
	struct text *texts;
};

struct hk_callers *hk_callers_new(const struct hk_export_job *job)
{
	struct hk_callers *callers = calloc(1, sizeof(*callers));

	if (callers) {
		callers->functions = job->functions;
		callers->processes = calloc(job->process_count + 1, sizeof(*callers->processes));
		callers->process_count = job->process_count;
	}
	if (callers && !callers->processes) {
		free(callers);
		return NULL;
	}
	return callers;
}

static void known_free(struct known *known)
{
	for (size_t i = 0; i < known->count; i++) {
		free(known->frames[i]);
	}
	free(known->frames);
}

void hk_callers_free(struct hk_callers *callers)
{
	struct text *text, *next;

	if (!callers) {
		return;
	}
	for (size_t i = 0; i < callers->process_count; i++) {
		known_free(&callers->processes[i]);
	}
	HASH_ITER (hh, callers->texts, text, next) {
		HASH_DEL(callers->texts, text);
		free(text);
	}
	free(callers->processes);
	free(callers);
}

size_t hk_callers_of(const struct hk_export_process *process, uint32_t stack,
		     uint32_t numbers[HK_CALLERS_MOST])
{
	struct hk_stacks_frame frame;
	size_t count = 0;

	while (process->stacks && count < HK_CALLERS_MOST &&
	       hk_stacks_frame(process->stacks, stack, &frame)) {
		numbers[count++] = stack;
		stack = frame.caller;
	}
	return count;
}

/* ---- frames ---- */

/* Returns the one copy of RAW as valid UTF-8, or NULL without memory. */
static const char *intern(struct hk_callers *callers, const char *raw)
{
	char bytes[TEXT_BYTES];
	size_t length = hk_utf8_copy(raw, bytes, sizeof(bytes));
	struct text *text;

	HASH_FIND(hh, callers->texts, bytes, length, text);
	if (!text) {
		text = calloc(1, sizeof(*text) + length + 1);
		if (!text) {
			return NULL;
		}
		memcpy(text->bytes, bytes, length);
		HASH_ADD_KEYPTR(hh, callers->texts, text->bytes, length, text);
		if (!text->hh.tbl) {
			free(text);
			return NULL;
		}
	}
	return text->bytes;
}

static int reserve(struct known *known, uint32_t number)
{
	size_t count = number + number / 2 + ROOM_FLOOR;

	if (number < known->count) {
		return 0;
	}
	struct hk_callers_frame **larger =
	    reallocarray(known->frames, count, sizeof(struct hk_callers_frame *));
	if (!larger) {
		return -ENOMEM;
	}
	memset(larger + known->count, 0, (count - known->count) * sizeof(*larger));
	known->frames = larger;
	known->count = count;
	return 0;
}

static struct hk_callers_frame *make(struct hk_callers *callers, const Hk__Process *process,
				     uint32_t number)
{
	struct hk_export_function list[HK_EXPORT_FUNCTIONS];
	size_t count = callers->functions(process, number, list);
	struct hk_callers_frame *frame =
	    calloc(1, sizeof(*frame) + count * sizeof(frame->functions[0]));

	for (size_t i = 0; frame && i < count; i++) {
		struct hk_caller *to = &frame->functions[frame->count++];
		to->text = intern(callers, list[i].text);
		to->name = intern(callers, list[i].name);
		to->library = intern(callers, list[i].library);
		to->file = intern(callers, list[i].file);
		to->line = list[i].line;
		if (!to->text || !to->name || !to->library || !to->file) {
			free(frame);
			return NULL;
		}
	}
	return frame;
}

const struct hk_callers_frame *
hk_callers_get(struct hk_callers *callers, const struct hk_export_process *process, uint32_t number)
{
	struct known *known = &callers->processes[process->index];

	if (reserve(known, number) < 0) {
		return NULL;
	}
	if (!known->frames[number]) {
		known->frames[number] = make(callers, process->stacks, number);
	}
	return known->frames[number];
}

int hk_callers_get_stack(struct hk_callers *callers, const struct hk_export_process *process,
			 uint32_t stack)
{
	uint32_t numbers[HK_CALLERS_MOST];

	/* A frame's callers are got before it. */
	if (hk_callers_next(callers, process, stack) == stack) {
		return 0;
	}
	for (size_t i = hk_callers_of(process, stack, numbers); i-- > 0;) {
		if (!hk_callers_get(callers, process, numbers[i])) {
			return -ENOMEM;
		}
	}
	return 0;
}

uint32_t hk_callers_next(const struct hk_callers *callers, const struct hk_export_process *process,
			 uint32_t number)
{
	const struct known *known = &callers->processes[process->index];

	while (number < known->count && !known->frames[number]) {
		number++;
	}
	return number < known->count ? number : 0;
}

/* ---- texts ---- */

/* A stack as one text in the making. */
struct writing {
	char *text;
	size_t used;
	char between;
	bool full;
};

static void add_text(struct writing *to, const char *text)
{
	size_t length = strlen(text);

	if (to->full) {
		return;
	}
	if (to->used + length + 2 + sizeof(REST) > HK_CALLERS_STACK_BYTES) {
		to->full = true;
		text = REST;
		length = strlen(REST);
	}
	if (to->used > 0) {
		to->text[to->used++] = to->between;
	}
	memcpy(to->text + to->used, text, length + 1);
	to->used += length;
}

int hk_callers_write(struct hk_callers *callers, const struct hk_export_process *process,
		     uint32_t stack, char between, char text[HK_CALLERS_STACK_BYTES])
{
	uint32_t numbers[HK_CALLERS_MOST];
	size_t count = hk_callers_of(process, stack, numbers);
	struct writing to = {.text = text, .between = between};

	for (size_t i = 0; i < count; i++) {
		const struct hk_callers_frame *frame = hk_callers_get(callers, process, numbers[i]);
		if (!frame) {
			return -ENOMEM;
		}
		for (uint32_t k = 0; k < frame->count; k++) {
			add_text(&to, frame->functions[k].text);
		}
	}
	return count > 0 ? 0 : -ENOENT;
}
