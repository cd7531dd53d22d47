#include "frame/steps.h"

#include <stddef.h>

#include "arena.h"
#include "frame/values.h"

#define STEPS_MAX (HK_HOOK_VALUES * HK_HOOK_FACTORS + 1)

/* The word of argument NUMBER of HOOK, or of its result, and what it is by itself; false where it
 * is not in one word. */
static bool word_of(const struct hk_hook *hook, const struct hk_factor *factor,
		    struct hk_step *ret_step)
{
	struct hk_value value = {.factor_count = 1, .factors = {*factor}};
	uint8_t plain;
	if (!hk_values_plain_word(hook, &value, &plain) ||
	    (plain & HK_WORD_POINTEE) == HK_WORD_POINTEE) {
		return false;
	}
	ret_step->word = plain & HK_WORD_INDEX;
	ret_step->what = plain & HK_WORD_SIGN32	  ? HK_STEP_SIGNED
			 : plain & HK_WORD_ZERO32 ? HK_STEP_UNSIGNED
						  : HK_STEP_WHOLE;
	return true;
}

/* False for a factor that is no step. */
static bool step_of(const struct hk_hook *hook, const struct hk_factor *factor,
		    struct hk_step *ret_step)
{
	static const uint8_t whats[] = {
	    [HK_FACTOR_TYPE_SIZE] = HK_STEP_TYPE_SIZE, [HK_FACTOR_COMM] = HK_STEP_COMM,
	    [HK_FACTOR_SENT] = HK_STEP_SENT,	       [HK_FACTOR_SENDER] = HK_STEP_SENDER,
	    [HK_FACTOR_IS_ROOT] = HK_STEP_IS_ROOT,     [HK_FACTOR_STATUS_SENDER] = HK_STEP_SENDER,
	};
	struct hk_factor first = {.kind = HK_FACTOR_ARG, .arg = factor->arg};
	struct hk_factor second = {.kind = HK_FACTOR_ARG, .arg = factor->arg2};
	struct hk_step comm = {0};
	if (factor->kind == HK_FACTOR_ARG || factor->kind == HK_FACTOR_RESULT) {
		return word_of(hook, factor, ret_step);
	}
	if (factor->kind >= sizeof(whats) || !whats[factor->kind] ||
	    !word_of(hook, &first, ret_step)) {
		return false;
	}
	if (factor->kind == HK_FACTOR_IS_ROOT && !word_of(hook, &second, &comm)) {
		return false;
	}
	ret_step->what = whats[factor->kind];
	ret_step->comm = comm.word;
	return true;
}

const struct hk_step *hk_steps_plan(const struct hk_hook *hook)
{
	struct hk_step steps[STEPS_MAX] = {0};
	uint32_t count = 0;
	if (hook->error != HK_ERROR_NONZERO || (hook->flags & HK_HOOK_FORTRAN)) {
		return NULL;
	}
	for (uint32_t v = 0; v < hook->value_count; v++) {
		const struct hk_value *value = &hook->values[v];
		for (uint32_t f = 0; f < value->factor_count; f++) {
			if (!step_of(hook, &value->factors[f], &steps[count++])) {
				return NULL;
			}
		}
		struct hk_step *last = &steps[count - 1];
		last->ends = 1;
		last->what = value->factor_count == 1 && last->what == HK_STEP_SIGNED
				 ? HK_STEP_ONE_SIGNED
				 : last->what;
	}
	steps[count++].what = HK_STEP_END;
	struct hk_step *kept = count > 1 ? hk_arena_take(count * sizeof(*kept)) : NULL;
	for (uint32_t i = 0; i < count && kept; i++) {
		kept[i] = steps[i];
	}
	return kept;
}
