/* Batches, and memory of graphs, of the simulated runtime. A graph's memory has an address and
 * nothing else: only what is launched would need it. */
#include "batch.h"

#include <stdbool.h>
#include <stdlib.h>

#define TO_DEVICE 1

static _Atomic uintptr_t nodes; /* of all graphs */

int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
			 size_t count, void *attributes, size_t *indexes, size_t attribute_count,
			 CUstream stream)
{
	int result = stream && attributes && indexes && attribute_count == 1 ? SIM_SUCCESS
									     : SIM_INVALID_VALUE;

	for (size_t i = 0; i < count && result == SIM_SUCCESS; i++) {
		result = cudaMemcpyAsync(to[i], from[i], sizes[i], TO_DEVICE, stream);
	}
	return result;
}

int cudaMemcpy3DBatchAsync(size_t count, struct sim_copy_3d *copies, unsigned long long flags,
			   CUstream stream)
{
	int result = stream && flags == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;

	for (size_t i = 0; i < count && result == SIM_SUCCESS; i++) {
		const struct cudaExtent *extent = &copies[i].extent;
		result = cudaMemcpyAsync(copies[i].to.pointer, copies[i].from.pointer,
					 extent->width * extent->height * extent->depth, TO_DEVICE,
					 stream);
	}
	return result;
}

int cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count,
			      struct sim_place *places, size_t *indexes, size_t place_count,
			      unsigned long long flags, CUstream stream)
{
	bool sound = pointers && sizes && count && places && indexes && place_count && !flags;

	return sound && stream ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

static int add(cudaGraphNode_t *node, const struct sim_graph *graph, size_t before_count)
{
	*node = (cudaGraphNode_t)++nodes;
	return graph && before_count < (uintptr_t)*node ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *before, size_t before_count,
			     struct sim_alloc_parameters *parameters)
{
	(void)before;
	parameters->pointer = (void *)0x7000000000;
	return parameters->size > 0 ? add(node, graph, before_count) : SIM_INVALID_VALUE;
}

int cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
			    size_t before_count, void *pointer)
{
	return pointer && before ? add(node, graph, before_count) : SIM_INVALID_VALUE;
}
