#include "cli/tables/frame_json.h"

#include "report/model/stacks.h"
#include "report/write/frame_text.h"
#include "text/demangle.h"

#define TEXT_BYTES 128	/* of why a stack ends */
#define NAME_BYTES 8192 /* of a whole name */

static void write_or_null(struct hk_json *json, const char *name, const char *text)
{
	if (*text) {
		hk_json_string(json, name, text);
	} else {
		hk_json_null(json, name);
	}
}

static void write_python(const struct hk_stacks_frame *frame, struct hk_json *json)
{
	hk_json_string(json, "language", "python");
	hk_json_string(json, "function", frame->name);
	hk_json_string(json, "file", frame->path);
	if (frame->address) {
		hk_json_uint(json, "line", frame->address);
	} else {
		hk_json_null(json, "line");
	}
	hk_json_uint(json, "first_line", frame->first_line);
	hk_json_bool(json, "inlined", false);
}

static void write_function(const struct hk_stacks_function *function, uint64_t address,
			   struct hk_json *json)
{
	char text[NAME_BYTES] = "";

	if (*function->name) {
		hk_demangle(function->name, text, sizeof(text));
	}
	write_or_null(json, "function", text);
	write_or_null(json, "mangled", function->name);
	hk_json_string(json, "library", function->library);
	hk_json_uint(json, "address", address);
	write_or_null(json, "file", function->file);
	hk_json_uint(json, "line", function->line);
	hk_json_bool(json, "inlined", function->inlined);
}

static void write_end(const struct hk_stacks_frame *frame, struct hk_json *json)
{
	char text[TEXT_BYTES];

	hk_frame_text_end(frame, text, sizeof(text));
	hk_json_string(json, "end", text);
}

void hk_frame_json_write(const Hk__Process *process, uint32_t number, struct hk_json *json)
{
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	struct hk_stacks_frame frame;
	size_t count = hk_stacks_functions(process, number, functions);

	hk_stacks_frame(process, number, &frame);
	for (size_t i = 0; i < count; i++) {
		hk_json_open(json, NULL, '{');
		if (frame.object == HK_STACKS_OBJECT_END) {
			write_end(&frame, json);
		} else if (hk_stacks_is_python(&frame)) {
			write_python(&frame, json);
		} else {
			write_function(&functions[i], frame.address, json);
		}
		hk_json_close(json, '}');
	}
}
