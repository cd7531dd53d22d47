/* Kernels of the simulated runtime: what nvcc's code registers, and the handles that launches have.
 * A kernel gets into the driver when it is used first. SIM_NO_NAMES makes it an older runtime,
 * which does not tell names. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

#define SLOTS (1u << 17)
#define CONFIGURATIONS 16

/* A fat binary: one library of the driver. */
struct binary {
	const void *image;
	struct sim_module *library; /* NULL: not loaded yet */
};

static struct registered {
	const void *function; /* of the host; NULL: free */
	const char *name;     /* NULL: removed */
	struct binary *binary;
	struct sim_function *kernel; /* NULL: not used yet */
} registered[SLOTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
	__typeof__(&cuLibraryLoadData) load;
	__typeof__(&cuLibraryUnload) unload;
	__typeof__(&cuLibraryGetKernel) get_kernel;
	__typeof__(&cuKernelGetFunction) get_function;
	__typeof__(&cuKernelGetName) get_name;
} driver;

static struct registered *find(const void *function)
{
	uint64_t at = (uint64_t)function * 0x9e3779b97f4a7c15ULL >> 47;

	while (registered[at % SLOTS].function && registered[at % SLOTS].function != function) {
		at++;
	}
	return &registered[at % SLOTS];
}

static int use(struct registered *entry)
{
	int result = SIM_SUCCESS;

	sim_enter();
	SIM_FIND("cuLibraryLoadData", driver.load);
	SIM_FIND("cuLibraryGetKernel", driver.get_kernel);
	pthread_mutex_lock(&mutex);
	if (!entry->binary->library) {
		result = driver.load(&entry->binary->library, entry->binary->image, NULL, NULL, 0,
				     NULL, NULL, 0);
	}
	if (result == SIM_SUCCESS && !entry->kernel) {
		result = driver.get_kernel(&entry->kernel, entry->binary->library, entry->name);
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

void **__cudaRegisterFatBinary(const void *image)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	if (!binary) {
		abort();
	}
	binary->image = image;
	return (void **)binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct binary *binary = (struct binary *)handle;

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (registered[i].binary == binary) {
			registered[i].name = NULL;
			registered[i].kernel = NULL;
			registered[i].binary = NULL;
		}
	}
	pthread_mutex_unlock(&mutex);
	if (binary->library) {
		SIM_FIND("cuLibraryUnload", driver.unload);
		driver.unload(binary->library);
	}
	free(binary);
}

void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
			    const char *name, int threads, void *tid, void *bid, void *block,
			    void *grid, int *warp)
{
	(void)device_function;
	(void)threads;
	(void)tid;
	(void)bid;
	(void)block;
	(void)grid;
	(void)warp;
	pthread_mutex_lock(&mutex);
	*find(function) = (struct registered){function, name, (struct binary *)handle, NULL};
	pthread_mutex_unlock(&mutex);
}

/* Symbols are where the program has them: all memory is the host's. */
void __cudaRegisterVar(void **handle, char *variable, char *address, const char *name, int external,
		       size_t size, int constant, int global)
{
	(void)handle;
	(void)variable;
	(void)address;
	(void)name;
	(void)external;
	(void)size;
	(void)constant;
	(void)global;
}

char __cudaInitModule(void **handle)
{
	return handle != NULL;
}

int __cudaGetKernel(struct sim_function **kernel, const void *function)
{
	struct registered *entry = find(function);
	int result = entry->name ? use(entry) : SIM_INVALID_DEVICE_FUNCTION;

	*kernel = result == SIM_SUCCESS ? entry->kernel : NULL;
	return sim_done(result);
}

int cudaGetKernel(struct sim_function **kernel, const void *function)
{
	return __cudaGetKernel(kernel, function);
}

int cudaGetFuncBySymbol(struct sim_function **function, const void *symbol)
{
	struct sim_function *kernel;
	int result = __cudaGetKernel(&kernel, symbol);

	SIM_FIND("cuKernelGetFunction", driver.get_function);
	return result == SIM_SUCCESS ? sim_done(driver.get_function(function, kernel)) : result;
}

const void *sim_launched(const void *kernel)
{
	struct registered *entry = find(kernel);

	return entry->name && use(entry) == SIM_SUCCESS ? entry->kernel : kernel;
}

int cudaFuncGetName(const char **name, const void *function)
{
	const struct registered *entry = find(function);

	if (getenv("SIM_NO_NAMES")) {
		return sim_done(SIM_INVALID_DEVICE_FUNCTION);
	}
	if (entry->name) {
		*name = entry->name;
		return SIM_SUCCESS;
	}
	SIM_FIND("cuKernelGetName", driver.get_name);
	return sim_done(driver.get_name(name, (struct sim_function *)(uintptr_t)function) ==
				SIM_SUCCESS
			    ? SIM_SUCCESS
			    : SIM_INVALID_DEVICE_FUNCTION);
}

/* ---- configurations between <<<>>> and the launch */

static _Thread_local struct configuration {
	struct dim3 grid, block;
	size_t shared;
	CUstream stream;
} configurations[CONFIGURATIONS];
static _Thread_local unsigned configured;

unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared,
				     CUstream stream)
{
	if (configured == CONFIGURATIONS) {
		return 1;
	}
	configurations[configured++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
	if (configured == 0) {
		return SIM_INVALID_VALUE;
	}
	const struct configuration *last = &configurations[--configured];
	*grid = last->grid;
	*block = last->block;
	*shared = last->shared;
	memcpy(stream, &last->stream, sizeof(last->stream));
	return SIM_SUCCESS;
}
