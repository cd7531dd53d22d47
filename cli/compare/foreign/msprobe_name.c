#include "cli/compare/foreign/msprobe_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The types of APIs, and what the names of rows begin with. Names of other types stay as they are.
 */
static const struct {
	const char *type, *prefix;
} types[] = {
    {"Functional", "torch.nn.functional."},
    {"Tensor", "torch.Tensor."},
    {"Torch", "torch."},
    {"VF", "torch._VF."},
    {"Distributed", "torch.distributed."},
    {"Aten", "torch.ops.aten."},
    {"NPU", "torch_npu."},
    {"MintFunctional", "mindspore.mint.nn.functional."},
    {"Mint", "mindspore.mint."},
};

void hk_msprobe_api_name(char name[HK_MSPROBE_NAME_BYTES], const char *type, const char *operation)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (!strcmp(types[i].type, type)) {
			snprintf(name, HK_MSPROBE_NAME_BYTES, "%s%s", types[i].prefix, operation);
			return;
		}
	}
	snprintf(name, HK_MSPROBE_NAME_BYTES, "%s.%s", type, operation);
}

void hk_msprobe_api_text(char text[HK_MSPROBE_NAME_BYTES], const char *name)
{
	const char *type = NULL, *operation = name;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		size_t length = strlen(types[i].prefix);
		if (!strncmp(name, types[i].prefix, length) &&
		    length > (size_t)(operation - name)) {
			type = types[i].type;
			operation = name + length;
		}
	}
	snprintf(text, HK_MSPROBE_NAME_BYTES, "%s%s%s", type ? type : "", type ? "." : "",
		 operation);
}

/* Cuts the part behind the last dot off TEXT. Returns it, or NULL. */
static char *part_cut(char *text)
{
	char *dot = strrchr(text, '.');

	if (!dot || dot == text || !dot[1]) {
		return NULL;
	}
	*dot = 0;
	return dot + 1;
}

static bool number_parse(const char *text, uint32_t *ret_number)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || number > UINT32_MAX) {
		return false;
	}
	*ret_number = (uint32_t)number;
	return true;
}

static bool phase_parse(const char *text, struct hk_msprobe_name *name)
{
	if (!strcmp(text, "parameters_grad")) {
		name->kind = HK_DUMP_STATE;
		name->phase = HK_DUMP_GRADIENT;
		return true;
	}
	name->phase = !strcmp(text, "backward") ? HK_DUMP_BACKWARD : HK_DUMP_FORWARD;
	return name->phase == HK_DUMP_BACKWARD || !strcmp(text, "forward");
}

/* TEXT is "c1.Conv2d.forward.0": path, class, phase and, but for gradients of old, number. */
static bool module_parse(struct hk_msprobe_name *name, char *text)
{
	char *last = part_cut(text);

	name->kind = HK_DUMP_MODULE;
	if (!last) {
		return false;
	}
	if (number_parse(last, &name->number) && !(last = part_cut(text))) {
		return false;
	}
	char *class = phase_parse(last, name) ? part_cut(text) : NULL;
	if (!class) {
		return false;
	}
	snprintf(name->name, sizeof(name->name), "%s", text);
	snprintf(name->of, sizeof(name->of), "%s", class);
	return true;
}

/* TEXT is "Functional.conv2d.0.forward". */
static bool api_parse(struct hk_msprobe_name *name, char *text)
{
	char *phase = part_cut(text), *number = phase ? part_cut(text) : NULL;
	char *operation = strchr(text, '.');

	if (!number || !operation || !phase_parse(phase, name) || name->kind == HK_DUMP_STATE ||
	    !number_parse(number, &name->number)) {
		return false;
	}
	*operation = 0;
	hk_msprobe_api_name(name->name, text, operation + 1);
	return true;
}

bool hk_msprobe_name_parse(struct hk_msprobe_name *name, const char *text)
{
	char copy[HK_MSPROBE_NAME_BYTES];

	*name = (struct hk_msprobe_name){.kind = HK_DUMP_API};
	if (strlen(text) >= sizeof(copy)) {
		return false;
	}
	snprintf(copy, sizeof(copy), "%s", text);
	for (const char *const *prefix = (const char *const[]){"Module.", "Cell.", NULL}; *prefix;
	     prefix++) {
		if (!strncmp(copy, *prefix, strlen(*prefix))) {
			return module_parse(name, copy + strlen(*prefix));
		}
	}
	return api_parse(name, copy);
}

void hk_msprobe_frame(char frame[HK_MSPROBE_NAME_BYTES], const char *text)
{
	const char *line = strstr(text, ", line "), *function = line ? strstr(line, ", in ") : NULL;

	if (strncmp(text, "File ", 5) != 0 || !function) {
		snprintf(frame, HK_MSPROBE_NAME_BYTES, "%s", text);
		return;
	}
	text += 5;
	line += 7;
	const char *name = function + 5;
	snprintf(frame, HK_MSPROBE_NAME_BYTES, "%.*s:%.*s %.*s", (int)(line - 7 - text), text,
		 (int)(function - line), line, (int)strcspn(name, ",\n"), name);
}
