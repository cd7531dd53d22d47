/* Calls each function of described_library.c so often, and so often by the name that no hook
 * describes: described COUNT. test_described.py counts the instructions of run_NAME. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define DECLARE(type, name, ...) \
	type name(__VA_ARGS__);  \
	type plain_##name(__VA_ARGS__);

DECLARE(double, ddot_, const int *, const double *, const int *, const double *, const int *)
DECLARE(int, MPI_Ssend, const void *, int, int, int, int, int)
DECLARE(int, MPI_Recv, void *, int, int, int, int, int, void *)
DECLARE(int, MPI_Allreduce, const void *, void *, int, int, int, int)
DECLARE(int, MPI_Bcast, void *, int, int, int, int)
DECLARE(int, cudaLaunchKernel, const void *, unsigned long, unsigned, unsigned long, unsigned,
	void **, size_t, void *)
DECLARE(int, cudaMemcpyAsync, void *, const void *, size_t, int, void *)
DECLARE(long, __read_chk, int, void *, size_t, size_t)

#define WARM 200 /* calls for what the first of them do: cells, octaves, pages, questions */
#define WORLD 0x44000000
#define INT 0x4c000405

static const int one = 1, three = 3;
static double numbers[4] = {1, 2, 3, 4};
static int status[6];
static void *pointers[2];
static double sum;

/* What is counted is what is called here and nothing else. */
#define RUN(name, ...)                                         \
	__attribute__((noinline)) void warm_##name(int count); \
	__attribute__((noinline)) void run_##name(int count);  \
	void warm_##name(int count)                            \
	{                                                      \
		for (int i = 0; i < count; i++) {              \
			sum += (double)name(__VA_ARGS__);      \
		}                                              \
	}                                                      \
	void run_##name(int count)                             \
	{                                                      \
		for (int i = 0; i < count; i++) {              \
			sum += (double)name(__VA_ARGS__);      \
		}                                              \
	}
#define RUN_BOTH(name, ...) RUN(name, __VA_ARGS__) RUN(plain_##name, __VA_ARGS__)

RUN_BOTH(ddot_, &three, numbers, &one, numbers, &one)
RUN_BOTH(MPI_Ssend, numbers, 1, INT, 1, 7, WORLD)
RUN_BOTH(MPI_Recv, numbers, 1, INT, 1, 7, WORLD, status)
RUN_BOTH(MPI_Allreduce, numbers, numbers + 1, 1, INT, 3, WORLD)
RUN_BOTH(MPI_Bcast, numbers, 1, INT, 1, WORLD)
RUN_BOTH(cudaLaunchKernel, numbers, 1, 1, 1, 1, pointers, 0, NULL)
RUN_BOTH(cudaMemcpyAsync, numbers, numbers + 1, 8, 3, NULL)
RUN_BOTH(__read_chk, 3, numbers, 8, 16)

#define CALL(name)               \
	warm_##name(WARM);       \
	run_##name(count);       \
	warm_plain_##name(WARM); \
	run_plain_##name(count);

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;

	CALL(ddot_)
	CALL(MPI_Ssend)
	CALL(MPI_Recv)
	CALL(MPI_Allreduce)
	CALL(MPI_Bcast)
	CALL(cudaLaunchKernel)
	CALL(cudaMemcpyAsync)
	CALL(__read_chk)
	printf("%.0f\n", sum);
	return 0;
}
