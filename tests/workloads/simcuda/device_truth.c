/*
 * Work of known duration on simulated devices, and a second tool that uses the simulated CUPTI
 * beside hooktrace. device_truth [SCENE]... does the scenes one after the other and prints, as one
 * JSON object, what the second tool got:
 *
 *   work      THREADS threads launch, copy and set on streams of both devices, and wait
 *   bare      kernels without any wait
 *   burst     many of them
 *   named     threads launch kernels that differ only behind the 4,000th byte of their names
 *   tool      the second tool registers, enables, sees "work", disables, flushes
 *   again     the same without a new registration
 *   stamped   as "tool", with a clock of its own
 *   subscribe the second tool subscribes, and "work" is done meanwhile
 *   stays     as "tool", by a subscriber that never unsubscribes, as Kineto of torch 2.11
 *   finalize  the second tool finalizes CUPTI
 *   gone      the process flushes its records and ends by _exit
 *   fork      a child launches and exits
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cupti.h"
#include "hooktrace.h"
#include "kernels_truth.h"
#include "work.h"

#define THREADS 4
#define ROUNDS 25
#define BURST 60000 /* more calls than the agent remembers */
#define BYTES 4096
#define BUFFER_BYTES (64u << 10)
#define LONG_BYTES 4600
#define LONG_SAME 4000

static void need(int result, const char *what)
{
	if (result != 0) {
		fprintf(stderr, "device_truth: %s failed with %d\n", what, result);
		exit(1);
	}
}
#define NEED(call) need(call, #call)

/* Kernels, found by their names in the program. */
__attribute__((visibility("default"))) void small_kernel(void **arguments, const unsigned *shape)
{
	(void)arguments;
	(void)shape;
}

__attribute__((visibility("default"))) void large_kernel(void **arguments, const unsigned *shape)
{
	(void)arguments;
	(void)shape;
}

/* ---- work */

static void launch(sim_kernel *kernel, unsigned blocks, CUstream stream)
{
	const struct dim3 grid = {blocks, 1, 1}, block = {32, 1, 1};
	void *arguments[] = {NULL};

	NEED(cudaLaunchKernel((const void *)(uintptr_t)kernel, grid, block, arguments, 0, stream));
}

static void *work_of_thread(void *number)
{
	int device = (int)(intptr_t)number % SIM_DEVICES;
	void *memory;
	CUstream stream;

	NEED(cudaSetDevice(device));
	NEED(cudaStreamCreate(&stream));
	NEED(cudaMalloc(&memory, BYTES));
	for (int i = 0; i < ROUNDS; i++) {
		launch(small_kernel, 1 + (unsigned)i % 3, stream);
		launch(large_kernel, 40, stream);
		NEED(cudaMemcpyAsync(memory, memory, BYTES, 3, stream));
		NEED(cudaMemset(memory, 0, BYTES));
		if (i % 5 == 4) {
			NEED(cudaStreamSynchronize(stream));
		}
	}
	NEED(cudaFree(memory));
	NEED(cudaStreamDestroy(stream));
	return NULL;
}

static void in_threads(void *function(void *number))
{
	pthread_t threads[THREADS];

	/* After this call hooktrace has CUPTI again, if the second tool left it. */
	NEED(cudaDeviceSynchronize());
	for (intptr_t i = 0; i < THREADS; i++) {
		NEED(pthread_create(&threads[i], NULL, function, (void *)i));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	NEED(cudaDeviceSynchronize());
}

static void work(void)
{
	in_threads(work_of_thread);
}

static void bare(int count)
{
	for (int i = 0; i < count; i++) {
		launch(small_kernel, 1, NULL);
	}
}

/* ---- kernels as nvcc's code has them */

KERNEL_STUB(long_stub_a, 1)
KERNEL_STUB(long_stub_b, 2)

static char long_a[LONG_BYTES + 1], long_b[LONG_BYTES + 1];

__attribute__((constructor)) static void register_long(void)
{
	static const int image = 1;
	void **handle = __cudaRegisterFatBinary(&image);

	memset(long_a, 'k', LONG_BYTES);
	memcpy(long_b, long_a, sizeof(long_b));
	memset(long_b + LONG_SAME, 'z', LONG_BYTES - LONG_SAME);
	register_kernel(handle, long_stub_a, long_a);
	register_kernel(handle, long_stub_b, long_b);
	__cudaRegisterFatBinaryEnd(handle);
}

/* One with its handle, the other with the host's function. */
static void *named_of_thread(void *number)
{
	const struct dim3 block = {32, 1, 1}, large = {40, 1, 1};

	NEED(cudaSetDevice((int)(intptr_t)number % SIM_DEVICES));
	for (unsigned i = 0; i < ROUNDS; i++) {
		NEED(long_stub_a((struct dim3){1 + i % 3, 1, 1}, block, 0, NULL));
		NEED(cudaLaunchKernel((const void *)(uintptr_t)long_stub_b, large, block, NULL, 0,
				      NULL));
	}
	return NULL;
}

/* ---- the second tool. It finds CUPTI as a program that was not linked with it. */

static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) set;
	__typeof__(&cuptiActivityRegisterTimestampCallback) stamp;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush;
	__typeof__(&cuptiActivityGetNextRecord) next;
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
	__typeof__(&cuptiFinalize) finalize;
} cupti;

static const int kinds[] = {SIM_CUPTI_MEMCPY, SIM_CUPTI_MEMSET, SIM_CUPTI_CONCURRENT_KERNEL,
			    SIM_CUPTI_RUNTIME, SIM_CUPTI_DRIVER};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
static _Atomic unsigned long seen[SIM_CUPTI_KINDS], requests, strangers;
static _Atomic unsigned long device_ns;
static _Atomic(uint8_t *) own[4096];

static void find(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "device_truth: %s\n", dlerror());
		exit(1);
	}
	*(void **)&cupti.set = dlsym(library, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.stamp = dlsym(library, "cuptiActivityRegisterTimestampCallback");
	*(void **)&cupti.enable = dlsym(library, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(library, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(library, "cuptiActivityFlushAll");
	*(void **)&cupti.next = dlsym(library, "cuptiActivityGetNextRecord");
	*(void **)&cupti.subscribe = dlsym(library, "cuptiSubscribe");
	*(void **)&cupti.unsubscribe = dlsym(library, "cuptiUnsubscribe");
	*(void **)&cupti.finalize = dlsym(library, "cuptiFinalize");
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	unsigned long number = atomic_fetch_add(&requests, 1);

	*buffer = malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
	own[number % 4096] = *buffer;
}

/* As a tool does that looks its buffers up: one that it never gave out is an error. */
static bool is_own(const uint8_t *buffer)
{
	for (int i = 0; i < 4096; i++) {
		if (own[i] == buffer) {
			own[i] = NULL;
			return true;
		}
	}
	return false;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	if (!is_own(buffer)) {
		strangers++;
		return;
	}
	while (cupti.next(buffer, valid, &record) == SIM_CUPTI_SUCCESS) {
		const struct sim_cupti_kernel *kernel = record;
		seen[kernel->kind]++;
		if (kernel->kind == SIM_CUPTI_CONCURRENT_KERNEL) {
			device_ns += kernel->end - kernel->start;
		}
	}
	free(buffer);
}

/* Twice as fast as the clock of the host, and elsewhere. */
static uint64_t other_clock(void)
{
	return 2 * sim_now_ns() + 12345;
}

static void enable_all(bool on)
{
	for (size_t i = 0; i < KINDS; i++) {
		NEED(on ? cupti.enable(kinds[i]) : cupti.disable(kinds[i]));
	}
}

static void trace(bool again, bool stamped)
{
	find();
	if (stamped) {
		NEED(cupti.stamp(other_clock));
	}
	if (!again) {
		NEED(cupti.set(requested, completed));
	}
	enable_all(true);
	work();
	enable_all(false);
	NEED(cupti.flush(1));
}

static void subscribe(void)
{
	void *subscriber;

	find();
	NEED(cupti.subscribe(&subscriber, NULL, NULL));
	work();
	NEED(cupti.unsubscribe(subscriber));
}

static void stay(void)
{
	void *subscriber;

	find();
	NEED(cupti.subscribe(&subscriber, NULL, NULL));
	trace(false, false);
}

static void finalize(void)
{
	find();
	NEED(cupti.finalize());
}

static void have_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		bare(ROUNDS);
		exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	bool gone = false;

	for (int i = 1; i < argc; i++) {
		const char *scene = argv[i];
		if (strcmp(scene, "work") == 0) {
			work();
		} else if (strcmp(scene, "bare") == 0) {
			bare(ROUNDS);
		} else if (strcmp(scene, "burst") == 0) {
			bare(BURST);
		} else if (strcmp(scene, "named") == 0) {
			in_threads(named_of_thread);
		} else if (strcmp(scene, "tool") == 0) {
			trace(false, false);
		} else if (strcmp(scene, "again") == 0) {
			trace(true, false);
		} else if (strcmp(scene, "stamped") == 0) {
			trace(false, true);
		} else if (strcmp(scene, "subscribe") == 0) {
			subscribe();
		} else if (strcmp(scene, "stays") == 0) {
			stay();
		} else if (strcmp(scene, "finalize") == 0) {
			finalize();
		} else if (strcmp(scene, "gone") == 0) {
			gone = true;
		} else if (strcmp(scene, "fork") == 0) {
			have_child();
		} else {
			fprintf(stderr, "device_truth: no scene %s\n", scene);
			return 1;
		}
	}
	printf("{\"kernels\": %lu, \"copies\": %lu, \"sets\": %lu, \"runtime\": %lu, "
	       "\"driver\": %lu, \"device_ns\": %lu, \"strangers\": %lu}\n",
	       seen[SIM_CUPTI_CONCURRENT_KERNEL], seen[SIM_CUPTI_MEMCPY], seen[SIM_CUPTI_MEMSET],
	       seen[SIM_CUPTI_RUNTIME], seen[SIM_CUPTI_DRIVER], device_ns, strangers);
	fflush(stdout);
	if (gone) {
		_exit(hk_flush() == 1 ? 0 : 1);
	}
	return 0;
}
