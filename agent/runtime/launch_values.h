/* launch_values.h: the values of a launch by the plan of its site. General registers only. */
#ifndef HK_AGENT_RUNTIME_LAUNCH_VALUES_H
#define HK_AGENT_RUNTIME_LAUNCH_VALUES_H

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/launch.h"
#include "agent/runtime/kernels.h"

static inline uint64_t hk_launch_dim(const uint64_t *words, struct hk_launch_dim dim)
{
	return hk_dim3_pack(words[dim.x], words[dim.y] >> dim.y_shift, words[dim.z]);
}

static inline uint64_t hk_launch_dim_at(const char *at)
{
	uint32_t sizes[3];

	__builtin_memcpy(sizes, at, sizeof(sizes));
	return hk_dim3_pack(sizes[0], sizes[1], sizes[2]);
}

/* Sets all VALUES but the kernel from the struct at CONFIG. */
static inline void hk_launch_config(const struct hk_launch_words *launch, const char *config,
				    uint64_t *values)
{
	uint32_t narrow;

	values[HK_LAUNCH_GRID] = hk_launch_dim_at(config + launch->grid_at);
	values[HK_LAUNCH_BLOCK] = hk_launch_dim_at(config + launch->block_at);
	__builtin_memcpy(&narrow, config + launch->shared_at, sizeof(narrow));
	values[HK_LAUNCH_SHARED] = narrow;
	if (!launch->narrow) {
		__builtin_memcpy(&values[HK_LAUNCH_SHARED], config + launch->shared_at,
				 sizeof(values[0]));
	}
	__builtin_memcpy(&values[HK_LAUNCH_STREAM], config + launch->stream_at, sizeof(values[0]));
}

/* Sets the VALUES of CALL, which did not fail. PART: it is the driver's part of a recorded launch,
 * which has the kernel; else it is inside no other call. Returns false if values.h must evaluate
 * them. */
static inline __attribute__((always_inline)) bool
hk_launch_values(const struct hk_call *call, const struct hk_launch_words *launch, bool part,
		 uint64_t *values)
{
	const uint64_t *words = (const uint64_t *)(const void *)call;
	uint32_t kernel = part ? 0 : hk_kernels_known_at_once(words[launch->kernel]);

	values[HK_LAUNCH_KERNEL] = kernel;
	if (unlikely(launch->has_config)) {
		const char *config = (const char *)words[launch->config];
		if (unlikely(!config)) {
			return false;
		}
		hk_launch_config(launch, config, values);
		return part || kernel;
	}
	values[HK_LAUNCH_GRID] = hk_launch_dim(words, launch->grid);
	values[HK_LAUNCH_BLOCK] = hk_launch_dim(words, launch->block);
	values[HK_LAUNCH_SHARED] =
	    launch->narrow ? (uint32_t)words[launch->shared] : words[launch->shared];
	values[HK_LAUNCH_STREAM] = words[launch->stream];
	return part || kernel;
}

#endif
