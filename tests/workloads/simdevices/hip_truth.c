/*
 * Uses simulated HIP and RCCL with calls, bytes, memory and collectives known: mpirun -n N
 * hip_truth DIRECTORY writes truth-RANK.json. Device memory comes by several ways on two threads
 * and devices, is freed by the other thread, and one block of each thread stays.
 */
#include "device_truth.h"
#include "hip.h"

#define ROUNDS 5

enum way { BY_MALLOC, BY_STREAM, BY_PITCH, BY_MANAGED, BY_HOST, BY_REGISTER, WAYS };

static struct {
	void *pointer;
	size_t size;
	enum truth_memory memory;
} blocks[TRUTH_THREADS][WAYS];
static hipStream_t streams[SIM_DEVICES];
static int round_number;

static void *allocate(void *thread)
{
	truth_thread = (int)(intptr_t)thread;
	int device = (truth_thread + round_number) % SIM_DEVICES;

	DO(0, hipSetDevice, device);
	for (int way = 0; way < WAYS; way++) {
		size_t size =
		    (size_t)(1 + (truth_thread * 131 + way * 17 + round_number * 7) % 400) * 4;
		size_t pitch = 0;
		void *pointer = NULL;
		enum truth_memory memory = (enum truth_memory)(TRUTH_DEVICE + device);

		switch (way) {
		case BY_MALLOC:
			DO(0, hipMalloc, &pointer, size);
			break;
		case BY_STREAM: /* of the other device */
			DO(0, hipMallocAsync, &pointer, size, streams[1 - device]);
			memory = (enum truth_memory)(TRUTH_DEVICE + 1 - device);
			break;
		case BY_PITCH:
			DO(0, hipMallocPitch, &pointer, &pitch, size, 3);
			size = pitch * 3;
			break;
		case BY_MANAGED:
			DO(0, hipMallocManaged, &pointer, size, 1);
			memory = (enum truth_memory)(TRUTH_MANAGED + device);
			break;
		case BY_HOST:
			DO(0, hipHostMalloc, &pointer, size, 0);
			memory = TRUTH_PINNED;
			break;
		default:
			pointer = malloc(size);
			DO(0, hipHostRegister, pointer, size, 0);
			memory = TRUTH_PINNED;
			break;
		}
		blocks[truth_thread][way].pointer = pointer;
		blocks[truth_thread][way].size = size;
		blocks[truth_thread][way].memory = memory;
		truth_took(memory, size);
	}
	return NULL;
}

/* Frees what the other thread allocated. In the last round a block stays. */
static void *release(void *thread)
{
	truth_thread = (int)(intptr_t)thread;
	for (int way = round_number == ROUNDS - 1; way < WAYS; way++) {
		__typeof__(&blocks[0][0]) block = &blocks[1 - truth_thread][way];

		switch (way) {
		case BY_STREAM:
			DO(0, hipFreeAsync, block->pointer, streams[0]);
			break;
		case BY_HOST:
			DO(0, hipHostFree, block->pointer);
			break;
		case BY_REGISTER:
			DO(0, hipHostUnregister, block->pointer);
			free(block->pointer);
			break;
		default:
			DO(0, hipFree, block->pointer);
			break;
		}
		truth_gave(block->memory, block->size);
	}
	return NULL;
}

static void mistakes(void)
{
	void *pointer = NULL;

	FAIL(hipErrorInvalidDevice, hipSetDevice, SIM_DEVICES);
	FAIL(hipErrorOutOfMemory, hipMalloc, &pointer, SIM_DEVICE_BYTES + 1);
	FAIL(hipErrorInvalidValue, hipFree, &pointer);
	FAIL(hipErrorInvalidValue, hipMemcpy, &pointer, &pointer, sizeof(pointer), 99);
	FAIL(hipErrorInvalidValue, hipMallocManaged, &pointer, 8, 77);
	DO(0, hipFree, NULL);
	/* It says what another call left behind, and does not fail itself. */
	SAY(hipErrorInvalidValue, hipGetLastError);
	DO(0, hipGetLastError);
}

/* Work that is done only when something waits for it. */
static void work(uint64_t *sums, char *near, char *far)
{
	static struct sim_module image = {
	    "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_"
	    "those_of_templates_are",
	    truth_kernel};
	const struct dim3 grid = {4, 2, 3}, block = {5, 6, 7};
	uint64_t *sum = sums, factor = 2;
	void *arguments[] = {&sum, &factor};
	hipModule_t module;
	hipFunction_t function;
	hipEvent_t event;

	DO(0, hipEventCreate, &event);
	DO(100, hipMemcpyAsync, far, near, 100, hipMemcpyHostToDevice, streams[0]);
	DO(0, hipLaunchKernel, (const void *)(uintptr_t)truth_kernel, grid, block, arguments, 9,
	   streams[0]);
	DO(0, hipEventRecord, event, streams[0]);
	DO(0, hipLaunchKernel_spt, (const void *)(uintptr_t)truth_kernel, grid, block, arguments, 0,
	   streams[0]);
	SAY(hipErrorNotReady, hipEventQuery, event);
	truth_need(far[99] == 0 && *sum == 0, "work that has not begun");
	SAY(hipErrorNotReady, hipStreamQuery, streams[0]); /* the copy */
	truth_need(far[99] == near[99] && *sum == 0, "one piece of work");
	DO(0, hipEventSynchronize, event);
	truth_need(*sum == 2 * TRUTH_KERNEL_SUM(4, 2, 3, 5, 6, 7), "work before an event");
	DO(0, hipEventQuery, event);
	DO(0, hipModuleLoadData, &module, &image);
	FAIL(hipErrorNotFound, hipModuleGetFunction, &function, module, "no such kernel");
	DO(0, hipModuleGetFunction, &function, module, image.name);
	/* The other stream waits for the first one. */
	DO(0, hipEventRecord, event, streams[0]);
	DO(0, hipStreamWaitEvent, streams[1], event, 0);
	factor = 1000000;
	DO(0, hipModuleLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, streams[1], arguments, NULL);
	DO(0, hipStreamSynchronize, streams[1]);
	truth_need(*sum == 4 * TRUTH_KERNEL_SUM(4, 2, 3, 5, 6, 7) +
			       1000000 * TRUTH_KERNEL_SUM(1, 1, 1, 1, 1, 1),
		   "all work");
	DO(0, hipStreamQuery, streams[0]);
	DO(0, hipModuleUnload, module);
	DO(0, hipEventDestroy, event);
}

static void use(void)
{
	static char near[600];
	void *far = NULL;
	uint64_t *sums = NULL;

	DO(0, hipSetDevice, 0);
	DO(0, hipMalloc, &far, sizeof(near));
	truth_took(TRUTH_DEVICE, sizeof(near));
	DO(0, hipMalloc, (void **)&sums, 16);
	truth_took(TRUTH_DEVICE, 16);
	truth_end_phase();
	memset(near, 7, sizeof(near));
	work(sums, near, far);
	DO(600, hipMemcpy, far, near, 600, hipMemcpyHostToDevice);
	DO(30, hipMemcpy2D, far, 20, near, 10, 10, 3, hipMemcpyHostToDevice);
	DO(50, hipMemcpyHtoDAsync, far, near, 50, streams[0]);
	DO(40, hipMemset, far, 9, 40);
	DO(80, hipMemsetD32Async, far, 3, 20, streams[0]);
	DO(0, hipDeviceSynchronize);
	truth_need(((char *)far)[79] == 3 && ((char *)far)[80] == 7, "hipMemsetD32Async");
	DO(0, hipFree, far);
	truth_gave(TRUTH_DEVICE, sizeof(near));
	DO(0, hipFree, sums);
	truth_gave(TRUTH_DEVICE, 16);
}

static void communicate(ncclComm_t comm, int rank, int ranks)
{
	static double from[4096], to[4096];
	size_t counts[64], places[64] = {0}, sum = 0;

	for (size_t i = 1; i <= 10; i++) {
		DO(i * 4, ncclAllReduce, from, to, i, ncclFloat, 0, comm, streams[0]);
		DO(i * 2, ncclAllReduce, from, to, i, ncclBfloat16, 0, comm, NULL);
		DO(i, ncclAllGather, from, to, i, ncclInt8, comm, NULL);
		DO(i * 8 * (size_t)ranks, ncclReduceScatter, from, to, i, ncclDouble, 0, comm,
		   NULL);
		DO(rank == 1 ? i * 2 : 0, ncclBroadcast, from, to, i, ncclFloat16, 1, comm, NULL);
		DO(i * 4 * (size_t)ranks, ncclAllToAll, from, to, i, ncclInt32, comm, NULL);
	}
	for (int i = 0; i < ranks && i < 64; i++) {
		counts[i] = (size_t)(10 * i + rank);
		sum += counts[i];
	}
	DO(8 * sum, ncclAllToAllv, from, counts, places, to, counts, places, ncclDouble, comm,
	   streams[0]);
	DO(0, ncclGroupStart);
	DO(400, ncclSend, from, 100, ncclInt32, (rank + 1) % ranks, comm, NULL);
	DO(0, ncclRecv, to, 100, ncclInt32, (rank + ranks - 1) % ranks, comm, NULL);
	DO(0, ncclGroupEnd);
	FAIL(ncclInvalidArgument, ncclSend, from, 8, ncclInt8, 999, comm, NULL);
	DO(0, hipStreamSynchronize, streams[0]);
}

int main(int argc, char **argv)
{
	ncclUniqueId id;
	ncclComm_t world, half;
	void *pointers[2];
	int ranks;
	int rank = truth_begin(&argc, &argv, "hip_truth", &ranks);

	mistakes();
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, hipSetDevice, device);
		DO(0, hipStreamCreate, &streams[device]);
	}
	use();
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		truth_run_phase(allocate);
		truth_run_phase(release);
	}
	if (rank == 0) {
		DO(0, ncclGetUniqueId, &id);
	}
	MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
	DO(0, hipSetDevice, 0);
	DO(0, ncclCommInitRank, &world, ranks, id, rank);
	communicate(world, rank, ranks);
	DO(0, ncclCommSplit, world, rank % 2, rank, &half, NULL);
	DO(16, ncclAllReduce, &id, &id, 16, ncclInt8, 0, half, NULL);
	/* What RCCL asks of HIP is not counted beside what it was asked for. */
	DO(0, ncclMemAlloc, &pointers[0], 1000);
	truth_took(TRUTH_DEVICE, 1000);
	DO(0, ncclMemAlloc, &pointers[1], 3000);
	truth_took(TRUTH_DEVICE, 3000);
	truth_end_phase();
	DO(0, ncclMemFree, pointers[0]);
	truth_gave(TRUTH_DEVICE, 1000);
	DO(0, ncclCommDestroy, half);
	DO(0, ncclCommDestroy, world);
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, hipStreamDestroy, streams[device]);
	}
	int status = truth_finish(argv[1], rank);
	MPI_Finalize();
	return status;
}
