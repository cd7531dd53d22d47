/*
 * Batches of copies, pools and graphs of memory on the simulated runtime, with calls, bytes and
 * memory known: cuda_batch DIRECTORY writes truth-0.json. A graph's memory is not in the ledger.
 */
#include <assert.h>

#include "../truth.h"
#include "batch.h"

static struct truth_table truth = {.library = "cuda_batch"};

#define DO(bytes, ...) TRUTH_CALL(&truth, bytes, __VA_ARGS__)

/* As the real header has it. */
static_assert(sizeof(struct sim_copy_3d) == 112, "size");
static_assert(offsetof(struct sim_copy_3d, extent) == 80, "place of the extent");
static_assert(offsetof(struct sim_alloc_parameters, size) == 104, "place of the size");

static void copy(char *far, CUstream stream)
{
	static char near[1000];
	void *to[] = {far, far + 300, far + 600}, *pointers[] = {far, far + 500};
	const void *from[] = {near, near, near};
	size_t sizes[] = {100, 20, 7}, index = 0;
	int attributes = 0;
	struct sim_place place = {1, 0};
	struct sim_copy_3d copies[2] = {
	    {.from = {.type = 1, .pointer = near},
	     .to = {.type = 1, .pointer = far},
	     .extent = {4, 5, 6}},
	    {.from = {.type = 1, .pointer = near},
	     .to = {.type = 1, .pointer = far},
	     .extent = {7, 8, 9}},
	};

	DO(127, cudaMemcpyBatchAsync, to, from, sizes, 3, &attributes, &index, 1, stream);
	DO(120, cudaMemcpyBatchAsync, to, from, sizes, 2, &attributes, &index, 1, stream);
	DO(4 * 5 * 6 + 7 * 8 * 9, cudaMemcpy3DBatchAsync, 2, copies, 0, stream);
	DO(4 * 5 * 6, cudaMemcpy3DBatchAsync, 1, copies, 0, stream);
	DO(0, cudaMemcpy3DBatchAsync, 0, NULL, 0, stream);
	DO(120, cudaMemPrefetchBatchAsync, pointers, sizes, 2, &place, &index, 1, 0, stream);
	/* A failed call copies nothing. */
	struct truth_row *row = truth_row(&truth, "cudaMemcpyBatchAsync");
	row->calls++;
	row->errors++;
	if (cudaMemcpyBatchAsync(to, from, sizes, 3, &attributes, &index, 2, stream) !=
	    SIM_INVALID_VALUE) {
		abort();
	}
}

static void graph(void)
{
	struct sim_alloc_parameters parameters = {.size = 4096};
	cudaGraphNode_t taken, given;
	cudaGraph_t made;

	DO(0, cudaGraphCreate, &made, 0);
	DO(0, cudaGraphAddMemAllocNode, &taken, made, NULL, 0, &parameters);
	DO(0, cudaGraphAddMemFreeNode, &given, made, &taken, 1, parameters.pointer);
	DO(0, cudaGraphDestroy, made);
}

int main(int argc, char **argv)
{
	const struct sim_memory_properties properties = {.location_id = 1};
	cudaMemPool_t pool;
	void *far, *block;
	CUstream stream;
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: cuda_batch DIRECTORY\n");
		return 2;
	}
	DO(0, cudaSetDevice, 1);
	DO(0, cudaStreamCreate, &stream);
	DO(0, cudaSetDevice, 0);
	DO(0, cudaMemPoolCreate, &pool, &properties);
	DO(0, cudaMallocFromPoolAsync, &far, 1000, pool, stream);
	DO(0, cudaMallocFromPoolAsync, &block, 500, pool, stream);
	copy(far, stream);
	graph();
	DO(0, cudaFreeAsync, far, stream);
	DO(0, cudaMemPoolDestroy, pool);
	DO(0, cudaStreamDestroy, stream);
	snprintf(path, sizeof(path), "%s/truth-0.json", argv[1]);
	FILE *out = fopen(path, "w");
	if (!out) {
		return 1;
	}
	fprintf(out, "{\"calls\":{");
	truth_write(out, &truth);
	fprintf(out, "},\"memory\":{\"device 1\":{\"allocs\":2,\"frees\":1,\"live_bytes\":500,"
		     "\"peak_bytes\":1500}}}\n");
	return fclose(out) == 0 ? 0 : 1;
}
