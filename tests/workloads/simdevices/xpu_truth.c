/*
 * Uses simulated XPU and BKCL with calls, bytes and memory known: mpirun -n N xpu_truth DIRECTORY
 * writes truth-RANK.json. Device memory comes on two threads and devices, is freed by the other
 * thread, and one block of each thread stays.
 */
#include "device_truth.h"
#include "xpu.h"

#define ROUNDS 5

enum way { BY_MAIN, BY_L3, BY_HOST, BY_REGISTER, WAYS };

static struct {
	void *pointer;
	size_t size;
	enum truth_memory memory;
} blocks[TRUTH_THREADS][WAYS];
static XPUStream streams[SIM_DEVICES];
static int round_number;

static void *allocate(void *thread)
{
	truth_thread = (int)(intptr_t)thread;
	int device = (truth_thread + round_number) % SIM_DEVICES;

	DO(0, xpu_set_device, device);
	for (int way = 0; way < WAYS; way++) {
		__typeof__(&blocks[0][0]) block = &blocks[truth_thread][way];

		block->size =
		    (size_t)(1 + (truth_thread * 131 + way * 17 + round_number * 7) % 400) * 4;
		block->memory =
		    way >= BY_HOST ? TRUTH_PINNED : (enum truth_memory)(TRUTH_DEVICE + device);
		if (way < BY_HOST) {
			DO(0, xpu_malloc, &block->pointer, block->size,
			   way == BY_MAIN ? XPU_MEM_MAIN : XPU_MEM_L3);
		} else if (way == BY_HOST) {
			DO(0, xpu_host_alloc, &block->pointer, block->size, 0);
		} else {
			block->pointer = malloc(block->size);
			DO(0, xpu_host_register, block->pointer, block->size, 0);
		}
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

		if (way < BY_HOST) {
			DO(0, xpu_free, block->pointer);
		} else if (way == BY_HOST) {
			DO(0, xpu_host_free, block->pointer);
		} else {
			DO(0, xpu_host_unregister, block->pointer);
			free(block->pointer);
		}
		truth_gave(block->memory, block->size);
	}
	return NULL;
}

static void mistakes(void)
{
	void *pointer = NULL;

	FAIL(XPUERR_INVALID_DEVICE, xpu_set_device, SIM_DEVICES);
	FAIL(XPUERR_NOMEM, xpu_malloc, &pointer, SIM_DEVICE_BYTES + 1, XPU_MEM_MAIN);
	FAIL(XPUERR_INVALID_PARAM, xpu_malloc, &pointer, 8, 77);
	FAIL(XPUERR_INVALID_PARAM, xpu_free, &pointer);
	FAIL(XPUERR_INVALID_PARAM, xpu_memcpy, &pointer, &pointer, sizeof(pointer), 99);
	FAIL(XPUERR_NOXPUFUNC, xpu_launch_async, NULL);
}

static void launch(XPUFunc function, int clusters, int cores, uint64_t *sum, uint64_t factor,
		   XPUStream stream)
{
	DO(0, xpu_launch_config, clusters, cores, stream);
	DO(0, xpu_launch_argument_set, &sum, sizeof(sum), 0);
	DO(0, xpu_launch_argument_set, &factor, sizeof(factor), 8);
	DO(0, xpu_launch_async, function);
}

/* Work that is done only when something waits for it. */
static void work(uint64_t *sum, char *near, char *far)
{
	XPUFunc function;
	XPUEvent event;

	DO(0, xpu_create_cl_func, &function, (uint64_t)(uintptr_t)truth_kernel, 100, 0, 4,
	   0x123456789,
	   "a_kernel_with_a_name_that_is_longer_than_sixty_three_bytes_as_those_of_templates_are",
	   false);
	DO(0, xpu_event_create, &event);
	DO(100, xpu_memcpy_async, far, near, 100, XPU_HOST_TO_DEVICE, streams[0]);
	launch(function, 8, 64, sum, 2, streams[0]);
	DO(0, xpu_event_record, event, streams[0]);
	launch(function, 8, 64, sum, 2, streams[0]);
	truth_need(far[99] == 0 && *sum == 0, "work that has not begun");
	DO(0, xpu_event_wait, event);
	truth_need(far[99] == near[99] && *sum == 2 * TRUTH_KERNEL_SUM(8, 1, 1, 64, 1, 1),
		   "work before an event");
	/* The other stream waits for the first one. */
	DO(0, xpu_event_record, event, streams[0]);
	DO(0, xpu_stream_wait_event, streams[1], event);
	launch(function, 1, 1, sum, 1000000, streams[1]);
	DO(0, xpu_wait, streams[1]);
	truth_need(*sum == 4 * TRUTH_KERNEL_SUM(8, 1, 1, 64, 1, 1) +
			       1000000 * TRUTH_KERNEL_SUM(1, 1, 1, 1, 1, 1),
		   "all work");
	DO(0, xpu_event_destroy, event);
}

static void use(void)
{
	static char near[600];
	void *far = NULL, *sum = NULL;

	DO(0, xpu_set_device, 0);
	DO(0, xpu_malloc, &far, sizeof(near), XPU_MEM_MAIN);
	truth_took(TRUTH_DEVICE, sizeof(near));
	DO(0, xpu_malloc, &sum, 16, XPU_MEM_MAIN);
	truth_took(TRUTH_DEVICE, 16);
	truth_end_phase();
	memset(near, 7, sizeof(near));
	work(sum, near, far);
	DO(600, xpu_memcpy, far, near, 600, XPU_HOST_TO_DEVICE);
	DO(70, xpu_memcpy_peer, 0, far, 1, near, 70);
	DO(0, xpu_stream_synchronize, streams[0]);
	DO(0, xpu_free, far);
	truth_gave(TRUTH_DEVICE, sizeof(near));
	DO(0, xpu_free, sum);
	truth_gave(TRUTH_DEVICE, 16);
}

/* The lines of BKCL say no bytes. */
static void communicate(BKCLContext_t context, int rank, int ranks)
{
	static float from[4096], to[4096];

	for (size_t i = 1; i <= 10; i++) {
		DO(0, bkcl_all_reduce, context, from, to, i, 1, 0, streams[0]);
		DO(0, bkcl_broadcast, context, from, to, i, 1, 1, NULL);
		DO(0, bkcl_all_gather, context, from, i, to, 1, NULL);
	}
	DO(0, bkcl_group_start);
	DO(0, bkcl_send, context, from, 100, (rank + 1) % ranks, 1, NULL);
	DO(0, bkcl_recv, context, to, 100, (rank + ranks - 1) % ranks, 1, NULL);
	DO(0, bkcl_group_end);
	FAIL(BKCL_ERROR, bkcl_send, context, from, 8, 999, 1, NULL);
	DO(0, xpu_wait, streams[0]);
}

int main(int argc, char **argv)
{
	const char id[128] = "an id";
	BKCLContext_t context;
	int ranks;
	int rank = truth_begin(&argc, &argv, "xpu_truth", &ranks);

	mistakes();
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, xpu_set_device, device);
		DO(0, xpu_stream_create, &streams[device]);
	}
	use();
	for (round_number = 0; round_number < ROUNDS; round_number++) {
		truth_run_phase(allocate);
		truth_run_phase(release);
	}
	DO(0, bkcl_init_rank, &context, rank, ranks, id);
	communicate(context, rank, ranks);
	DO(0, bkcl_destroy_context, context);
	for (int device = 0; device < SIM_DEVICES; device++) {
		DO(0, xpu_stream_destroy, streams[device]);
	}
	int status = truth_finish(argv[1], rank);
	MPI_Finalize();
	return status;
}
