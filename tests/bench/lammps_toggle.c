/* lammps_toggle.c: preloaded into LAMMPS, says what tracing adds to its steps.
 *
 * Slices of SLICE steps take turns, traced and bare (slot_toggle.h). All ranks count the same
 * steps, so a slice is traced or bare on all of them. With LAMMPS_TOGGLE=R, rank R takes turns and
 * the other ranks stay bare. When it ends, a rank prints "rank R: S traced steps, N ns added to
 * each": the median over the pairs of slices. The first pair is left out. bench_cost.py compares
 * that with the cost that the report estimates.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slot_toggle.h"

#define SLICE 40u /* steps: two rebuilds of the neighbour lists */
#define SLICES 65536u

/* PairLJCut::compute, once a step */
void compute(void *pair, int energy, int virial) __asm__("_ZN9LAMMPS_NS9PairLJCut7computeEii");

static double begins[SLICES];
static unsigned slot_count;
static unsigned steps;

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static bool is_chosen(void)
{
	const char *chosen = getenv("LAMMPS_TOGGLE"), *rank = getenv("OMPI_COMM_WORLD_RANK");
	return !chosen || !rank || strcmp(chosen, rank) == 0;
}

static void begin_slice(unsigned slice)
{
	bool traced = slice % 2 == 0 && is_chosen();
	slot_toggle(traced);
	begins[slice] = now_ns();
}

__attribute__((visibility("default"))) void compute(void *pair, int energy, int virial)
{
	static void (*next)(void *, int, int);
	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "_ZN9LAMMPS_NS9PairLJCut7computeEii");
		slot_count = slot_toggle_find("liblammps");
	}
	if (steps % SLICE == 0 && steps / SLICE < SLICES) {
		begin_slice(steps / SLICE);
	}
	steps++;
	next(pair, energy, virial);
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;
	return difference < 0 ? -1 : difference > 0;
}

__attribute__((destructor)) static void tell(void)
{
	static double added[SLICES / 2];
	const char *rank = getenv("OMPI_COMM_WORLD_RANK");
	unsigned begun = steps / SLICE < SLICES ? steps / SLICE : SLICES, pairs = 0;
	for (unsigned slice = 2; slice + 2 < begun; slice += 2) {
		double traced = begins[slice + 1] - begins[slice];
		double bare = begins[slice + 2] - begins[slice + 1];
		added[pairs++] = (traced - bare) / SLICE;
	}
	if (rank && pairs > 0) {
		qsort(added, pairs, sizeof(added[0]), ascending);
		printf("rank %s: %u traced steps, %.1f ns added to each, %u slots\n", rank,
		       (begun + 1) / 2 * SLICE, added[pairs / 2], slot_count);
	}
}
