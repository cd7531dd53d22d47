#include "hooks/language/place.h"

#include <errno.h>
#include <stdbool.h>

struct cursor {
	unsigned integers;
	unsigned floats;
	unsigned words;
};

static void place(struct cursor *cursor, bool is_float, uint8_t *ret_place, uint8_t *ret_index)
{
	if (is_float && cursor->floats < HK_PLACE_FLOAT_REGISTERS) {
		*ret_place = HK_PLACE_FLOAT;
		*ret_index = (uint8_t)cursor->floats++;
	} else if (!is_float && cursor->integers < HK_PLACE_INTEGER_REGISTERS) {
		*ret_place = HK_PLACE_INTEGER;
		*ret_index = (uint8_t)cursor->integers++;
	} else {
		*ret_place = HK_PLACE_STACK;
		*ret_index = (uint8_t)cursor->words++;
	}
}

/* Places a struct of two words, which is not split between registers and stack. */
static void place_pair(struct cursor *cursor, uint8_t *ret_place, uint8_t *ret_index)
{
	if (cursor->integers + 2 <= HK_PLACE_INTEGER_REGISTERS) {
		*ret_place = HK_PLACE_INTEGER;
		*ret_index = (uint8_t)cursor->integers;
		cursor->integers += 2;
		return;
	}
#if HK_PLACE_AAPCS64
	cursor->integers = HK_PLACE_INTEGER_REGISTERS; /* as if all were taken */
#endif
	*ret_place = HK_PLACE_STACK;
	*ret_index = (uint8_t)cursor->words;
	cursor->words += 2;
}

int hk_locate_arguments(struct hk_hook *hook, unsigned hidden)
{
	struct cursor cursor = {0};
	uint8_t unused[2];

	for (unsigned i = 0; i < hook->arg_count; i++) {
		struct hk_hook_arg *arg = &hook->args[i];
		bool is_float =
		    !arg->reference && (arg->type == HK_TYPE_FLOAT || arg->type == HK_TYPE_DOUBLE);
#if !HK_PLACE_AAPCS64
		if (arg->type == HK_TYPE_STRUCT) {
			arg->place = HK_PLACE_STACK;
			arg->index = (uint8_t)cursor.words;
			cursor.words += arg->words;
			continue;
		}
#endif
		if (arg->type == HK_TYPE_DIM3 && !arg->reference) {
			place_pair(&cursor, &arg->place, &arg->index);
		} else {
			place(&cursor, is_float, &arg->place, &arg->index);
		}
	}
	for (unsigned i = 0; i < hidden; i++) {
		place(&cursor, false, &unused[0], &unused[1]);
	}
	bool fits = cursor.words <= HK_HOOK_STACK_MOST;
	hook->stack_words = (uint8_t)(fits ? cursor.words : HK_HOOK_STACK_MOST);
	return fits ? 0 : -E2BIG;
}
