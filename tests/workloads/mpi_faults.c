/* mpi_faults.c: a job in steps, in which one rank has a fault of a known kind from one step on, or
 * none has. In a step each rank waits for a device, exchanges borders with its neighbours, computes
 * for a short time, and sums up with the others. A helper thread of each rank takes a mutex for a
 * moment in each step. The ranks together use less than one processor.
 *
 *     mpi_faults FAULT RANK STEP STEPS
 *
 * FAULT: none, work (more computation), sleep (a pause in each step), read (a slow disk), lock (the
 * helper holds the mutex for long), leak (memory of each step is kept), small (many small messages
 * to the next rank), crash, hog (RANK has the first processor for itself and for what else is bound
 * to it), bound (all ranks are bound to the first processor, and compute for twice as
 * long).
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS 5000000.0 /* of processor time in a step, over all ranks */
#define DEVICE_NS 5000000 /* shortest wait for the device */
#define DEVICE_MORE_NS 3000000
#define PAUSE_NS 4000000 /* what most faults add to a step */
#define HELP_NS 100000.0 /* of the helper in a step */
#define KEPT_BYTES 65536u
#define MESSAGES 2000
#define BORDER 128

static volatile double sink;
static int rank, ranks, disk[2];
static uint64_t state_of_chance;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t jobs, held;       /* to the helper, and its answer that it holds the mutex */
static volatile double job_ns; /* of the helper */

/* 0 to 1. */
static double uniform(void)
{
	state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(state_of_chance >> 33) / 2147483648.0;
}

static double processor_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Computes for NS of this thread's processor time. */
__attribute__((noinline)) static void compute(double ns)
{
	double end_ns = processor_ns() + ns;
	while (processor_ns() < end_ns) {
		for (int i = 0; i < 2000; i++) {
			sink += i;
		}
	}
}

static void pause_ns(long ns)
{
	struct timespec time = {.tv_nsec = ns};
	nanosleep(&time, NULL);
}

static void device_wait(void)
{
	struct timespec time = {.tv_nsec = DEVICE_NS + (long)(DEVICE_MORE_NS * uniform())};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
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

/* The helper: holds the mutex for each job. */
static void *help(void *unused)
{
	while (sem_wait(&jobs) == 0) {
		pthread_mutex_lock(&mutex);
		sem_post(&held);
		compute(job_ns);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static int helper_start(void)
{
	pthread_t thread;
	return sem_init(&jobs, 0, 0) || sem_init(&held, 0, 0) ||
		       pthread_create(&thread, NULL, help, NULL) || pthread_detach(thread)
		   ? -1
		   : 0;
}

static void fault_work(void)
{
	compute(PAUSE_NS);
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

static void borders_exchange(void)
{
	static double out[BORDER], in[BORDER];
	int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	MPI_Sendrecv(out, BORDER, MPI_DOUBLE, right, 1, in, BORDER, MPI_DOUBLE, left, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	sink += in[0];
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

/* Binds this rank to the first processor that it may use, or to all others. */
static void bind_to(bool to_first)
{
	cpu_set_t all, set;
	int first = 0;
	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(first, &all)) {
		first++;
	}
	CPU_ZERO(&set);
	CPU_SET(first, &set);
	if (!to_first) {
		CPU_XOR(&set, &set, &all);
	}
	sched_setaffinity(0, sizeof(set), &set);
}

static const struct {
	const char *name;
	void (*run)(void); /* of the rank in each step from STEP on; NULL: nothing */
} faults[] = {
    {"none", NULL},	  {"work", fault_work}, {"sleep", fault_sleep}, {"read", fault_read},
    {"leak", fault_leak}, {"lock", NULL},	{"small", NULL},	{"crash", fault_crash},
    {"hog", NULL},	  {"bound", NULL},
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
	state_of_chance = (uint64_t)rank + 1;
	bool hog = strcmp(argv[1], "hog") == 0, bound = strcmp(argv[1], "bound") == 0;
	if (hog || bound) {
		bind_to(bound || rank == bad);
	}
	if (helper_start() || (rank == bad && faults[fault].run == fault_read && serve())) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	bool lock = strcmp(argv[1], "lock") == 0 && rank == bad;
	for (int step = 0; step < steps; step++) {
		double mine = rank, sum;
		device_wait();
		borders_exchange();
		job_ns = lock && step >= from ? (double)PAUSE_NS + WORK_NS / ranks : HELP_NS;
		sem_post(&jobs);
		if (lock) {
			sem_wait(&held);
		}
		compute((bound ? 2 : 1) * WORK_NS / ranks);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
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
