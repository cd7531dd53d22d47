/* launch.h: the plan for the values of a launch, whose kernel is an argument in a word of struct
 * hk_call, and whose grid and block, shared memory and stream are others, or lie in a struct that
 * one of them points to. Other launches are evaluated by runtime/values.h. */
#ifndef HK_AGENT_FRAME_LAUNCH_H
#define HK_AGENT_FRAME_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "hooks/hook.h"

/* Order of the values that a planned launch has. */
enum hk_launch_value {
	HK_LAUNCH_KERNEL,
	HK_LAUNCH_GRID,
	HK_LAUNCH_BLOCK,
	HK_LAUNCH_SHARED,
	HK_LAUNCH_STREAM,
	HK_LAUNCH_VALUES
};

/* Words of struct hk_call. Y begins at bit `y_shift` of its word. */
struct hk_launch_dim {
	uint8_t x, y, z, y_shift;
};

struct hk_launch_words {
	uint8_t kernel, shared, stream;
	bool narrow; /* the shared memory is a 32-bit number */
	struct hk_launch_dim grid, block;
	/* All but the kernel lies in the struct whose address is in the word CONFIG, so many bytes
	 * from its start. */
	bool has_config;
	uint8_t config, grid_at, block_at, shared_at, stream_at;
};

/* Makes the plan for HOOK's values. Returns false if HOOK is no such launch. */
bool hk_launch_plan(const struct hk_hook *hook, struct hk_launch_words *ret_launch);

#endif
