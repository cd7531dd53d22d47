/*
 * Work of known duration on a simulated Ascend device: mspti_truth [tool]. THREADS threads make
 * ROUNDS rounds each; with "tool", a second tool uses MSPTI in the second half. Prints what that
 * tool got.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "mspti.h"

#define THREADS 3
#define ROUNDS 40
#define BUFFER_BYTES 4096

static _Atomic unsigned kernels, calls, copies;

static void need(int result)
{
	if (result != 0) {
		fprintf(stderr, "mspti_truth: a call failed with %d\n", result);
		exit(1);
	}
}

static void nothing(const struct sim_launch *launch)
{
	(void)launch;
}

static aclrtFuncHandle find(const struct sim_binary *image)
{
	aclrtBinHandle binary;
	aclrtFuncHandle function;

	need(aclrtBinaryLoadFromData(image, sizeof(*image), NULL, &binary));
	need(aclrtBinaryGetFunction(binary, image->name, &function));
	return function;
}

static void *rounds(void *unused)
{
	static const struct sim_binary matmul = {"MatMul_a", nothing}, add = {"Add_b", nothing};
	const uint64_t arguments[] = {0};
	char from[256] = "", to[256];
	aclrtStream stream;

	need(aclrtSetDevice(0));
	need(aclrtCreateStream(&stream));
	aclrtFuncHandle multiplies = find(&matmul), adds = find(&add);
	for (int i = 0; i < ROUNDS; i++) {
		need(aclrtLaunchKernel(multiplies, 2, arguments, sizeof(arguments), stream));
		need(aclrtLaunchKernel(adds, 1, arguments, sizeof(arguments), stream));
		need(aclrtMemcpyAsync(to, sizeof(to), from, sizeof(from), 3, stream));
	}
	need(aclrtSynchronizeStream(stream));
	need(aclrtDestroyStream(stream));
	return unused;
}

static void work(void)
{
	pthread_t threads[THREADS];

	need(aclrtSetDevice(0));
	for (int i = 0; i < THREADS; i++) {
		need(pthread_create(&threads[i], NULL, rounds, NULL));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = malloc(BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
}

static void complete(uint8_t *buffer, size_t size, size_t valid)
{
	void *record = NULL;

	(void)size;
	while (msptiActivityGetNextRecord(buffer, valid, &record) == 0) {
		int kind = *(int *)record;
		kernels += kind == SIM_MSPTI_KERNEL;
		calls += kind == SIM_MSPTI_API;
		copies += kind == SIM_MSPTI_MEMCPY;
	}
	free(buffer);
}

static void trace(void)
{
	static const int kinds[] = {SIM_MSPTI_KERNEL, SIM_MSPTI_API, SIM_MSPTI_MEMCPY};

	need(msptiActivityRegisterCallbacks(request, complete));
	for (int i = 0; i < 3; i++) {
		need(msptiActivityEnable(kinds[i]));
	}
	work();
	for (int i = 0; i < 3; i++) {
		need(msptiActivityDisable(kinds[i]));
	}
	need(msptiActivityFlushAll(1));
}

int main(int argc, char **argv)
{
	work();
	if (argc > 1 && strcmp(argv[1], "tool") == 0) {
		trace();
		work();
	}
	printf("{\"kernels\": %u, \"calls\": %u, \"copies\": %u}\n", kernels, calls, copies);
	return 0;
}
