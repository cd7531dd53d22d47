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
		bool planned =
		    word_of(hook, factor->arg, &dim->x, &narrow) && dim->x + 1 < HK_WORD_INDEX;
		dim->y = dim->x;
		dim->z = (uint8_t)(dim->x + 1);
		return planned;
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

/* Finds where a factor that reads the struct of argument NUMBER begins. */
static bool at_of(const struct hk_factor *factor, uint8_t kind, uint8_t number, uint8_t *ret_at)
{
	*ret_at = (uint8_t)factor->constant;
	return factor->kind == kind && factor->arg == number && factor->constant <= UINT8_MAX;
}

/* Plans a launch with a struct, at an address that a shipped hook guarantees. */
static bool plan_config(const struct hk_hook *hook, struct hk_launch_words *launch)
{
	const struct hk_factor *grid = hook->values[HK_LAUNCH_GRID].factors;
	const struct hk_factor *shared = hook->values[HK_LAUNCH_SHARED].factors;
	uint8_t number = grid->arg;
	bool narrow;

	launch->has_config = true;
	launch->narrow = shared->kind == HK_FACTOR_INT;
	return (hook->flags & HK_HOOK_TRUSTED) && word_of(hook, number, &launch->config, &narrow) &&
	       at_of(grid, HK_FACTOR_DIM3_AT, number, &launch->grid_at) &&
	       at_of(hook->values[HK_LAUNCH_BLOCK].factors, HK_FACTOR_DIM3_AT, number,
		     &launch->block_at) &&
	       at_of(shared, launch->narrow ? HK_FACTOR_INT : HK_FACTOR_WORD, number,
		     &launch->shared_at) &&
	       at_of(hook->values[HK_LAUNCH_STREAM].factors, HK_FACTOR_WORD, number,
		     &launch->stream_at);
}

static bool plan_arguments(const struct hk_hook *hook, struct hk_launch_words *launch)
{
	const struct hk_factor *shared = hook->values[HK_LAUNCH_SHARED].factors;
	const struct hk_factor *stream = hook->values[HK_LAUNCH_STREAM].factors;
	bool narrow;

	return shared->kind == HK_FACTOR_ARG && stream->kind == HK_FACTOR_ARG &&
	       word_of(hook, shared->arg, &launch->shared, &launch->narrow) &&
	       word_of(hook, stream->arg, &launch->stream, &narrow) &&
	       plan_dim(hook, hook->values[HK_LAUNCH_GRID].factors, &launch->grid) &&
	       plan_dim(hook, hook->values[HK_LAUNCH_BLOCK].factors, &launch->block);
}

bool hk_launch_plan(const struct hk_hook *hook, struct hk_launch_words *ret_launch)
{
	struct hk_launch_words launch = {0};
	bool narrow;

	if (!is_planned(hook)) {
		return false;
	}
	const struct hk_factor *kernel = hook->values[HK_LAUNCH_KERNEL].factors;
	bool config = hook->values[HK_LAUNCH_GRID].factors->kind == HK_FACTOR_DIM3_AT;
	bool planned =
	    (kernel->kind == HK_FACTOR_KERNEL || kernel->kind == HK_FACTOR_KERNEL_DRIVER) &&
	    word_of(hook, kernel->arg, &launch.kernel, &narrow) &&
	    (config ? plan_config(hook, &launch) : plan_arguments(hook, &launch));
	*ret_launch = launch;
	return planned;
}
