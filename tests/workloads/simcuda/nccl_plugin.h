/* nccl_plugin.h: how the simulated NCCL reports its operations to a profiler plugin. It opens the
 * plugin and takes the newest table as the real one does, hands out events in the real one's order,
 * and ends kernel channels and proxy operations on a thread of its own, the last channel first. GPU
 * times are made: SIM_NCCL_NS of a message, so that bandwidths are known. */
#ifndef SIM_NCCL_PLUGIN_H
#define SIM_NCCL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define SIM_NCCL_CHANNELS 3
#define SIM_NCCL_SKEW_NS 10
/* Time of an operation that moves BYTES, from its first channel's start to its last one's end. */
#define SIM_NCCL_NS(bytes) (5000 + (uint64_t)(bytes) / 4)

struct sim_plugin_comm {
	void *context;
	uint64_t hash;
	int ranks, rank;
	uint64_t sequence;
};

void sim_plugin_open(struct sim_plugin_comm *comm);
/* Waits until everything that was reported has ended. */
void sim_plugin_close(struct sim_plugin_comm *comm);

/* An operation from one call: FUNC is "AllReduce" and so on, TYPE an ncclDataType_t, PEER -1 for a
 * collective. */
void sim_plugin_operation(struct sim_plugin_comm *comm, const char *func, size_t count, int type,
			  int peer);

#endif
