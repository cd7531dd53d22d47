/*
 * Uses simulated ACL, its operators and HCCL with calls, bytes, memory and collectives known:
 * mpirun -n N acl_truth DIRECTORY writes truth-RANK.json. Device memory comes by several ways on
 * two threads and devices, is freed by the other thread, and one block of each thread stays.
 */
#include "acl.h"
#include "device_truth.h"

#define ROUNDS 5

enum way { BY_MALLOC, BY_ALIGN, BY_CACHED, BY_PHYSICAL, BY_MANAGED, BY_HOST, BY_REGISTER, WAYS };

static struct {
	void *pointer;
	size_t size;
	enum truth_memory memory;
} blocks[TRUTH_THREADS][WAYS];
static aclrtStream streams[SIM_DEVICES];
static int round_number;

static void *take(int way, int device, size_t size, enum truth_memory *ret_memory)
{
	/* Physical memory of the other device. */
	const struct sim_memory_properties properties = {.location_id = (uint32_t)(1 - device),
							 .location_type = 1};
	void *pointer = NULL, *mapped = NULL;

	*ret_memory = way == BY_MANAGED	   ? TRUTH_MANAGED + (unsigned)device
		      : way >= BY_HOST	   ? TRUTH_PINNED
		      : way == BY_PHYSICAL ? TRUTH_DEVICE + 1 - (unsigned)device
					   : TRUTH_DEVICE + (unsigned)device;
	switch (way) {
	case BY_MALLOC:
		DO(0, aclrtMalloc, &pointer, size, 0);
		break;
	case BY_ALIGN:
		DO(0, aclrtMallocAlign32, &pointer, size, 0);
		break;
	case BY_CACHED:
		DO(0, aclrtMallocCached, &pointer, size, 0);
		break;
	case BY_PHYSICAL:
		DO(0, aclrtMallocPhysical, &pointer, size, &properties, 0);
		break;
	case BY_MANAGED:
		DO(0, aclrtMemAllocManaged, &pointer, size, 0);
		break;
	case BY_HOST:
		DO(0, aclrtMallocHost, &pointer, size);
		break;
	default:
		pointer = malloc(size);
		DO(0, aclrtHostRegister, pointer, size, 0, &mapped);
		break;
	}
	return pointer;
}

static void *allocate(void *thread)
{
	truth_thread = (int)(intptr_t)thread;
	int device = (truth_thread + round_number) % SIM_DEVICES;

	DO(0, aclrtSetDevice, device);
	for (int way = 0; way < WAYS; way++) {
		__typeof__(&blocks[0][0]) block = &blocks[truth_thread][way];

		block->size =
		    (size_t)(1 + (truth_thread * 131 + way * 17 + round_number * 7) % 400) * 4;
		block->pointer = take(way, device, block->size, &block->memory);
		truth_took(block->memory, block->size);
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
		case BY_PHYSICAL:
			DO(0, aclrtFreePhysical, block->pointer);
			break;
		case BY_HOST:
			DO(0, aclrtFreeHost, block->pointer);
			break;
		case BY_REGISTER:
			DO(0, aclrtHostUnregister, block->pointer);
			free(block->pointer);
			break;
		default:
			DO(0, aclrtFree, block->pointer);
			break;
		}
		truth_gave(block->memory, block->size);
	}
	return NULL;
}

static void mistakes(void)
{
	char near[8], *pointer = NULL;

	FAIL(ACL_ERROR_INVALID_PARAM, aclInit, "no such file");
	DO(0, aclInit, NULL);
	FAIL(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice, SIM_DEVICES);
	FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMalloc, (void **)&pointer, SIM_DEVICE_BYTES + 1,
	     0);
	FAIL(ACL_ERROR_RT_PARAM_INVALID, aclrtFree, &pointer);
	FAIL(ACL_ERROR_INVALID_PARAM, aclrtMemcpy, near, 4, near, 8, 0);
}

/* Work that is done only when something waits for it. */
static void work(uint64_t *sum, char *near, char *far)
{
	static const struct sim_binary image = {
	    "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_those_of_templates_are",
	    truth_kernel};
	uint64_t arguments[] = {(uint64_t)sum, 2};
	aclrtBinHandle binary;
	aclrtFuncHandle function;
	aclrtEvent event;
	int status;

	DO(0, aclrtBinaryLoadFromData, &image, sizeof(image), NULL, &binary);
	FAIL(ACL_ERROR_RT_PARAM_INVALID, aclrtBinaryGetFunction, binary, "no such kernel",
	     &function);
	DO(0, aclrtBinaryGetFunction, binary, image.name, &function);
	DO(0, aclrtCreateEvent, &event);
	DO(100, aclrtMemcpyAsync, far, 600, near, 100, ACL_HOST_TO_DEVICE, streams[0]);
	DO(0, aclrtLaunchKernel, function, 40, arguments, sizeof(arguments), streams[0]);
	DO(0, aclrtRecordEvent, event, streams[0]);
	DO(0, aclrtLaunchKernel, function, 40, arguments, sizeof(arguments), streams[0]);
	DO(0, aclrtQueryEventStatus, event, &status);
	truth_need(status == ACL_EVENT_RECORDED_STATUS_NOT_READY, "aclrtQueryEventStatus");
	truth_need(far[99] == 0 && *sum == 0, "work that has not begun");
	DO(0, aclrtStreamQuery, streams[0], &status); /* the copy */
	truth_need(status == ACL_STREAM_STATUS_NOT_READY, "aclrtStreamQuery");
	truth_need(far[99] == near[99] && *sum == 0, "one piece of work");
	DO(0, aclrtSynchronizeEvent, event);
	truth_need(*sum == 2 * TRUTH_KERNEL_SUM(40, 1, 1, 1, 1, 1), "work before an event");
	/* The other stream waits for the first one. */
	DO(0, aclrtRecordEvent, event, streams[0]);
	DO(0, aclrtStreamWaitEvent, streams[1], event);
	arguments[1] = 1000000;
	DO(0, aclrtLaunchKernel, function, 1, arguments, sizeof(arguments), streams[1]);
	DO(0, aclrtSynchronizeStream, streams[1]);
	truth_need(*sum == 4 * TRUTH_KERNEL_SUM(40, 1, 1, 1, 1, 1) +
			       1000000 * TRUTH_KERNEL_SUM(1, 1, 1, 1, 1, 1),
		   "all work");
	DO(0, aclrtStreamQuery, streams[0], &status);
	truth_need(status == ACL_STREAM_STATUS_COMPLETE, "aclrtStreamQuery");
	DO(0, aclrtDestroyEvent, event);
	DO(0, aclrtBinaryUnLoad, binary);
}

static void operate(int64_t *numbers, void *workspace)
{
	const int64_t alpha = 3;
	aclOpExecutor *executor;
	uint64_t bytes;

	numbers[0] = 5;
	numbers[1] = 7;
	DO(0, aclnnAddGetWorkspaceSize, &numbers[0], &numbers[1], &alpha, &numbers[2], &bytes,
	   &executor);
	DO(0, aclnnAdd, workspace, bytes, executor, streams[0]);
	truth_need(numbers[2] == 0, "an operator that has not begun");
	DO(0, aclnnScaledAddGetWorkspaceSize, &numbers[2], &numbers[1], 1, 2, 3, 4, 100,
	   &numbers[3], &bytes, &executor);
	DO(0, aclnnScaledAdd, workspace, bytes, executor, streams[0]);
	DO(0, aclrtSynchronizeStream, streams[0]);
	truth_need(numbers[2] == 26 && numbers[3] == 726, "operators");
}

static void use(void)
{
	static char near[600];
	void *far = NULL, *sums = NULL;
	size_t index = 0, failed;
	int attributes = 0;

	DO(0, aclrtSetDevice, 0);
	DO(0, aclrtMalloc, &far, sizeof(near), 0);
	truth_took(TRUTH_DEVICE, sizeof(near));
	DO(0, aclrtMalloc, &sums, 128, 0);
	truth_took(TRUTH_DEVICE, 128);
	truth_end_phase();
	memset(near, 7, sizeof(near));
	work(sums, near, far);
	operate((int64_t *)sums + 4, (char *)sums + 64);
	DO(600, aclrtMemcpy, far, 600, near, 600, ACL_HOST_TO_DEVICE);
	DO(30, aclrtMemcpy2d, far, 20, near, 10, 10, 3, ACL_HOST_TO_DEVICE);
	void *to[] = {far, (char *)far + 100, (char *)far + 200}, *from[] = {near, near, near};
	size_t most[] = {100, 100, 100}, sizes[] = {10, 20, 70};
	DO(100, aclrtMemcpyBatch, to, most, from, sizes, 3, &attributes, &index, 1, &failed);
	DO(40, aclrtMemset, far, 600, 9, 40);
	DO(80, aclrtMemsetAsync, far, 600, 3, 80, streams[0]);
	DO(0, aclrtSynchronizeDevice);
	truth_need(((char *)far)[79] == 3 && ((char *)far)[80] == 7, "aclrtMemsetAsync");
	DO(0, aclrtFree, far);
	truth_gave(TRUTH_DEVICE, sizeof(near));
	DO(0, aclrtFree, sums);
	truth_gave(TRUTH_DEVICE, 128);
}

static void communicate(HcclComm comm, int rank, int ranks)
{
	static double from[4096], to[4096];
	uint64_t counts[64], places[64] = {0}, sum = 0;

	for (uint64_t i = 1; i <= 10; i++) {
		DO(i * 4, HcclAllReduce, from, to, i, HCCL_DATA_TYPE_FP32, 0, comm, streams[0]);
		DO(i * 2, HcclAllReduce, from, to, i, HCCL_DATA_TYPE_FP16, 0, comm, NULL);
		DO(i * 2, HcclAllGather, from, to, i, HCCL_DATA_TYPE_INT16, comm, NULL);
		DO(i * 8 * (size_t)ranks, HcclReduceScatter, from, to, i, HCCL_DATA_TYPE_FP64, 0,
		   comm, NULL);
		DO(rank == 1 ? i * 2 : 0, HcclBroadcast, from, i, HCCL_DATA_TYPE_BFP16, 1, comm,
		   NULL);
		DO(rank == 1 ? i * (size_t)ranks : 0, HcclScatter, from, to, i,
		   HCCL_DATA_TYPE_UINT8, 1, comm, NULL);
		DO(i * 4 * (size_t)ranks, HcclAlltoAll, from, i, HCCL_DATA_TYPE_UINT32, to, i,
		   HCCL_DATA_TYPE_UINT32, comm, NULL);
	}
	for (int i = 0; i < ranks && i < 64; i++) {
		counts[i] = (uint64_t)(10 * i + rank);
		sum += counts[i];
	}
	DO(8 * sum, HcclAlltoAllV, from, counts, places, HCCL_DATA_TYPE_INT64, to, counts, places,
	   HCCL_DATA_TYPE_INT64, comm, streams[0]);
	DO(0, HcclBarrier, comm, NULL);
	DO(400, HcclSend, from, 100, HCCL_DATA_TYPE_INT32, (uint32_t)((rank + 1) % ranks), comm,
	   NULL);
	DO(0, HcclRecv, to, 100, HCCL_DATA_TYPE_INT32, (uint32_t)((rank + ranks - 1) % ranks), comm,
	   NULL);
	FAIL(HCCL_E_PARA, HcclSend, from, 8, HCCL_DATA_TYPE_INT8, 999, comm, NULL);
	DO(0, aclrtSynchronizeStream, streams[0]);
}

int main(int argc, char **argv)
{
	static HcclRootInfo info;
	char configuration[64] = "";
	uint32_t ids[64] = {0};
	HcclComm world, half;
	int ranks;
	int rank = truth_begin(&argc, &argv, "acl_truth", &ranks);

	mistakes();
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, aclrtSetDevice, device);
		DO(0, aclrtCreateStream, &streams[device]);
	}
	use();
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		truth_run_phase(allocate);
		truth_run_phase(release);
	}
	if (rank == 0) {
		DO(0, HcclGetRootInfo, &info);
	}
	MPI_Bcast(&info, sizeof(info), MPI_BYTE, 0, MPI_COMM_WORLD);
	DO(0, HcclCommInitRootInfo, (uint32_t)ranks, &info, (uint32_t)rank, &world);
	communicate(world, rank, ranks);
	DO(0, HcclCreateSubCommConfig, &world, (uint32_t)ranks / 2, ids, 1000 + (uint64_t)rank % 2,
	   (uint32_t)rank / 2, configuration, &half);
	DO(16, HcclAllReduce, info.internal, info.internal, 16, HCCL_DATA_TYPE_INT8, 0, half, NULL);
	DO(0, HcclCommDestroy, half);
	DO(0, HcclCommDestroy, world);
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, aclrtDestroyStream, streams[device]);
	}
	DO(0, aclFinalize);
	int status = truth_finish(argv[1], rank);
	MPI_Finalize();
	return status;
}
