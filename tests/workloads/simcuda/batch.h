/* What programs use of CUDA 13's batches, pools and graphs of memory. */
#ifndef HK_WORKLOADS_BATCH_H
#define HK_WORKLOADS_BATCH_H

#include "simcuda.h"

typedef struct sim_pool *cudaMemPool_t;
typedef struct sim_graph *cudaGraph_t;
typedef struct sim_node *cudaGraphNode_t;

struct sim_place {
	int type, id;
};
/* One side of a copy of a batch. */
struct sim_operand {
	int type; /* 1: a pointer */
	union {
		struct {
			void *pointer;
			size_t row_length, layer_height;
			struct sim_place place;
		};
		struct {
			void *array;
			size_t x, y, z;
		};
	};
};
struct sim_copy_3d {
	struct sim_operand from, to;
	struct cudaExtent extent;
	int order;
	unsigned flags;
};
struct sim_alloc_parameters {
	struct {
		int type, handle_types;
		struct sim_place place;
		char rest[72];
	} pool;
	const void *access;
	size_t access_count;
	size_t size;
	void *pointer;
};

int cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes,
			 size_t count, void *attributes, size_t *indexes, size_t attribute_count,
			 CUstream stream);
int cudaMemcpy3DBatchAsync(size_t count, struct sim_copy_3d *copies, unsigned long long flags,
			   CUstream stream);
int cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count,
			      struct sim_place *places, size_t *indexes, size_t place_count,
			      unsigned long long flags, CUstream stream);
int cudaMemPoolCreate(cudaMemPool_t *pool, const struct sim_memory_properties *properties);
int cudaMemPoolDestroy(cudaMemPool_t pool);
int cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, CUstream stream);
int cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
int cudaGraphDestroy(cudaGraph_t graph);
int cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph,
			     const cudaGraphNode_t *before, size_t before_count,
			     struct sim_alloc_parameters *parameters);
int cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *before,
			    size_t before_count, void *pointer);

#endif
