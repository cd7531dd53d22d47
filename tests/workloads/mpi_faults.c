/* mpi_faults.c: a job in steps, in which one rank has a fault of a known kind from one step on, or
 * none has. All ranks work for some milliseconds in a step and then sum up.
 *
 *     mpi_faults FAULT RANK STEP STEPS
 *
 * FAULT: none, work (half as much again), sleep (a pause in each step), read (a slow disk), leak
 * (memory of each step is kept), small (many small messages to the next rank), crash.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SWEEPS 160
#define CELLS 20000
#define PAUSE_NS 3000000
#define KEPT_BYTES 65536u
#define MESSAGES 16000

static double field[CELLS];
static volatile double sink;
static int rank, ranks, disk[2];

__attribute__((noinline)) static void relax(int sweeps)
{
	for (int sweep = 0; sweep < sweeps; sweep++) {
		for (int i = 1; i + 1 < CELLS; i++) {
			field[i] = 0.5 * field[i] + 0.25 * (field[i - 1] + field[i + 1]);
		}
	}
}

static void pause_ns(long ns)
{
	struct timespec time = {.tv_nsec = ns};
	nanosleep(&time, NULL);
}

/* A slow disk: another process that answers each byte after a pause, until its asker ends. */
static int serve(void)
{
	char byte;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, disk)) {
		return -1;
	}
	pid_t child = fork();
	if (child == 0) {
		close(disk[0]);
		while (read(disk[1], &byte, 1) == 1) {
			pause_ns(PAUSE_NS);
			if (write(disk[1], &byte, 1) != 1) {
				break;
			}
		}
		_exit(0);
	}
	close(disk[1]);
	return child < 0 ? -1 : 0;
}

static void fault_work(void)
{
	relax(SWEEPS / 2);
}

static void fault_sleep(void)
{
	pause_ns(PAUSE_NS);
}

static void fault_read(void)
{
	char byte = 'x';
	if (write(disk[0], &byte, 1) == 1) {
		sink += (double)read(disk[0], &byte, 1);
	}
}

static void fault_leak(void)
{
	char *kept = malloc(KEPT_BYTES);
	if (kept) {
		memset(kept, rank, KEPT_BYTES);
		sink += kept[KEPT_BYTES / 2];
	}
}

static void fault_crash(void)
{
	volatile int *nowhere = NULL;
	*nowhere = 1;
}

/* The next rank takes part. */
static void small_messages(int from)
{
	int to = (from + 1) % ranks;
	char byte = 0;
	for (int i = 0; i < MESSAGES; i++) {
		if (rank == from) {
			MPI_Send(&byte, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD);
		} else if (rank == to) {
			MPI_Recv(&byte, 1, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
    {"none", NULL},	  {"work", fault_work}, {"sleep", fault_sleep}, {"read", fault_read},
    {"leak", fault_leak}, {"small", NULL},	{"crash", fault_crash},
};

static int fault_of(const char *name)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(name, faults[i].name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	int fault = argc == 5 ? fault_of(argv[1]) : -1;
	if (fault < 0) {
		fputs("usage: mpi_faults FAULT RANK STEP STEPS\n", stderr);
		return 2;
	}
	int bad = atoi(argv[2]), from = atoi(argv[3]), steps = atoi(argv[4]);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (rank == bad && faults[fault].run == fault_read && serve()) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	for (int step = 0; step < steps; step++) {
		double mine = rank, sum;
		relax(SWEEPS);
		if (rank == bad && step >= from && faults[fault].run) {
			faults[fault].run();
		}
		if (strcmp(argv[1], "small") == 0 && step >= from) {
			small_messages(bad);
		}
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sink += sum;
	}
	MPI_Finalize();
	return 0;
}
