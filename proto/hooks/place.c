#include "hooks/place.h"

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

void hk_place_arguments(struct hk_hook *hook, unsigned hidden)
{
	struct cursor cursor = {0};
	uint8_t unused[2];

	for (unsigned i = 0; i < hook->arg_count; i++) {
		struct hk_hook_arg *arg = &hook->args[i];
		bool is_float =
		    !arg->reference && (arg->type == HK_TYPE_FLOAT || arg->type == HK_TYPE_DOUBLE);
		place(&cursor, is_float, &arg->place, &arg->index);
	}
	for (unsigned i = 0; i < hidden; i++) {
		place(&cursor, false, &unused[0], &unused[1]);
	}
	hook->stack_words =
	    (uint8_t)(cursor.words < HK_HOOK_STACK_WORDS ? cursor.words : HK_HOOK_STACK_WORDS);
}
