/* links: hk_hooks */
/* A hooks file of any bytes: parsed into an arena of exactly its size, every hook is whole and
 * within its own bounds. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/language/parser.h"
#include "hooks/pattern.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

static void check_change(const struct hk_hook *hook)
{
	bool replaced = hook->action == HK_ACTION_REPLACE;

	REQUIRE(hook->action <= HK_ACTION_RETURN);
	REQUIRE(hook->action == HK_ACTION_NONE || !(hook->flags & HK_HOOK_DESCRIBED));
	REQUIRE(hook->from == NULL || strlen(hook->from) > 0);
	REQUIRE((hook->with_library != NULL) == replaced);
	REQUIRE(hook->with_symbol == NULL || (replaced && strlen(hook->with_symbol) > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(void *context, const char *file, uint32_t line, const char *message)
{
	uint32_t *heard = context;

	(*heard)++;
	REQUIRE(strcmp(file, "fuzz") == 0 && line >= 1);
	REQUIRE(strlen(message) < 256 && strchr(message, '\n') == NULL);
}

static void check_values(const struct hk_hook *hook)
{
	REQUIRE(hook->value_count <= HK_HOOK_VALUES);
	for (unsigned v = 0; v < hook->value_count; v++) {
		const struct hk_value *value = &hook->values[v];
		REQUIRE(value->key >= HK_KEY_POINTER && value->key <= HK_KEY_SOURCE_TAG);
		REQUIRE(value->factor_count >= 1 && value->factor_count <= HK_HOOK_FACTORS);
		for (unsigned f = 0; f < value->factor_count; f++) {
			const struct hk_factor *factor = &value->factors[f];
			bool constant = factor->kind == HK_FACTOR_CONST ||
					factor->kind == HK_FACTOR_RESULT ||
					factor->kind == HK_FACTOR_DEVICE;
			REQUIRE(factor->kind >= HK_FACTOR_CONST);
			REQUIRE(factor->kind < HK_FACTOR_KINDS);
			REQUIRE(constant ||
				(factor->arg < hook->arg_count && factor->arg2 < hook->arg_count &&
				 factor->arg3 < hook->arg_count));
		}
	}
}

static void check_arguments(const struct hk_hook *hook)
{
	static const unsigned limits[] = {6, 8, HK_HOOK_STACK_MOST};

	REQUIRE(hook->arg_count <= HK_HOOK_ARGS && hook->stack_words <= HK_HOOK_STACK_MOST);
	for (unsigned i = 0; i < hook->arg_count; i++) {
		const struct hk_hook_arg *arg = &hook->args[i];
		REQUIRE(strlen(arg->name) > 0);
		REQUIRE(arg->type > HK_TYPE_VOID && arg->type <= HK_TYPE_TEXT);
		REQUIRE(arg->place <= HK_PLACE_STACK && arg->index < limits[arg->place]);
		REQUIRE(arg->place != HK_PLACE_STACK || arg->index < hook->stack_words);
		bool pair = arg->type == HK_TYPE_DIM3;
		REQUIRE(arg->words <= 16 &&
			(arg->words == 0) == (arg->type != HK_TYPE_STRUCT && !pair));
		REQUIRE(!pair || arg->words == 2);
		REQUIRE(!pair || arg->place != HK_PLACE_INTEGER || arg->index + 1u < limits[0]);
		REQUIRE(arg->place != HK_PLACE_STACK || arg->words == 0 ||
			arg->index + arg->words <= hook->stack_words);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t heard = 0;
	struct hk_hooks_report report = {.bad_line = hear, .context = &heard};
	size_t arena_size = size != 0 && data[0] % 4 == 0 ? size * 37 : HK_HOOK_ARENA_BYTES;
	struct hk_hook_arena arena;
	struct hk_hook_file file;
	char *block = malloc(arena_size + 1);

	REQUIRE(block != NULL);
	hk_hook_arena_init(&arena, block, arena_size);
	uint32_t bad = hk_hooks_parse(&arena, "fuzz", (const char *)data, size, &report, &file);
	REQUIRE(bad == heard || file.name[0] == '?');
	REQUIRE(bad == file.bad_lines);
	REQUIRE(arena.used + arena.used_end <= arena_size);
	for (uint32_t i = 0; i < file.hook_count; i++) {
		const struct hk_hook *hook = &file.hooks[i];
		REQUIRE(strlen(hook->library) > 0 && strlen(hook->symbol) > 0);
		REQUIRE(strlen(hook->domain) > 0 && strlen(hook->domain) <= 15);
		REQUIRE(hook->line >= 1 && hook->runtime <= HK_RUNTIME_XPU);
		REQUIRE(hook->type_sizes == NULL ||
			(*hook->type_sizes && strlen(hook->type_sizes) <= HK_HOOK_TYPE_SIZES));
		check_arguments(hook);
		check_values(hook);
		check_change(hook);
		hk_pattern_match_library(hook->library, "/usr/lib/libmpi.so.40");
		hk_pattern_match(hook->symbol, "MPI_Sendrecv_replace");
	}
	free(block);
	return 0;
}
