/*
 * Threads that use two simulated devices, with calls, bytes and live and peak memory known:
 * cuda_truth OUT.json
 *   {"pid":1,"calls":{"<library>":{"cudaMalloc":{"calls","errors","bytes"},...}},"driver":{"cuMemAlloc_v2":9,...},
 *    "memory":{"device
 * 0":{"*":{"allocs","frees","live_bytes","peak_bytes"},"<library>":{...}},"pinned -1":...}}
 * Barriers separate phases in which memory only grows, is used, or only shrinks, so the peak is the
 * sum at the end of a phase, whatever the order within. Blocks are released by another thread, with
 * another current device, and for half of them by another library. "driver" is what the driver
 * itself counted, for all callers.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "cuda_truth.h"

#define THREADS 4
#define BLOCKS (2 * CUDA_WAYS)
#define ROUNDS 6

#define CUDA_NAME(name) #name,
static const char *const names[] = {CUDA_FUNCTIONS(CUDA_NAME)};
static const char *const memories[] = {"device 0", "device 1", "managed 0", "managed 1",
				       "pinned -1"};

static struct cuda_truth truth = {.library = SIM_PROGRAM};
static struct cuda_account whole[CUDA_MEMORIES];
static struct cuda_block blocks[THREADS][BLOCKS];
static CUstream streams[SIM_DEVICES];
static pthread_barrier_t barrier;

static void raise_peak(struct cuda_account *account, long long live_bytes)
{
	if (live_bytes > account->peak_bytes) {
		account->peak_bytes = live_bytes;
	}
}

/* All threads meet; one of them takes the sums before the others continue. */
static void end_phase(void)
{
	if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
		struct cuda_truth *other = cuda_truth_library();

		for (int i = 0; i < CUDA_MEMORIES; i++) {
			raise_peak(&truth.memory[i], truth.memory[i].live_bytes);
			raise_peak(&other->memory[i], other->memory[i].live_bytes);
			raise_peak(&whole[i],
				   truth.memory[i].live_bytes + other->memory[i].live_bytes);
		}
	}
	pthread_barrier_wait(&barrier);
}

static bool is_there(int i)
{
#ifdef SIM_STATIC
	return i / 2 != CUDA_BY_DRIVER && i / 2 != CUDA_BY_CREATE;
#else
	return i >= 0;
#endif
}

static void allocate_own(int thread, int device, int round)
{
	for (int i = 0; i < BLOCKS; i++) {
		size_t size = (size_t)(1 + (thread * 131 + i * 17 + round * 7) % 400) * 4;
		struct cuda_block *block = &blocks[thread][i];
		CUstream stream = streams[1 - device];

		if (is_there(i) && i % 2 == 0) {
			cuda_allocate(&truth, block, (enum cuda_way)(i / 2), device, stream, size);
		} else if (is_there(i)) {
			cuda_truth_library_allocate(block, (enum cuda_way)(i / 2), device, stream,
						    size);
		}
	}
}

/* The last round leaks one block of each thread. */
static void free_of_other(int thread, int round)
{
	struct cuda_block *theirs = blocks[(thread + 1) % THREADS];

	for (int i = round == ROUNDS - 1; i < BLOCKS; i++) {
		if (!is_there(i)) {
			continue;
		}
		if (i % 4 < 2) {
			cuda_release(&truth, &theirs[i], streams[0]);
		} else {
			cuda_truth_library_release(&theirs[i], streams[1]);
		}
	}
}

/* What fails, and what is no failure. */
static void mistakes(void)
{
	void *pointer = NULL;
	int device = -1;

	cuda_need(CUDA_CALL(&truth, 0, cudaSetDevice, SIM_DEVICES), SIM_INVALID_DEVICE,
		  "cudaSetDevice");
	cuda_need(CUDA_CALL(&truth, 0, cudaMalloc, &pointer, SIM_DEVICE_BYTES + 1),
		  SIM_OUT_OF_MEMORY, "cudaMalloc");
	cuda_need(CUDA_CALL(&truth, 0, cudaMallocManaged, &pointer, 8, 77), SIM_INVALID_VALUE,
		  "cudaMallocManaged");
	cuda_need(CUDA_CALL(&truth, 0, cudaFree, &pointer), SIM_INVALID_VALUE, "cudaFree");
	cuda_need(CUDA_CALL(&truth, 0, cudaMemcpy, &device, &device, sizeof(device), 99),
		  SIM_INVALID_VALUE, "cudaMemcpy");
	CUDA_DO(&truth, 0, cudaFree, NULL);
	CUDA_DO(&truth, 0, cudaGetDevice, &device);
	cuda_need(device, 0, "current device");
}

static void *work(void *argument)
{
	int thread = (int)(intptr_t)argument;

	for (int round = 0; round < ROUNDS; round++) {
		int device = (thread + round) % SIM_DEVICES;

		CUDA_DO(&truth, 0, cudaSetDevice, device);
		allocate_own(thread, device, round);
		end_phase();
		free_of_other(thread, round);
		end_phase();
	}
	return NULL;
}

/* ---- what came of it */

static void put_calls(int fd, const struct cuda_truth *of)
{
	const char *comma = "";

	dprintf(fd, "\"%s\":{", of->library);
	for (int i = 0; i < CUDA_FUNCTION_COUNT; i++) {
		if (of->rows[i].calls > 0) {
			dprintf(fd, "%s\"%s\":{\"calls\":%llu,\"errors\":%llu,\"bytes\":%llu}",
				comma, names[i], of->rows[i].calls, of->rows[i].errors,
				of->rows[i].bytes);
			comma = ",";
		}
	}
	dprintf(fd, "}");
}

static void put_account(int fd, const char *library, const struct cuda_account *account,
			const char *comma)
{
	dprintf(fd,
		"\"%s\":{\"allocs\":%llu,\"frees\":%llu,\"live_bytes\":%lld,\"peak_bytes\":%lld}%s",
		library, account->allocs, account->frees, account->live_bytes, account->peak_bytes,
		comma);
}

static void put_memory(int fd)
{
	struct cuda_truth *other = cuda_truth_library();

	for (int i = 0; i < CUDA_MEMORIES; i++) {
		const struct cuda_account *a = &truth.memory[i], *b = &other->memory[i];

		whole[i].allocs = a->allocs + b->allocs;
		whole[i].frees = a->frees + b->frees;
		whole[i].live_bytes = a->live_bytes + b->live_bytes;
		dprintf(fd, "%s\n\"%s\":{", i > 0 ? "," : "", memories[i]);
		put_account(fd, "*", &whole[i], ",");
		put_account(fd, truth.library, a, ",");
		put_account(fd, other->library, b, "}");
	}
}

static void write_truth(int fd)
{
	dprintf(fd, "{\"pid\":%d,\"calls\":{", (int)getpid());
	put_calls(fd, &truth);
	dprintf(fd, ",\n");
	put_calls(fd, cuda_truth_library());
	dprintf(fd, "},\n\"driver\":");
#ifndef SIM_STATIC
	sim_driver_counts(fd);
#else
	void (*counts)(int fd) = NULL;
	*(void **)&counts = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "sim_driver_counts");
	counts(fd);
#endif
	dprintf(fd, ",\n\"memory\":{");
	put_memory(fd);
	dprintf(fd, "}}\n");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (fd < 0) {
		fprintf(stderr, "usage: cuda_truth OUT.json\n");
		return 2;
	}
	mistakes();
	for (int device = 0; device < SIM_DEVICES; device++) {
		CUDA_DO(&truth, 0, cudaSetDevice, device);
		CUDA_DO(&truth, 0, cudaStreamCreate, &streams[device]);
	}
	CUDA_DO(&truth, 0, cudaSetDevice, 0);
	cuda_use(&truth, streams[0]);
	cuda_truth_library_use(streams[0]);
	/* Both halves use one block of managed memory, one after the other. */
	raise_peak(&truth.memory[CUDA_MANAGED], 600);
	raise_peak(&cuda_truth_library()->memory[CUDA_MANAGED], 600);
	raise_peak(&whole[CUDA_MANAGED], 600);
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
	for (int device = 0; device < SIM_DEVICES; device++) {
		CUDA_DO(&truth, 0, cudaStreamDestroy, streams[device]);
	}
	write_truth(fd);
	return close(fd) == 0 ? 0 : 1;
}
