#include "agent/frame/launch.h"

#include "agent/frame/word.h"

/* Finds the word of argument NUMBER. Returns false if the argument is not in one word. */
static bool word_of(const struct hk_hook *hook, uint8_t number, uint8_t *ret_word, bool *ret_narrow)
{
	const struct hk_value value = {.factor_count = 1,
				       .factors = {{.kind = HK_FACTOR_ARG, .arg = number}}};
	uint8_t plain;

	if (!hk_word_of_value(hook, &value, &plain)) {
		return false;
	}
	*ret_word = plain & HK_WORD_INDEX;
	*ret_narrow = plain & HK_WORD_POINTEE;
	return (plain & HK_WORD_POINTEE) != HK_WORD_POINTEE;
}

static bool plan_dim(const struct hk_hook *hook, const struct hk_factor *factor,
		     struct hk_launch_dim *dim)
{
	bool narrow;

	if (factor->kind == HK_FACTOR_DIM3_WORDS) {
		dim->y_shift = 32;
		return word_of(hook, factor->arg, &dim->x, &narrow) &&
		       word_of(hook, factor->arg, &dim->y, &narrow) &&
		       word_of(hook, factor->arg2, &dim->z, &narrow);
	}
	return factor->kind == HK_FACTOR_DIM3 && word_of(hook, factor->arg, &dim->x, &narrow) &&
	       word_of(hook, factor->arg2, &dim->y, &narrow) &&
	       word_of(hook, factor->arg3, &dim->z, &narrow);
}

static bool is_planned(const struct hk_hook *hook)
{
	static const uint8_t keys[HK_LAUNCH_VALUES] = {
	    [HK_LAUNCH_KERNEL] = HK_KEY_KERNEL, [HK_LAUNCH_GRID] = HK_KEY_GRID,
	    [HK_LAUNCH_BLOCK] = HK_KEY_BLOCK,	[HK_LAUNCH_SHARED] = HK_KEY_SHARED,
	    [HK_LAUNCH_STREAM] = HK_KEY_STREAM,
	};
	bool like = hook->meaning == HK_MEANING_LAUNCH && hook->error == HK_ERROR_NONZERO &&
		    hook->value_count == HK_LAUNCH_VALUES;

	for (unsigned i = 0; like && i < HK_LAUNCH_VALUES; i++) {
		like = hook->values[i].key == keys[i] && hook->values[i].factor_count == 1;
	}
	return like;
}

bool hk_launch_plan(const struct hk_hook *hook, struct hk_launch *ret_launch)
{
	struct hk_launch launch = {0};
	bool narrow;

	if (!is_planned(hook)) {
		return false;
	}
	const struct hk_factor *kernel = hook->values[HK_LAUNCH_KERNEL].factors;
	const struct hk_factor *shared = hook->values[HK_LAUNCH_SHARED].factors;
	const struct hk_factor *stream = hook->values[HK_LAUNCH_STREAM].factors;
	bool planned =
	    (kernel->kind == HK_FACTOR_KERNEL || kernel->kind == HK_FACTOR_KERNEL_DRIVER) &&
	    shared->kind == HK_FACTOR_ARG && stream->kind == HK_FACTOR_ARG &&
	    word_of(hook, kernel->arg, &launch.kernel, &narrow) &&
	    word_of(hook, shared->arg, &launch.shared, &launch.narrow) &&
	    word_of(hook, stream->arg, &launch.stream, &narrow) &&
	    plan_dim(hook, hook->values[HK_LAUNCH_GRID].factors, &launch.grid) &&
	    plan_dim(hook, hook->values[HK_LAUNCH_BLOCK].factors, &launch.block);
	*ret_launch = launch;
	return planned;
}
