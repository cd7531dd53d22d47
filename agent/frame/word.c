#include "agent/frame/word.h"

#define RESULT_WORD (offsetof(struct hk_call, result) / 8)

const uint8_t hk_word_widening[] = {
    [HK_TYPE_INT] = HK_WORD_SIGN32,
    [HK_TYPE_FD] = HK_WORD_SIGN32,
    [HK_TYPE_NCCL_DATATYPE] = HK_WORD_SIGN32,
    [HK_TYPE_UINT] = HK_WORD_ZERO32,
    [HK_TYPE_TEXT] = 0,
};

bool hk_word_of_value(const struct hk_hook *hook, const struct hk_value *value, uint8_t *ret_word)
{
	const struct hk_factor *factor = &value->factors[0];
	if (value->factor_count != 1) {
		return false;
	}
	if (factor->kind == HK_FACTOR_RESULT) {
		*ret_word = (uint8_t)(RESULT_WORD | hk_word_widening[hook->result]);
		return true;
	}
	if (factor->kind != HK_FACTOR_ARG) {
		return false;
	}
	const struct hk_hook_arg *arg = &hook->args[factor->arg];
	if (arg->place == HK_PLACE_FLOAT || hk_word_of_argument(arg) >= HK_WORD_INDEX) {
		return false;
	}
	*ret_word = (uint8_t)(hk_word_of_argument(arg) | hk_word_widening[arg->type]);
	if (arg->reference) {
		*ret_word |= HK_WORD_POINTEE;
		return arg->type == HK_TYPE_INT && (hook->flags & HK_HOOK_TRUSTED);
	}
	return true;
}
