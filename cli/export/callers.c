#include "cli/export/callers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

#include <uthash.h>

#define ROOM_FLOOR 256u
#define REST "..."

struct text {
	UT_hash_handle hh;
	char bytes[];
};

/* The texts of a process's frames, by number. */
struct names {
	const char **texts;
	size_t count;
};

struct hk_callers {
	hk_frame_text *name;
	struct names *processes; /* by index */
	size_t process_count;
	struct text *texts;
};

struct hk_callers *hk_callers_new(const struct hk_export_job *job)
{
	struct hk_callers *callers = calloc(1, sizeof(*callers));

	if (callers) {
		callers->name = job->frame_text;
		callers->processes = calloc(job->process_count + 1, sizeof(*callers->processes));
		callers->process_count = job->process_count;
	}
	if (callers && !callers->processes) {
		free(callers);
		return NULL;
	}
	return callers;
}

void hk_callers_free(struct hk_callers *callers)
{
	struct text *text, *next;

	if (!callers) {
		return;
	}
	for (size_t i = 0; i < callers->process_count; i++) {
		free(callers->processes[i].texts);
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

static const char *intern(struct hk_callers *callers, const char *bytes)
{
	struct text *text;

	HASH_FIND_STR(callers->texts, bytes, text);
	if (!text) {
		size_t length = strlen(bytes);

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

static int reserve(struct names *names, uint32_t number)
{
	size_t count = number + number / 2 + ROOM_FLOOR;

	if (number < names->count) {
		return 0;
	}
	const char **larger = reallocarray(names->texts, count, sizeof(*larger));
	if (!larger) {
		return -ENOMEM;
	}
	memset(larger + names->count, 0, (count - names->count) * sizeof(*larger));
	names->texts = larger;
	names->count = count;
	return 0;
}

const char *hk_callers_text(struct hk_callers *callers, const struct hk_export_process *process,
			    uint32_t number)
{
	struct names *names = &callers->processes[process->index];
	char raw[HK_CALLERS_TEXT_BYTES], text[HK_CALLERS_TEXT_BYTES];
	struct hk_stacks_frame frame;

	if (number < names->count && names->texts[number]) {
		return names->texts[number];
	}
	if (!hk_stacks_frame(process->stacks, number, &frame)) {
		return "";
	}
	if (reserve(names, number) < 0) {
		return NULL;
	}
	callers->name(&frame, raw, sizeof(raw));
	hk_utf8_copy(raw, text, sizeof(text));
	names->texts[number] = intern(callers, text);
	return names->texts[number];
}

int hk_callers_name(struct hk_callers *callers, const struct hk_export_process *process,
		    uint32_t stack)
{
	uint32_t numbers[HK_CALLERS_MOST];

	/* A frame's callers are named before it. */
	if (hk_callers_named(callers, process, stack) == stack) {
		return 0;
	}
	for (size_t i = hk_callers_of(process, stack, numbers); i-- > 0;) {
		if (!hk_callers_text(callers, process, numbers[i])) {
			return -ENOMEM;
		}
	}
	return 0;
}

uint32_t hk_callers_named(const struct hk_callers *callers, const struct hk_export_process *process,
			  uint32_t number)
{
	const struct names *names = &callers->processes[process->index];

	while (number < names->count && !names->texts[number]) {
		number++;
	}
	return number < names->count ? number : 0;
}

int hk_callers_write(struct hk_callers *callers, const struct hk_export_process *process,
		     uint32_t stack, char between, char text[HK_CALLERS_STACK_BYTES])
{
	uint32_t numbers[HK_CALLERS_MOST];
	size_t count = hk_callers_of(process, stack, numbers), used = 0;

	for (size_t i = 0; i < count; i++) {
		const char *frame = hk_callers_text(callers, process, numbers[i]);
		size_t length = frame ? strlen(frame) : 0;

		if (!frame) {
			return -ENOMEM;
		}
		if (used + length + 1 + sizeof(REST) > HK_CALLERS_STACK_BYTES) {
			frame = REST;
			length = strlen(REST);
			count = i + 1;
		}
		memcpy(text + used, frame, length);
		used += length;
		text[used++] = i + 1 < count ? between : '\0';
	}
	return count > 0 ? 0 : -ENOENT;
}
