/* nccl_profiled [MISCHIEF]: operations of known sizes on two communicators. Prints for each group
 * of them: communicator, function, operations, bytes of one, and nanoseconds of one. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nccl_plugin.h"
#include "simcuda.h"

#define FLOAT32 7

static char from[1 << 20], to[1 << 20];

enum { RANKS = 4 };

static void say(int comm, const char *func, int count, size_t bytes)
{
	printf("%d %s %d %zu %" PRIu64 "\n", comm, func, count, bytes, SIM_NCCL_NS(bytes));
}

static int run(ncclComm_t comm, int number)
{
	int bad = 0;

	for (int i = 0; i < 10; i++) {
		bad |= ncclAllReduce(from, to, 256, FLOAT32, 0, comm, NULL);
	}
	say(number, "AllReduce", 10, 1024);
	for (int i = 0; i < 5; i++) {
		bad |= ncclAllReduce(from, to, 65536, FLOAT32, 0, comm, NULL);
	}
	say(number, "AllReduce", 5, 262144);
	for (int i = 0; i < 3; i++) {
		bad |= ncclAllGather(from, to, 1024, FLOAT32, comm, NULL);
	}
	say(number, "AllGather", 3, (size_t)RANKS * 4096);
	for (int i = 0; i < 4; i++) {
		bad |= ncclReduceScatter(from, to, 512, FLOAT32, 0, comm, NULL);
	}
	say(number, "ReduceScatter", 4, (size_t)RANKS * 2048);
	for (int i = 0; i < 6; i++) {
		bad |= ncclSend(from, 2048, FLOAT32, 1, comm, NULL);
	}
	say(number, "Send", 6, 8192);
	return bad;
}

int main(int argc, char **argv)
{
	void (*mischief)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "sim_plugin_mischief");
	ncclUniqueId id;
	ncclComm_t comms[2];
	int bad = ncclGetUniqueId(&id);

	for (int i = 0; i < 2; i++) {
		bad |= ncclCommInitRank(&comms[i], RANKS, id, i);
		bad |= run(comms[i], i);
	}
	if (argc > 1 && mischief) {
		mischief(atoi(argv[1]));
	}
	for (int i = 0; i < 2; i++) {
		bad |= ncclCommDestroy(comms[i]);
	}
	return bad;
}
