#include "cli/compare/foreign/csv/msprobe_call_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "cli/compare/foreign/msprobe_gradients.h"
#include "cli/compare/foreign/msprobe_name.h"

/* A forward call. */
struct forward {
	uint64_t sequence;
	uint32_t number;
	UT_hash_handle hh;
};

struct module {
	const char *path, *class; /* of a row */
	UT_hash_handle hh;
};

struct hk_msprobe_call_names {
	struct forward *forwards;
	struct module *modules;
};

static bool forward_add(struct hk_msprobe_call_names *names, const struct hk_dump_row *row)
{
	struct forward *forward;

	HASH_FIND(hh, names->forwards, &row->sequence, sizeof(row->sequence), forward);
	if (forward) {
		return true;
	}
	forward = calloc(1, sizeof(*forward));
	if (!forward) {
		return false;
	}
	forward->sequence = row->sequence;
	forward->number = row->number;
	HASH_ADD(hh, names->forwards, sequence, sizeof(forward->sequence), forward);
	if (!forward->hh.tbl) {
		free(forward);
		return false;
	}
	return true;
}

static bool module_add(struct hk_msprobe_call_names *names, const struct hk_dump_row *row)
{
	struct module *module;

	HASH_FIND_STR(names->modules, row->name, module);
	if (module) {
		return true;
	}
	module = calloc(1, sizeof(*module));
	if (!module) {
		return false;
	}
	module->path = row->name;
	module->class = row->of;
	HASH_ADD_KEYPTR(hh, names->modules, module->path, strlen(module->path), module);
	if (!module->hh.tbl) {
		free(module);
		return false;
	}
	return true;
}

struct hk_msprobe_call_names *hk_msprobe_call_names_new(const struct hk_values *values)
{
	struct hk_msprobe_call_names *names = calloc(1, sizeof(*names));

	for (size_t i = 0; names && i < values->count; i++) {
		struct hk_dump_row row;
		values->ops->row(values, i, &row);
		if ((row.phase == HK_DUMP_FORWARD && !forward_add(names, &row)) ||
		    (row.kind == HK_DUMP_MODULE && !module_add(names, &row))) {
			names = hk_msprobe_call_names_free(names);
		}
	}
	return names;
}

struct hk_msprobe_call_names *hk_msprobe_call_names_free(struct hk_msprobe_call_names *names)
{
	struct forward *forward, *next_forward;
	struct module *module, *next_module;

	if (!names) {
		return NULL;
	}
	HASH_ITER (hh, names->forwards, forward, next_forward) {
		HASH_DEL(names->forwards, forward);
		free(forward);
	}
	HASH_ITER (hh, names->modules, module, next_module) {
		HASH_DEL(names->modules, module);
		free(module);
	}
	free(names);
	return NULL;
}

static uint32_t number_of(const struct hk_msprobe_call_names *names, const struct hk_dump_row *row)
{
	struct forward *forward = NULL;

	if (row->phase == HK_DUMP_BACKWARD) {
		HASH_FIND(hh, names->forwards, &row->forward_sequence,
			  sizeof(row->forward_sequence), forward);
	}
	return forward ? forward->number : row->number;
}

/* The gradient of a parameter, by its module; other states have no place. */
static size_t state_name(const struct hk_msprobe_call_names *names, const struct hk_dump_row *row,
			 char text[HK_MSPROBE_CALL_BYTES])
{
	char path[HK_MSPROBE_NAME_BYTES];
	struct module *module;

	if (row->phase != HK_DUMP_GRADIENT) {
		return 0;
	}
	snprintf(path, sizeof(path), "%s", row->name);
	char *dot = strrchr(path, '.');
	const char *leaf = dot ? dot + 1 : path;
	if (dot) {
		*dot = 0;
	}
	HASH_FIND_STR(names->modules, dot ? path : "", module);
	int call = snprintf(text, HK_MSPROBE_CALL_BYTES, "Module.%s.%s.parameters_grad.%" PRIu32,
			    dot ? path : "", module ? module->class : "Module", row->number);
	snprintf(text + call, HK_MSPROBE_CALL_BYTES - (size_t)call, ".%s", leaf);
	return (size_t)call;
}

size_t hk_msprobe_call_name(const struct hk_msprobe_call_names *names,
			    const struct hk_dump_row *row, char text[HK_MSPROBE_CALL_BYTES])
{
	char api[HK_MSPROBE_NAME_BYTES];
	bool backward = row->phase == HK_DUMP_BACKWARD;
	bool output = (row->role == HK_DUMP_OUTPUT) != backward;
	const char *phase = backward ? "backward" : "forward";
	uint32_t number = number_of(names, row);
	int call;

	if (row->kind == HK_DUMP_STATE) {
		return state_name(names, row, text);
	}
	if (row->kind == HK_DUMP_MODULE) {
		call = snprintf(text, HK_MSPROBE_CALL_BYTES, "Module.%.500s.%.200s.%s.%" PRIu32,
				row->name, row->of, phase, number);
	} else {
		hk_msprobe_api_text(api, row->name);
		call =
		    snprintf(text, HK_MSPROBE_CALL_BYTES, "%s.%" PRIu32 ".%s", api, number, phase);
	}
	size_t node = strlen(HK_MSPROBE_NODE ".");
	const char *slot =
	    strncmp(row->slot, HK_MSPROBE_NODE ".", node) ? row->slot : row->slot + node;
	bool parameter = row->kind == HK_DUMP_MODULE && row->role == HK_DUMP_KEYWORD &&
			 !strncmp(row->slot, "parameters.", strlen("parameters."));
	snprintf(text + call, HK_MSPROBE_CALL_BYTES - (size_t)call, "%s.%s",
		 parameter ? ""
		 : output  ? ".output"
			   : ".input",
		 slot);
	return (size_t)call;
}
