/*
 * Launches kernels in every way that hooktrace follows, and notes what it launches:
 * kernels_truth OUT.json DIRECTORY [PART]
 *   {"kernels":{"<name>":{"launches":3,"shapes":{"4x2x3 32x4x1
 * 128":2,...}}},"others":1,"same_place":true} DIRECTORY has the libraries. Names of more than
 * 4,000 bytes are noted whole.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels_truth.h"

#define LONG_BYTES 4600
#define LONG_SAME 4000
#define ENTRIES 256
#define THREADS 8
#define ROUNDS 50

/* ---- what was launched */

static struct {
	char *name;
	char shape[64];
	unsigned launches;
} noted[ENTRIES];
static unsigned noted_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool same_place;

static void check(int result)
{
	if (result != SIM_SUCCESS) {
		fprintf(stderr, "kernels_truth: call failed with %d\n", result);
		exit(1);
	}
}

static void note(const char *name, struct dim3 grid, struct dim3 block, unsigned shared)
{
	char shape[64];
	unsigned i;

	snprintf(shape, sizeof(shape), "%ux%ux%u %ux%ux%u %u", grid.x, grid.y, grid.z, block.x,
		 block.y, block.z, shared);
	pthread_mutex_lock(&mutex);
	for (i = 0; i < noted_count; i++) {
		if (strcmp(noted[i].name, name) == 0 && strcmp(noted[i].shape, shape) == 0) {
			break;
		}
	}
	if (i == noted_count) {
		noted[noted_count++].name = strdup(name);
		memcpy(noted[i].shape, shape, sizeof(shape));
	}
	noted[i].launches++;
	pthread_mutex_unlock(&mutex);
}

static void write_truth(const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out) {
		exit(1);
	}
	fprintf(out, "{\"launches\":[");
	for (unsigned i = 0; i < noted_count; i++) {
		fprintf(out, "%s[\"%s\",\"%s\",%u]", i ? "," : "", noted[i].name, noted[i].shape,
			noted[i].launches);
	}
	fprintf(out, "],\"same_place\":%s}\n", same_place ? "true" : "false");
	fclose(out);
}

/* ---- kernels of the program itself */

KERNEL_STUB(stub_plain, 1)
KERNEL_STUB(stub_template, 2)
KERNEL_STUB(stub_long_a, 3)
KERNEL_STUB(stub_long_b, 4)
KERNEL_STUB(stub_legacy, 5)
KERNEL_STUB(stub_threads, 6)

static const char plain[] = "_Z9vectorAddPKfS0_Pfi";
static const char template_name[] = "_ZN4test5scaleIfEEvPT_S1_";
static const char legacy[] = "_Z6legacyv";
static const char threads_name[] = "_Z7threadsv";
static char long_a[LONG_BYTES + 1], long_b[LONG_BYTES + 1];

__attribute__((constructor)) static void register_all(void)
{
	static const int image = 1;
	void **handle = __cudaRegisterFatBinary(&image);

	memset(long_a, 'k', LONG_BYTES);
	memcpy(long_b, long_a, sizeof(long_b));
	memset(long_b + LONG_SAME, 'z', LONG_BYTES - LONG_SAME);
	register_kernel(handle, stub_plain, plain);
	register_kernel(handle, stub_template, template_name);
	register_kernel(handle, stub_long_a, long_a);
	register_kernel(handle, stub_long_b, long_b);
	register_kernel(handle, stub_legacy, legacy);
	register_kernel(handle, stub_threads, threads_name);
	__cudaRegisterFatBinaryEnd(handle);
}

typedef int kernel_stub(struct dim3 grid, struct dim3 block, size_t shared, CUstream stream);

static void launch(kernel_stub *stub, const char *name, struct dim3 grid, struct dim3 block,
		   unsigned shared, CUstream stream)
{
	check(stub(grid, block, shared, stream));
	note(name, grid, block, shared);
}

static void launch_own(void)
{
	for (unsigned i = 0; i < 7; i++) {
		launch(stub_plain, plain, (struct dim3){i % 2 ? 4096 : 0x7fffffff, 1, 1},
		       (struct dim3){256, 1, 1}, 0, NULL);
	}
	launch(stub_template, template_name, (struct dim3){4, 65535, 3}, (struct dim3){32, 4, 2},
	       49152, NULL);
	launch(stub_long_a, long_a, (struct dim3){1, 1, 1}, (struct dim3){1, 1, 1}, 0, NULL);
	launch(stub_long_b, long_b, (struct dim3){2, 1, 1}, (struct dim3){1, 1, 1}, 0, NULL);
	launch(stub_long_b, long_b, (struct dim3){2, 1, 1}, (struct dim3){1, 1, 1}, 0, NULL);
}

/* The calls of CUDA before 13, with the function of the host; and those for a default stream per
 * thread. */
static void launch_by_function(void)
{
	const struct dim3 grid = {5, 6, 7}, block = {8, 9, 10};
	struct sim_launch_config config = {
	    .grid = {11, 12, 13}, .block = {14, 15, 16}, .shared_of_runtime = 17};
	const void *function = (const void *)(uintptr_t)stub_legacy;
	struct sim_function *kernel;

	check(cudaLaunchKernel(function, grid, block, NULL, 18, NULL));
	note(legacy, grid, block, 18);
	check(cudaLaunchKernel_ptsz(function, grid, block, NULL, 0, (CUstream)2));
	note(legacy, grid, block, 0);
	check(cudaLaunchKernelExC(&config, function, NULL));
	note(legacy, (struct dim3){11, 12, 13}, (struct dim3){14, 15, 16}, 17);
	check(__cudaGetKernel(&kernel, function));
	check(__cudaLaunchKernel_ptsz(kernel, grid, block, NULL, 1, NULL));
	note(legacy, grid, block, 1);
}

/* ---- functions of the driver's modules */

static void launch_function(struct sim_function *function, const char *name)
{
	struct sim_launch_config config = {
	    .grid = {3, 2, 1}, .block = {6, 5, 4}, .shared_of_driver = 7};

	check(cuLaunchKernel((sim_kernel *)(uintptr_t)function, 1, 2, 3, 4, 5, 6, 7, NULL, NULL,
			     NULL));
	note(name, (struct dim3){1, 2, 3}, (struct dim3){4, 5, 6}, 7);
	check(cuLaunchKernelEx(&config, (sim_kernel *)(uintptr_t)function, NULL, NULL));
	note(name, (struct dim3){3, 2, 1}, (struct dim3){6, 5, 4}, 7);
}

/* Two modules, one after the other: the second one's function gets the first one's handle. */
static void launch_modules(void)
{
	struct sim_function *first = NULL, *second = NULL;
	struct sim_module *module;
	char name[32];

	check(cuModuleLoadData(&module, "image"));
	snprintf(name, sizeof(name), "triton_first"); /* gone by the time of the launch */
	check(cuModuleGetFunction(&first, module, name));
	memset(name, '?', sizeof(name) - 1);
	launch_function(first, "triton_first");
	check(cuModuleUnload(module));
	check(cuModuleLoadData(&module, "image"));
	check(cuModuleGetFunction(&second, module, "triton_second"));
	launch_function(second, "triton_second");
	same_place = same_place && first == second;
	check(cuModuleUnload(module));
}

/* A kernel of a library, and its function, which was not got by name. */
static void launch_library(void)
{
	struct sim_module *library;
	struct sim_function *kernel, *function;

	check(cuLibraryLoadData(&library, "image", NULL, NULL, 0, NULL, NULL, 0));
	check(cuLibraryGetKernel(&kernel, library, "library_kernel"));
	check(cuKernelGetFunction(&function, kernel));
	launch_function(kernel, "library_kernel");
	launch_function(function, "library_kernel");
	check(cuLibraryUnload(library));
}

/* ---- a library that the program needs: its constructor runs before an agent's */

kernel_stub kernels_library_first;

static void launch_linked(void)
{
	launch(kernels_library_first, "linked_first", (struct dim3){3, 3, 3},
	       (struct dim3){3, 3, 3}, 3, NULL);
}

/* ---- libraries that take each other's place */

static void *launch_plugin(const char *directory, const char *which)
{
	char path[4096], name[64];
	const struct dim3 grid = {1, 1, 1}, block = {64, 1, 1};

	snprintf(path, sizeof(path), "%s/libkernels_truth_%s.so", directory, which);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "kernels_truth: %s\n", dlerror());
		exit(1);
	}
	kernel_stub *first = (kernel_stub *)dlsym(library, "kernels_library_first");
	kernel_stub *second = (kernel_stub *)dlsym(library, "kernels_library_second");
	snprintf(name, sizeof(name), "%s_first", which);
	launch(first, name, grid, block, 0, NULL);
	snprintf(name, sizeof(name), "%s_second", which);
	launch(second, name, grid, block, 0, NULL);
	launch(second, name, grid, block, 0, NULL);
	void *place = (void *)first;
	dlclose(library);
	return place;
}

static void launch_plugins(const char *directory)
{
	void *place = launch_plugin(directory, "one");

	same_place = launch_plugin(directory, "two") == place;
	launch_plugin(directory, "one");
}

/* ---- threads, graphs, children */

static void *launch_in_thread(void *number)
{
	unsigned thread = (unsigned)(uintptr_t)number;

	for (unsigned i = 0; i < ROUNDS; i++) {
		launch(stub_threads, threads_name, (struct dim3){thread + 1, 1, 1},
		       (struct dim3){1, 1, 1}, 0, NULL);
		launch(i % 2 ? stub_plain : stub_template, i % 2 ? plain : template_name,
		       (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1}, 0, NULL);
	}
	return NULL;
}

static void launch_in_threads(void)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, launch_in_thread, (void *)i) != 0) {
			exit(1);
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
}

/* A launch into a graph is a launch for the host; a launch of the graph has no kernel. */
static void launch_graph(void)
{
	struct sim_graph *graph, *exec;
	CUstream stream;

	check(cudaStreamCreate(&stream));
	check(cudaStreamBeginCapture(stream, 0));
	launch(stub_plain, plain, (struct dim3){9, 9, 9}, (struct dim3){8, 8, 8}, 0, stream);
	check(cudaStreamEndCapture(stream, &graph));
	check(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++) {
		check(cudaGraphLaunch(exec, stream));
	}
	check(cudaStreamSynchronize(stream));
	check(cudaStreamDestroy(stream));
}

static void launch_in_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		launch(stub_plain, plain, (struct dim3){77, 1, 1}, (struct dim3){7, 1, 1}, 0, NULL);
		launch(stub_legacy, legacy, (struct dim3){78, 1, 1}, (struct dim3){8, 1, 1}, 0,
		       NULL);
		exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Pools, managed and virtual memory, each of another size. */
static void use_memory(void)
{
	const struct sim_memory_properties properties = {.location_type = 1, .location_id = 1};
	const uint64_t access[2] = {0};
	struct sim_pool *pool;
	void *pooled, *managed;
	size_t bytes;
	uint64_t physical;
	CUdeviceptr range;

	check(cudaDeviceGetDefaultMemPool(&pool, 0));
	check(cudaMallocFromPoolAsync(&pooled, 3000, pool, NULL));
	check(cudaMallocManaged(&managed, 5000, 1));
	check(cuMemGetAllocationGranularity(&bytes, &properties, 0));
	check(cuMemCreate(&physical, bytes, &properties, 0));
	check(cuMemAddressReserve(&range, bytes, 0, 0, 0));
	check(cuMemMap(range, bytes, 0, physical, 0));
	check(cuMemSetAccess(range, bytes, access, 1));
	*(volatile char *)range = 1;
	check(cuMemUnmap(range, bytes));
	check(cuMemAddressFree(range, bytes));
	check(cuMemRelease(physical));
	check(cudaFree(managed));
	check(cudaFreeAsync(pooled, NULL));
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: kernels_truth OUT.json DIRECTORY\n");
		return 2;
	}
	launch_own();
	launch_by_function();
	launch_linked();
	launch_plugins(argv[2]);
	launch_modules();
	launch_library();
	launch_in_threads();
	launch_graph();
	use_memory();
	launch_in_child();
	check(cudaGetLastError());
	write_truth(argv[1]);
	return 0;
}
