/* The linked library of calls_truth. Single-threaded use, except calls_inner(0). */
#include "calls_truth.h"

#include <unistd.h>

static struct truth_table table = {.library = "libcalls_truth_library.so"};

int calls_inner(long pause_ns)
{
	struct timespec pause = {.tv_nsec = pause_ns};

	if (pause_ns > 0) {
		TRUTH_CALL(&table, 0, nanosleep, &pause, NULL);
	}
	return 0;
}

int calls_outer(int inner, long pause_ns)
{
	for (int i = 0; i < inner; i++) {
		TRUTH_CALL(&table, 0, calls_inner, pause_ns);
	}
	return 0;
}

/* Or the recursion would not go through the slot. */
#if __has_attribute(noipa)
__attribute__((noipa))
#else
__attribute__((noinline, optnone))
#endif
int calls_recurse(int depth)
{
	if (depth > 0) {
		TRUTH_CALL(&table, 0, calls_recurse, depth - 1);
	}
	return 0;
}

int calls_block(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1 ? 0 : -1;
}

const struct truth_table *calls_truth_library_table(void)
{
	return &table;
}
