/* mpi_hang.c: a job that hangs. All ranks sum up step after step; at one step one rank does
 * something else, and the others wait for it. Nothing ends the job but a signal. The rank prints
 * its fault before.
 *
 *     mpi_hang FAULT RANK STEP
 *
 * FAULT: read (of a pipe that stays empty), loop (without calls), sleep, lock (a mutex that it
 * holds), other (another collective), receive (of a message that is not sent), finalize (it leaves
 * MPI early), skip (it leaves out one sum and is one short at the end), stop (SIGSTOP), poll (of a
 * message that is not sent).
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS 200
#define TAG 7

static volatile double sink;
static int rank, ranks;

__attribute__((noinline)) static void fault_read(void)
{
	int ends[2];
	char byte;
	if (pipe(ends) == 0) {
		sink += (double)read(ends[0], &byte, 1);
	}
}

__attribute__((noinline)) static void fault_loop(void)
{
	for (;;) {
		sink += 1;
	}
}

__attribute__((noinline)) static void fault_sleep(void)
{
	for (;;) {
		sink += sleep(100000);
	}
}

__attribute__((noinline)) static void fault_lock(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	sink += pthread_mutex_lock(&mutex);
	sink += pthread_mutex_lock(&mutex);
}

__attribute__((noinline)) static void fault_other(void)
{
	double value = 0;
	sink += MPI_Bcast(&value, 1, MPI_DOUBLE, (rank + 1) % ranks, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void fault_receive(void)
{
	double value;
	sink += MPI_Recv(&value, 1, MPI_DOUBLE, (rank + 1) % ranks, TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void fault_poll(void)
{
	int there = 0;
	while (!there) {
		MPI_Iprobe((rank + 1) % ranks, TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
	}
}

__attribute__((noinline)) static void fault_finalize(void)
{
	sink += MPI_Finalize();
}

__attribute__((noinline)) static void fault_stop(void)
{
	sink += raise(SIGSTOP);
}

static const struct {
	const char *name;
	void (*run)(void); /* NULL: the rank leaves out one sum */
} faults[] = {
    {"read", fault_read},	  {"loop", fault_loop},
    {"sleep", fault_sleep},	  {"lock", fault_lock},
    {"other", fault_other},	  {"receive", fault_receive},
    {"finalize", fault_finalize}, {"stop", fault_stop},
    {"poll", fault_poll},	  {"skip", NULL},
};

static void work(void)
{
	for (int i = 0; i < 100000; i++) {
		sink += 1e-9 * i;
	}
}

int main(int argc, char **argv)
{
	size_t fault = 0, count = sizeof(faults) / sizeof(faults[0]);
	while (argc == 4 && fault < count && strcmp(argv[1], faults[fault].name) != 0) {
		fault++;
	}
	if (argc != 4 || fault == count) {
		fputs("usage: mpi_hang FAULT RANK STEP\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int step = 0; step < STEPS; step++) {
		double mine = rank, sum;
		work();
		if (rank == atoi(argv[2]) && step == atoi(argv[3])) {
			printf("%s\n", argv[1]);
			fflush(stdout);
			if (!faults[fault].run) {
				continue;
			}
			faults[fault].run();
		}
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sink += sum;
	}
	MPI_Finalize();
	return 0;
}
