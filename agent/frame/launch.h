/* launch.h: the plan for the values of a launch. The kernel is an argument in one word of struct
 * hk_call. Grid, block, shared memory and stream are arguments too, or lie in a struct that an
 * argument points to. runtime/values.h evaluates other launches. */
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
	/* The word CONFIG is the address of a struct with all values but the kernel, at these
	 * bytes. */
	bool has_config;
	uint8_t config, grid_at, block_at, shared_at, stream_at;
};

/* Makes the plan for HOOK's values. Returns false if HOOK is not such a launch. */
bool hk_launch_plan(const struct hk_hook *hook, struct hk_launch_words *ret_launch);

#endif
