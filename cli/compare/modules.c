#include "cli/compare/modules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "cli/compare/label.h"

struct module {
	struct hk_module_levels levels;
	UT_hash_handle hh;
};

const char *hk_module_path(const struct hk_dump_row *row, size_t *ret_length)
{
	const char *path = row->kind == HK_DUMP_API ? row->of : row->name;
	const char *dot = row->kind == HK_DUMP_STATE ? strrchr(path, '.') : NULL;

	*ret_length = dot ? (size_t)(dot - path) : row->kind == HK_DUMP_STATE ? 0 : strlen(path);
	return path;
}

static struct module *module_of(struct module **hash, const char *path, size_t length)
{
	struct module *module;

	HASH_FIND(hh, *hash, path, length, module);
	if (module) {
		return module;
	}
	module = calloc(1, sizeof(*module));
	if (!module) {
		return NULL;
	}
	module->levels.path = strndup(path, length);
	module->levels.order = HASH_COUNT(*hash);
	if (module->levels.path) {
		HASH_ADD_KEYPTR(hh, *hash, module->levels.path, length, module);
		if (module->hh.tbl) {
			return module;
		}
	}
	free(module->levels.path);
	free(module);
	return NULL;
}

static bool row_count(struct module **hash, const struct hk_rank_pair *pair,
		      const struct hk_match *match)
{
	struct hk_dump_row row;
	size_t length;

	hk_label_row(pair, match, &row);
	const char *path = hk_module_path(&row, &length);
	struct module *module = module_of(hash, path, length);
	if (!module) {
		return false;
	}
	module->levels.levels[match->level]++;
	if (match->level >= HK_MATCH_FOLLOWS && !isnan(match->error) &&
	    match->error > module->levels.error) {
		module->levels.error = match->error;
	}
	return true;
}

/* Moves the modules to a list, in the order in which they were seen. */
static struct hk_module_levels *listed(struct module **hash, size_t *ret_count)
{
	struct hk_module_levels *list = calloc(HASH_COUNT(*hash) + 1, sizeof(*list));
	struct module *module, *next;

	*ret_count = list ? HASH_COUNT(*hash) : 0;
	HASH_ITER (hh, *hash, module, next) {
		HASH_DEL(*hash, module);
		if (list) {
			list[module->levels.order] = module->levels;
		} else {
			free(module->levels.path);
		}
		free(module);
	}
	return list;
}

struct hk_module_levels *hk_modules_count(const struct hk_comparison *comparison, size_t *ret_count)
{
	struct module *hash = NULL;
	bool complete = true;

	for (size_t i = 0; complete && i < comparison->pair_count; i++) {
		const struct hk_rank_pair *pair = &comparison->pairs[i];
		for (size_t j = 0; complete && j < pair->count; j++) {
			complete = row_count(&hash, pair, &pair->matches[j]);
		}
	}
	struct hk_module_levels *list = listed(&hash, ret_count);
	if (!complete && list) {
		hk_modules_free(list, *ret_count);
		return NULL;
	}
	return list;
}

void hk_modules_free(struct hk_module_levels *list, size_t count)
{
	for (size_t i = 0; list && i < count; i++) {
		free(list[i].path);
	}
	free(list);
}
