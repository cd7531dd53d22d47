/*
 * heap_truth's book-keeping, shared by the program and its library: each object compiles these
 * functions into itself, so that the calls are its own. Blocks remember who allocated them: a free
 * counts, as memory, for that library. A realloc is one allocation and one free. Counters are
 * atomic, any thread may call.
 */
#ifndef HK_WORKLOADS_HEAP_TRUTH_H
#define HK_WORKLOADS_HEAP_TRUTH_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum heap_function {
	HEAP_MALLOC,
	HEAP_CALLOC,
	HEAP_REALLOC,
	HEAP_REALLOCARRAY,
	HEAP_POSIX_MEMALIGN,
	HEAP_ALIGNED_ALLOC,
	HEAP_MEMALIGN,
	HEAP_FREE,
	HEAP_MMAP,
	HEAP_MUNMAP,
	HEAP_FUNCTIONS,
};

/* Bytes of one kind of memory, as requested. */
struct heap_account {
	atomic_ullong allocs;
	atomic_ullong frees;
	atomic_llong live_bytes;
	/* Written between phases by one thread. */
	long long peak_bytes;
	long long at_peak_bytes; /* live when the whole heap had its peak */
};

struct heap_truth {
	const char *library;
	atomic_ullong calls[HEAP_FUNCTIONS];
	struct heap_account heap;
};

struct heap_block {
	void *pointer;
	size_t size;
	struct heap_truth *owner;
};

static inline void *heap_call(enum heap_function function, size_t size)
{
	void *pointer = NULL;

	switch (function) {
	case HEAP_MALLOC:
		return malloc(size);
	case HEAP_CALLOC:
		return calloc(size / 8, 8);
	case HEAP_REALLOC:
		return realloc(NULL, size);
	case HEAP_REALLOCARRAY:
		return reallocarray(NULL, size / 4, 4);
	case HEAP_POSIX_MEMALIGN:
		return posix_memalign(&pointer, 64, size) == 0 ? pointer : NULL;
	case HEAP_ALIGNED_ALLOC:
		return aligned_alloc(64, size);
	case HEAP_MEMALIGN:
		return memalign(256, size);
	default:
		return NULL;
	}
}

/* Allocates size bytes (a multiple of 8) by one of the allocating functions. */
static inline void heap_allocate(struct heap_truth *truth, struct heap_block *block,
				 enum heap_function function, size_t size)
{
	block->pointer = heap_call(function, size);
	if (!block->pointer) {
		abort();
	}
	block->size = size;
	block->owner = truth;
	atomic_fetch_add(&truth->calls[function], 1);
	atomic_fetch_add(&truth->heap.allocs, 1);
	atomic_fetch_add(&truth->heap.live_bytes, (long long)size);
}

/* Grows a block of this library's own. */
static inline void heap_grow(struct heap_truth *truth, struct heap_block *block, size_t size)
{
	block->pointer = realloc(block->pointer, size);
	if (!block->pointer) {
		abort();
	}
	atomic_fetch_add(&truth->calls[HEAP_REALLOC], 1);
	atomic_fetch_add(&truth->heap.allocs, 1);
	atomic_fetch_add(&truth->heap.frees, 1);
	atomic_fetch_add(&truth->heap.live_bytes, (long long)size - (long long)block->size);
	block->size = size;
}

/* Frees anybody's block; an empty one is free(NULL), which is a call and nothing more. */
static inline void heap_release(struct heap_truth *truth, struct heap_block *block)
{
	free(block->pointer);
	atomic_fetch_add(&truth->calls[HEAP_FREE], 1);
	if (block->pointer) {
		atomic_fetch_add(&block->owner->heap.frees, 1);
		atomic_fetch_sub(&block->owner->heap.live_bytes, (long long)block->size);
	}
	block->pointer = NULL;
}

/* The library's side. */
#define HEAP_TRUTH_PUBLIC __attribute__((visibility("default")))
HEAP_TRUTH_PUBLIC struct heap_truth *heap_truth_library(void);
HEAP_TRUTH_PUBLIC void heap_truth_library_allocate(struct heap_block *block,
						   enum heap_function function, size_t size);
HEAP_TRUTH_PUBLIC void heap_truth_library_grow(struct heap_block *block, size_t size);
HEAP_TRUTH_PUBLIC void heap_truth_library_release(struct heap_block *block);

#endif
