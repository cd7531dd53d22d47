/* Regions, barriers, critical sections, loops and tasks of OpenMP: openmp_truth DIRECTORY. The
 * compiler makes the calls: what it makes of each construct is known for GCC and for clang. */
#include <omp.h>

#include "known.h"

enum { THREADS = 4, ROUNDS = 20, PIECES = 30 };

#ifdef __clang__
#define BY_COMPILER(gcc, clang) (clang)
#else
#define BY_COMPILER(gcc, clang) (gcc)
#endif

static void known_calls(const char *function, unsigned calls)
{
	for (unsigned i = 0; i < calls; i++) {
		known_add(function, 0, 0);
	}
}

/* More shared variables than there are registers for arguments. */
static void use_regions(void)
{
	int a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(THREADS)
		{
#pragma omp critical
			sum += a + b + c + d + e + f + g + h;
#pragma omp barrier
#pragma omp critical(named)
			sum++;
		}
	}
	EXPECT(sum == ROUNDS * THREADS * 37);
	known_calls(BY_COMPILER("GOMP_parallel", "__kmpc_fork_call"), ROUNDS);
	known_calls(BY_COMPILER("GOMP_barrier", "__kmpc_barrier"), ROUNDS * THREADS);
	known_calls(BY_COMPILER("GOMP_critical_start", "__kmpc_critical"), ROUNDS * THREADS);
	known_calls(BY_COMPILER("GOMP_critical_name_start", "__kmpc_critical"), ROUNDS * THREADS);
}

static void use_loop(void)
{
	int sum = 0;

#pragma omp parallel for schedule(dynamic, 1) num_threads(THREADS)
	for (int i = 0; i < PIECES; i++) {
#pragma omp atomic
		sum += i;
	}
	EXPECT(sum == PIECES * (PIECES - 1) / 2);
	known_calls(BY_COMPILER("GOMP_parallel_loop_nonmonotonic_dynamic", "__kmpc_fork_call"), 1);
	/* Each thread asks once more than it gets. */
	known_calls(BY_COMPILER("GOMP_loop_nonmonotonic_dynamic_next", "__kmpc_dispatch_next_4"),
		    PIECES + THREADS);
}

static void use_tasks(void)
{
	int sum = 0;

#pragma omp parallel num_threads(THREADS)
#pragma omp single
	{
		for (int i = 0; i < ROUNDS; i++) {
#pragma omp task shared(sum)
#pragma omp atomic
			sum++;
		}
#pragma omp taskwait
		EXPECT(sum == ROUNDS);
	}
	known_calls(BY_COMPILER("GOMP_parallel", "__kmpc_fork_call"), 1);
	known_calls(BY_COMPILER("GOMP_task", "__kmpc_omp_task"), ROUNDS);
	known_calls(BY_COMPILER("GOMP_taskwait", "__kmpc_omp_taskwait"), 1);
	known_calls(BY_COMPILER("GOMP_barrier", "__kmpc_barrier"), THREADS);
}

static void use_lock(void)
{
	omp_lock_t lock;

	omp_init_lock(&lock);
	KNOWN(0, omp_set_lock, &lock);
	omp_unset_lock(&lock);
	omp_destroy_lock(&lock);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	use_regions();
	use_loop();
	use_tasks();
	use_lock();
	known_write(argv[0], argv[1], 0);
	return 0;
}
