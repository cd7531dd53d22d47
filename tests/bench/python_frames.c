/* The agent's walk of Python frames, called from Python through ctypes: bench_python.py. */
#include "here.h"

#include <stdint.h>
#include <time.h>

#include "agent/object/loader.h"
#include "agent/stack/python.h"

#define BURST 1000

#pragma GCC visibility push(default)
int bench_begin(void);
uint32_t bench_frames(void);
double bench_python(void);
double bench_native(void);
#pragma GCC visibility pop

static struct hk_thread_walk walk;
static struct hk_python_item items[HK_PYTHON_ITEMS];
static uint64_t sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns 0 if the interpreter was found. */
int bench_begin(void)
{
	hk_loader_setup();
	dl_iterate_phdr(here_add, NULL);
	hk_interpreter_refresh();
	return hk_interpreter_get() ? 0 : 1;
}

/* Returns the number of Python frames of this thread. */
uint32_t bench_frames(void)
{
	bool deep;
	uint32_t count = hk_python_items(items, HK_PYTHON_USUAL, &deep), frames = 0;

	for (uint32_t i = 0; i < count; i++) {
		frames += items[i].code != 0;
	}
	return frames;
}

/* Returns the ns that a look at all Python frames takes, as for a stack that was seen before. */
double bench_python(void)
{
	double start = now_ns();

	for (int i = 0; i < BURST; i++) {
		sink += hk_python_hash(sink, HK_PYTHON_USUAL);
	}
	return (now_ns() - start) / BURST;
}

/* The same for the native frames. */
double bench_native(void)
{
	double start = now_ns();

	for (int i = 0; i < BURST; i++) {
		hk_walk_take(here(), &walk);
	}
	return (now_ns() - start) / BURST;
}
