#include "cli/compare/foreign/ptdbg_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/foreign/msprobe_name.h"

/* How a name ends, before the slot. */
static const struct {
	const char *text;
	enum hk_dump_phase phase;
	enum hk_dump_role role;
	bool is_stack;
} endings[] = {
    {"_forward_input", HK_DUMP_FORWARD, HK_DUMP_INPUT, false},
    {"_forward_output", HK_DUMP_FORWARD, HK_DUMP_OUTPUT, false},
    {"_backward_input", HK_DUMP_BACKWARD, HK_DUMP_INPUT, false},
    {"_backward_output", HK_DUMP_BACKWARD, HK_DUMP_OUTPUT, false},
    {"_forward_stack_info", HK_DUMP_FORWARD, HK_DUMP_INPUT, true},
    {"_backward_stack_info", HK_DUMP_BACKWARD, HK_DUMP_INPUT, true},
};

/* Cuts ".0.1" off the end of TEXT. */
static void slot_take(struct hk_ptdbg_name *name, char *text)
{
	char *start = text + strlen(text);

	while (start > text && ((start[-1] >= '0' && start[-1] <= '9') || start[-1] == '.')) {
		start--;
	}
	start += strcspn(start, ".");
	snprintf(name->slot, sizeof(name->slot), "%s", *start ? start + 1 : "");
	*start = 0;
}

static bool ending_take(struct hk_ptdbg_name *name, char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t ending = strlen(endings[i].text);
		if (length > ending && !strcmp(text + length - ending, endings[i].text)) {
			name->phase = endings[i].phase;
			name->role = endings[i].role;
			name->is_stack = endings[i].is_stack;
			text[length - ending] = 0;
			return true;
		}
	}
	return false;
}

/* Takes "21_" off the front. Returns the rest. */
static char *firing_take(struct hk_ptdbg_name *name, char *text)
{
	char *end;

	if (*text < '0' || *text > '9') {
		return text;
	}
	name->firing = strtoull(text, &end, 10);
	name->has_firing = *end == '_';
	return *end == '_' ? end + 1 : text;
}

/* Takes "_3" off the end of an operation. */
static void number_take(struct hk_ptdbg_name *name, char *operation)
{
	char *underscore = strrchr(operation, '_'), *end;

	if (!underscore || underscore == operation || underscore[1] < '0' || underscore[1] > '9') {
		return;
	}
	unsigned long number = strtoul(underscore + 1, &end, 10);
	if (!*end && number <= UINT32_MAX) {
		name->number = (uint32_t)number;
		name->has_number = true;
		*underscore = 0;
	}
}

bool hk_ptdbg_name_parse(struct hk_ptdbg_name *name, const char *text)
{
	char copy[HK_PTDBG_NAME_BYTES];

	*name = (struct hk_ptdbg_name){.phase = HK_DUMP_FORWARD};
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy)) {
		return false;
	}
	slot_take(name, copy);
	if (!ending_take(name, copy)) {
		return false;
	}
	char *type = firing_take(name, copy), *operation = strchr(type, '_');
	if (!operation || operation == type || !operation[1]) {
		return false;
	}
	*operation++ = 0;
	if (!name->has_firing) {
		number_take(name, operation);
	}
	hk_msprobe_api_name(name->api, type, operation);
	return true;
}
