/* The library half of heap_truth: the same calls out of another object. */
#include "heap_truth.h"

static struct heap_truth truth = {.library = "libheap_truth_library.so"};

struct heap_truth *heap_truth_library(void)
{
	return &truth;
}

void heap_truth_library_allocate(struct heap_block *block, enum heap_function function, size_t size)
{
	heap_allocate(&truth, block, function, size);
}

void heap_truth_library_grow(struct heap_block *block, size_t size)
{
	heap_grow(&truth, block, size);
}

void heap_truth_library_release(struct heap_block *block)
{
	heap_release(&truth, block);
}
