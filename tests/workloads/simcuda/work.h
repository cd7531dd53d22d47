/*
 * What the simulated devices do, for a simulated CUPTI that watches them. While it does, work on a
 * stream begins after the work before it, and ends later than the call that asked for it returns.
 */
#ifndef HK_WORKLOADS_SIMCUDA_WORK_H
#define HK_WORKLOADS_SIMCUDA_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "simcuda.h"

/* Durations that tests know: of a kernel by its blocks, of copies and sets by their bytes. */
#define SIM_BLOCK_NS 1000u
#define SIM_BYTES_PER_NS 16u
#define SIM_MOVE_NS 500u

/* What a call that asks for work takes at least. A real driver takes longer. */
#define SIM_CALL_NS 2000u

enum sim_work_kind { SIM_WORK_KERNEL, SIM_WORK_COPY, SIM_WORK_SET };

/* One piece of work. Times are those of CLOCK_MONOTONIC. */
struct sim_work {
	enum sim_work_kind kind;
	const char *name;
	int device;
	CUstream stream;
	uint32_t stream_number;
	uint64_t bytes, start_ns, end_ns;
	uint32_t correlation;
	unsigned grid[3], block[3];
};

/* One call that asked for work. */
struct sim_api {
	enum sim_work_kind kind; /* of the work */
	bool runtime;		 /* of the runtime, else of the driver */
	uint64_t start_ns, end_ns;
	uint32_t correlation, thread;
};

struct sim_watch {
	void (*api)(const struct sim_api *api);
	void (*work)(const struct sim_work *work);
};

static inline uint64_t sim_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Exported by the driver: watches all work from now on; NULL ends it. */
void sim_driver_watch(const struct sim_watch *watch);

/* Exported by the driver, for the runtime: a function of the runtime was called on this thread. */
void sim_driver_runtime(void);

/* For the driver: reports its ACTIVITY to the watcher, if there is one, with times of its own.
 * SHAPE: grid and block of KERNEL. Returns false if there is no watcher. */
struct hk_activity;
bool sim_work_tell(const struct hk_activity *activity, const void *kernel, const unsigned *shape);

/* Waits until all work of STREAM (NULL: of all) is done. */
void sim_work_wait(CUstream stream);

#endif
