/* The library half of cuda_truth: the same calls out of another object. */
#include "cuda_truth.h"

static struct cuda_truth truth = {.library = SIM_LIBRARY};

struct cuda_truth *cuda_truth_library(void)
{
	return &truth;
}

void cuda_truth_library_allocate(struct cuda_block *block, enum cuda_way way, int device,
				 CUstream stream, size_t size)
{
	cuda_allocate(&truth, block, way, device, stream, size);
}

void cuda_truth_library_release(struct cuda_block *block, CUstream stream)
{
	cuda_release(&truth, block, stream);
}

void cuda_truth_library_use(CUstream stream)
{
	cuda_use(&truth, stream);
}
