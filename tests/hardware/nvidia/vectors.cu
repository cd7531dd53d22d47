/*
 * vectors: kernels, copies, graphs and memory of known counts on a real GPU. Prints them as one JSON object on standard output, with the
 * time between two events around LAUNCHES additions. `vectors spin COUNT [CUPTI]` launches COUNT empty kernels and prints the time for each,
 * in ns; with records of kernels and calls by the library at the path CUPTI, which are thrown away.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>

#define ELEMENTS (128u << 20)
#define LAUNCHES 100
#define WARMUP 5
#define SCALES 50
#define GRAPH_LAUNCHES 10
#define GRAPH_KERNELS 3
#define WAIT_EACH 512
#define BUFFER_BYTES (512u << 10)

#define NEED(call)                                                                                     \
	do {                                                                                           \
		cudaError_t error_ = (call);                                                           \
		if (error_ != cudaSuccess) {                                                           \
			fprintf(stderr, "vectors: %s: %s\n", #call, cudaGetErrorString(error_));       \
			exit(1);                                                                       \
		}                                                                                      \
	} while (0)

__global__ void add(const float *a, const float *b, float *sum, unsigned count)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count) {
		sum[i] = a[i] + b[i];
	}
}

template <typename T> __global__ void scale(T *values, T factor, unsigned count)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
		values[i] *= factor;
	}
}

__global__ void nothing()
{
}

/* ---- CUPTI by itself: the least that a tool with these records costs ---- */

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = (uint8_t *)aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context, (void)stream, (void)size, (void)valid;
	free(buffer);
}

static void enable_cupti(const char *path)
{
	static const unsigned kinds[] = {10, 5, 4}; /* concurrent kernels, calls of the runtime, calls of the driver */
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "vectors: %s\n", dlerror());
		exit(1);
	}
	auto set = (int (*)(void *, void *))dlsym(library, "cuptiActivityRegisterCallbacks");
	auto enable = (int (*)(unsigned))dlsym(library, "cuptiActivityEnable");
	int status = set((void *)requested, (void *)completed);
	for (unsigned kind : kinds) {
		status = status ? status : enable(kind);
	}
	if (status) {
		fprintf(stderr, "vectors: CUPTI answers %d\n", status);
		exit(1);
	}
}

static int spin(long count)
{
	nothing<<<1, 1>>>();
	NEED(cudaDeviceSynchronize());
	auto begin = std::chrono::steady_clock::now();
	for (long i = 0; i < count; i++) {
		nothing<<<1, 1>>>();
		if (i % WAIT_EACH == 0) {
			NEED(cudaDeviceSynchronize());
		}
	}
	NEED(cudaDeviceSynchronize());
	std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
	printf("%.1f\n", time.count() / (double)count);
	return 0;
}

static void launch_graph(cudaStream_t stream, float *values)
{
	cudaGraph_t graph;
	cudaGraphExec_t ready;
	NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < GRAPH_KERNELS; i++) {
		scale<float><<<64, 128, 0, stream>>>(values, 1.0f, ELEMENTS);
	}
	NEED(cudaStreamEndCapture(stream, &graph));
	NEED(cudaGraphInstantiate(&ready, graph, 0));
	for (int i = 0; i < GRAPH_LAUNCHES; i++) {
		NEED(cudaGraphLaunch(ready, stream));
	}
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaGraphExecDestroy(ready));
	NEED(cudaGraphDestroy(graph));
}

static void add_all(cudaStream_t stream, const float *a, const float *b, float *sum, int launches)
{
	for (int i = 0; i < launches; i++) {
		add<<<(ELEMENTS + 255) / 256, 256, 0, stream>>>(a, b, sum, ELEMENTS);
	}
}

/* The first launch loads the kernel, which takes time on a machine that has just started. */
static float additions(cudaStream_t stream, const float *a, const float *b, float *sum)
{
	cudaEvent_t begin, end;
	float ms;
	NEED(cudaEventCreate(&begin));
	NEED(cudaEventCreate(&end));
	add_all(stream, a, b, sum, WARMUP);
	NEED(cudaStreamSynchronize(stream));
	NEED(cudaEventRecord(begin, stream));
	add_all(stream, a, b, sum, LAUNCHES);
	NEED(cudaEventRecord(end, stream));
	NEED(cudaEventSynchronize(end));
	NEED(cudaEventElapsedTime(&ms, begin, end));
	NEED(cudaEventDestroy(begin));
	NEED(cudaEventDestroy(end));
	return ms;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "spin")) {
		if (argc > 3) {
			enable_cupti(argv[3]);
		}
		return spin(strtol(argv[2], NULL, 10));
	}
	const size_t bytes = ELEMENTS * sizeof(float);
	float *host = (float *)malloc(bytes), *a, *b, *sum;
	double *twice;
	cudaStream_t first, second;
	NEED(cudaMalloc(&a, bytes));
	NEED(cudaMalloc(&b, bytes));
	NEED(cudaMalloc(&sum, bytes));
	NEED(cudaStreamCreate(&first));
	NEED(cudaStreamCreate(&second));
	NEED(cudaMallocAsync(&twice, 2 * bytes, second));
	for (unsigned i = 0; i < ELEMENTS; i++) {
		host[i] = (float)(i % 1000);
	}
	NEED(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
	NEED(cudaMemset(sum, 0, bytes));
	float ms = additions(first, a, b, sum);
	for (int i = 0; i < SCALES; i++) {
		scale<double><<<128, 512, 0, second>>>(twice, 0.5, ELEMENTS);
	}
	NEED(cudaMemcpy(host, sum, bytes, cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < ELEMENTS; i++) {
		if (host[i] != 2.0f * (float)(i % 1000)) {
			fprintf(stderr, "vectors: element %u is %f\n", i, host[i]);
			return 1;
		}
	}
	launch_graph(first, sum);
	NEED(cudaFreeAsync(twice, second));
	NEED(cudaDeviceSynchronize());
	NEED(cudaFree(a));
	NEED(cudaFree(b));
	NEED(cudaFree(sum));
	printf("{\"add\": {\"launches\": %d, \"timed\": %d, \"grid\": [%u, 1, 1], \"block\": [256, 1, 1], \"event_ns\": %.0f}, "
	       "\"scale_double\": {\"launches\": %d, \"grid\": [128, 1, 1], \"block\": [512, 1, 1]}, "
	       "\"scale_float\": {\"graph_kernels\": %d}, \"graph_launches\": %d, "
	       "\"copied_bytes\": %zu, \"peak_bytes\": %zu, \"allocations\": 4}\n",
	       WARMUP + LAUNCHES, LAUNCHES, (ELEMENTS + 255) / 256, ms * 1e6, SCALES, GRAPH_KERNELS * GRAPH_LAUNCHES, GRAPH_LAUNCHES, 3 * bytes, 5 * bytes);
	free(host);
	return 0;
}
