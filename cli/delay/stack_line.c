#include "cli/delay/stack_line.h"

#include <stdio.h>
#include <string.h>

#include "cli/tables/stack_table.h"
#include "report/model/stacks.h"
#include "report/write/frame_text.h"
#include "text/name.h"

#define FRAMES_MOST 8u
#define FRAME_BYTES 512
#define FRAME_COLUMNS 60

/* Appends "NAME PLACE" to LINE. */
static void append(char *line, const char *name, const char *place)
{
	char shown[HK_NAME_BYTES(FRAME_COLUMNS)], shown_place[HK_NAME_BYTES(FRAME_COLUMNS)];
	size_t used = strlen(line);

	hk_name_print(shown, FRAME_COLUMNS, name);
	hk_name_print_end(shown_place, FRAME_COLUMNS, place);
	snprintf(line + used, HK_STACK_LINE_BYTES - used, "%s%s%s", used > 0 ? " <- " : "", shown,
		 shown_place);
}

static void frame_append(char *line, const Hk__Process *process, uint32_t number)
{
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	char name[FRAME_BYTES], place[FRAME_BYTES];
	struct hk_stacks_frame frame;

	if (!hk_stacks_frame(process, number, &frame) || frame.object == HK_STACKS_OBJECT_END) {
		return;
	}
	size_t count = hk_stacks_functions(process, number, functions);
	for (size_t i = 0; i < count; i++) {
		hk_frame_text_name(&frame, &functions[i], name, sizeof(name));
		hk_frame_text_place(&frame, &functions[i], place, sizeof(place));
		append(line, name, place);
	}
}

bool hk_stack_line(const Hk__Process *process, uint32_t stack, char line[HK_STACK_LINE_BYTES])
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];
	size_t count = process ? hk_stack_table_frames(process, stack, numbers) : 0;

	*line = '\0';
	for (size_t i = 0; i < count && i < FRAMES_MOST; i++) {
		frame_append(line, process, numbers[i]);
	}
	return *line != '\0';
}
