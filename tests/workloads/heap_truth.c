/*
 * Threads that allocate and free across each other, with live and peak bytes known to the byte:
 * heap_truth OUT.json [ROUNDS]
 *   {"pid":1,"calls":{"<library>":{"malloc":{"calls":1},...}},
 *    "memory":{"heap":{"*":{"allocs","frees","live_bytes","peak_bytes","at_peak_bytes"},"<library>":{...}},
 *              "mapped":{"*":{...}}}}
 * Barriers separate phases, and within a phase bytes only grow (allocate, realloc) or only shrink
 * (free). So whatever the order inside a phase, the peak is the sum at the end of one: exact
 * without any ordering between threads. Nothing counted here is done by stdio; blocks leaked on
 * purpose make the live bytes at the end differ from 0.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap_truth.h"

#define THREADS 4
#define BLOCKS 60
#define SHORT_THREADS 50
#define PAGE 4096

static struct heap_truth truth = {.library = "heap_truth"};
static struct heap_account whole;  /* only its peak is used */
static struct heap_account mapped; /* the program alone maps */
static struct heap_block blocks[THREADS][BLOCKS];
static pthread_barrier_t barrier;
static int rounds = 25;

static const char *const names[HEAP_FUNCTIONS] = {
    [HEAP_MALLOC] = "malloc",
    [HEAP_CALLOC] = "calloc",
    [HEAP_REALLOC] = "realloc",
    [HEAP_REALLOCARRAY] = "reallocarray",
    [HEAP_POSIX_MEMALIGN] = "posix_memalign",
    [HEAP_ALIGNED_ALLOC] = "aligned_alloc",
    [HEAP_MEMALIGN] = "memalign",
    [HEAP_FREE] = "free",
    [HEAP_MMAP] = "mmap",
    [HEAP_MUNMAP] = "munmap",
};

static void raise_peak(struct heap_account *account, long long live_bytes)
{
	if (live_bytes > account->peak_bytes) {
		account->peak_bytes = live_bytes;
	}
}

/* All threads meet; one of them takes the sums before the others continue. */
static void end_phase(void)
{
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		struct heap_account *own = &truth.heap;
		struct heap_account *other = &heap_truth_library()->heap;

		raise_peak(own, own->live_bytes);
		raise_peak(other, other->live_bytes);
		if (own->live_bytes + other->live_bytes > whole.peak_bytes) {
			whole.peak_bytes = own->live_bytes + other->live_bytes;
			whole.at_peak_bytes = whole.peak_bytes;
			own->at_peak_bytes = own->live_bytes;
			other->at_peak_bytes = other->live_bytes;
		}
		raise_peak(&mapped, mapped.live_bytes);
	}
	pthread_barrier_wait(&barrier);
}

static size_t block_size(int thread, int round, int i)
{
	/* Multiples of 64, as aligned_alloc wants; now and then above the mmap threshold, and 0. */
	if (i == 1 && round % 8 == 3) {
		return 192 * 1024;
	}
	if (i == 2) {
		return 0;
	}
	return (size_t)(64 * (1 + (thread * 131 + i * 17 + round * 7) % 40));
}

static void allocate_own(int thread, int round)
{
	for (int i = 0; i < BLOCKS; i++) {
		enum heap_function function =
		    (enum heap_function)((thread + i + round) % HEAP_FREE);
		size_t size = block_size(thread, round, i);

		if (size == 0) {
			function = HEAP_MALLOC;
		}
		if (i % 2 == 0) {
			heap_allocate(&truth, &blocks[thread][i], function, size);
		} else {
			heap_truth_library_allocate(&blocks[thread][i], function, size);
		}
	}
}

static void grow_of_next(int thread)
{
	struct heap_block *theirs = blocks[(thread + 1) % THREADS];

	for (int i = 0; i < BLOCKS; i += 3) {
		if (theirs[i].owner == &truth) {
			heap_grow(&truth, &theirs[i], theirs[i].size + 100);
		} else {
			heap_truth_library_grow(&theirs[i], theirs[i].size + 7000);
		}
	}
}

/* Blocks are freed by another thread and, for a third of them, by another library than the one that
 * allocated. Every fifth round leaks one. */
static void free_of_other(int thread, int round)
{
	struct heap_block *theirs = blocks[(thread + 2) % THREADS];

	for (int i = round % 5 == 0; i < BLOCKS; i++) {
		if ((i % 3 == 0) == (theirs[i].owner == &truth)) {
			heap_truth_library_release(&theirs[i]);
		} else {
			heap_release(&truth, &theirs[i]);
		}
	}
	heap_release(&truth, &(struct heap_block){0});
}

static void *map_pages(size_t pages)
{
	void *at =
	    mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED) {
		abort();
	}
	atomic_fetch_add(&truth.calls[HEAP_MMAP], 1);
	atomic_fetch_add(&mapped.allocs, 1);
	atomic_fetch_add(&mapped.live_bytes, (long long)(pages * PAGE));
	return at;
}

static void unmap_pages(void *at, size_t pages)
{
	if (munmap(at, pages * PAGE) != 0) {
		abort();
	}
	atomic_fetch_add(&truth.calls[HEAP_MUNMAP], 1);
	atomic_fetch_sub(&mapped.live_bytes, (long long)(pages * PAGE));
}

static void *work(void *argument)
{
	int thread = (int)(intptr_t)argument;

	for (int round = 0; round < rounds; round++) {
		char *pages = NULL;

		if (thread == 0) {
			pages = map_pages(5 + (size_t)round % 4);
		}
		allocate_own(thread, round);
		end_phase();
		grow_of_next(thread);
		end_phase();
		if (thread == 0) {
			/* The middle first: what is left is two intervals. The last mapping stays.
			 */
			unmap_pages(pages + PAGE, 2);
			if (round < rounds - 1) {
				unmap_pages(pages, 1);
				unmap_pages(pages + 3 * PAGE, 2 + (size_t)round % 4);
			}
		}
		free_of_other(thread, round);
		end_phase();
	}
	return NULL;
}

static void *allocate_one(void *argument)
{
	heap_truth_library_allocate(argument, HEAP_MALLOC, 320);
	return NULL;
}

/* Threads that live for one allocation; the block outlives its thread. */
static void short_threads(void)
{
	for (int i = 0; i < SHORT_THREADS; i++) {
		struct heap_block block;
		pthread_t thread;

		if (pthread_create(&thread, NULL, allocate_one, &block) != 0) {
			abort();
		}
		pthread_join(thread, NULL);
		heap_release(&truth, &block);
	}
}

static void put(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(int fd, const char *format, ...)
{
	char text[512];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (write(fd, text, (size_t)length) != length) {
		abort();
	}
}

static void put_calls(int fd, const struct heap_truth *of)
{
	const char *comma = "";

	put(fd, "\"%s\":{", of->library);
	for (int i = 0; i < HEAP_FUNCTIONS; i++) {
		if (of->calls[i] > 0) {
			put(fd, "%s\"%s\":{\"calls\":%llu}", comma, names[i], of->calls[i]);
			comma = ",";
		}
	}
	put(fd, "}");
}

static void put_account(int fd, const char *library, const struct heap_account *account)
{
	put(fd, "\"%s\":{\"allocs\":%llu,\"frees\":%llu,\"live_bytes\":%lld,\"peak_bytes\":%lld,",
	    library, account->allocs, account->frees, account->live_bytes, account->peak_bytes);
	put(fd, "\"at_peak_bytes\":%lld}", account->at_peak_bytes);
}

static void write_truth(int fd)
{
	const struct heap_truth *other = heap_truth_library();

	whole.allocs = truth.heap.allocs + other->heap.allocs;
	whole.frees = truth.heap.frees + other->heap.frees;
	whole.live_bytes = truth.heap.live_bytes + other->heap.live_bytes;
	put(fd, "{\"pid\":%d,\"calls\":{", (int)getpid());
	put_calls(fd, &truth);
	put(fd, ",\n");
	put_calls(fd, other);
	put(fd, "},\n\"memory\":{\"heap\":{");
	put_account(fd, "*", &whole);
	put(fd, ",\n");
	put_account(fd, truth.library, &truth.heap);
	put(fd, ",\n");
	put_account(fd, other->library, &other->heap);
	put(fd, "},\n\"mapped\":{");
	put(fd, "\"*\":{\"live_bytes\":%lld,\"peak_bytes\":%lld}}}}\n", mapped.live_bytes,
	    mapped.peak_bytes);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd = argc == 2 || argc == 3
		     ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
		     : -1;

	rounds = argc == 3 ? atoi(argv[2]) : rounds;
	if (fd < 0 || rounds < 1) {
		fprintf(stderr, "usage: heap_truth OUT.json [ROUNDS]\n");
		return 2;
	}
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (intptr_t i = 1; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0) {
			abort();
		}
	}
	work(NULL);
	for (int i = 1; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	short_threads();
	write_truth(fd);
	return close(fd) == 0 ? 0 : 1;
}
