/* lammps_faults.c: preloaded into LAMMPS, lets each rank wait for a device after the forces of
 * lj/cut, so that the ranks leave the processors free for most of the time. From one step on, the
 * rank that LAMMPS_RANK names has the fault LAMMPS_FAULT: sleep, or work (more computation).
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICE_NS 20000000
#define PAUSE_NS 15000000
#define FROM 40 /* step */

/* PairLJCut::compute */
void compute(void *pair, int energy, int virial) __asm__("_ZN9LAMMPS_NS9PairLJCut7computeEii");

static void pause_ns(long ns)
{
	struct timespec time = {.tv_nsec = ns};
	nanosleep(&time, NULL);
}

static void work_ns(double ns)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) * 1e9 + (double)(now.tv_nsec - begin.tv_nsec) <
		 ns);
}

__attribute__((visibility("default"))) void compute(void *pair, int energy, int virial)
{
	static void (*next)(void *, int, int);
	static int step;
	const struct timespec device = {.tv_nsec = DEVICE_NS};
	const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *bad = getenv("LAMMPS_RANK");
	const char *fault = getenv("LAMMPS_FAULT");

	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "_ZN9LAMMPS_NS9PairLJCut7computeEii");
	}
	next(pair, energy, virial);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &device, NULL);
	if (step++ < FROM || !rank || !bad || !fault || strcmp(rank, bad) != 0) {
		return;
	}
	if (strcmp(fault, "sleep") == 0) {
		pause_ns(PAUSE_NS);
	} else if (strcmp(fault, "work") == 0) {
		work_ns(PAUSE_NS);
	}
}
