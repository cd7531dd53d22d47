/* launch_values.h: the values of a launch by the plan of its site. General registers only. */
#ifndef HK_AGENT_RUNTIME_LAUNCH_VALUES_H
#define HK_AGENT_RUNTIME_LAUNCH_VALUES_H

#include "agent/frame/call.h"
#include "agent/frame/launch.h"
#include "agent/runtime/kernels.h"

static inline uint64_t hk_launch_dim(const uint64_t *words, struct hk_launch_dim dim)
{
	return hk_dim3_pack(words[dim.x], words[dim.y] >> dim.y_shift, words[dim.z]);
}

/* Sets the VALUES of CALL, which is inside no other call and did not fail. Returns false if
 * values.h must evaluate them. */
static inline bool hk_launch_values(const struct hk_call *call, const struct hk_launch *launch,
				    uint64_t *values)
{
	const uint64_t *words = (const uint64_t *)(const void *)call;
	uint32_t kernel = hk_kernels_known_at_once(words[launch->kernel]);

	values[HK_LAUNCH_KERNEL] = kernel;
	values[HK_LAUNCH_GRID] = hk_launch_dim(words, launch->grid);
	values[HK_LAUNCH_BLOCK] = hk_launch_dim(words, launch->block);
	values[HK_LAUNCH_SHARED] =
	    launch->narrow ? (uint32_t)words[launch->shared] : words[launch->shared];
	values[HK_LAUNCH_STREAM] = words[launch->stream];
	return kernel != 0;
}

#endif
