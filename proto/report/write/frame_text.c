#include "report/write/frame_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/demangle.h"
#include "text/name.h"

/* By enum hk_walk_end of the agent. */
static const char *end_of(uint64_t reason)
{
	static const char *const reasons[] = {
	    NULL,
	    "the stack is deeper",
	    "code without unwind information",
	    "unwind information that is not understood",
	    "no frame there",
	    "the process may not check its memory",
	};

	return reason < sizeof(reasons) / sizeof(reasons[0]) && reasons[reason]
		   ? reasons[reason]
		   : "an unknown reason";
}

void hk_frame_text_end(const struct hk_stacks_frame *frame, char *text, size_t size)
{
	snprintf(text, size, "[ends here: %s]", end_of(frame->address));
}

static void write_python(const struct hk_stacks_function *function, char *text, size_t size)
{
	const char *name = *function->name ? function->name : "?";
	const char *file = *function->file ? hk_name_base(function->file) : "?";

	if (function->line > 0) {
		snprintf(text, size, "%s (%s:%" PRIu32 ")", name, file, function->line);
	} else {
		snprintf(text, size, "%s (%s)", name, file);
	}
}

void hk_frame_text_name(const struct hk_stacks_frame *frame,
			const struct hk_stacks_function *function, char *text, size_t size)
{
	if (hk_stacks_is_python(frame)) {
		write_python(function, text, size);
	} else if (*function->name) {
		hk_demangle(function->name, text, size);
	} else if (*frame->path) {
		snprintf(text, size, "%s+0x%" PRIx64, hk_name_base(frame->path), frame->address);
	} else {
		snprintf(text, size, "[0x%" PRIx64 "]", frame->address);
	}
}

void hk_frame_text_place(const struct hk_stacks_frame *frame,
			 const struct hk_stacks_function *function, char *text, size_t size)
{
	if (hk_stacks_is_python(frame)) {
		text[0] = '\0';
	} else if (*function->file && function->line > 0) {
		snprintf(text, size, " (%s:%" PRIu32 ")", hk_name_base(function->file),
			 function->line);
	} else if (*function->name && *function->library) {
		snprintf(text, size, " (%s)", hk_name_base(function->library));
	} else {
		snprintf(text, size, "%s", *function->name ? " (generated code)" : "");
	}
}
