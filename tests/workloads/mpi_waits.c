/* mpi_waits.c: ranks that wait for each other in known patterns. In each step every rank works for
 * a random time and then makes one call. It notes when it entered and left the call, by the clock
 * that all processes of a machine share, and prints that at the end:
 *
 *     STEP PATTERN FUNCTION RANK ROLE ENTER_NS LEAVE_NS
 *
 * ROLE: "send", "receive", "root" or "part".
 *
 *     mpi_waits STEPS SEED FILE [RANK MS [GATE]]
 *
 * Given a rank, that one works MS milliseconds longer in each step. Given a gate, the ranks stay
 * before the middle step until the file GATE.1 is there, and before the end until GATE.2 is.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEPS_MOST 4096
#define WORK_MOST_NS 8000000u

struct note {
	const char *pattern, *function, *role;
	int64_t enter_ns, leave_ns;
};

static struct note notes[STEPS_MOST];
static volatile double sink;
static int rank, ranks;

static int64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void work(int64_t ns)
{
	int64_t end = now_ns() + ns;
	while (now_ns() < end) {
		sink += 1;
	}
}

/* Makes the call CODE between two looks at the clock. */
#define NOTED(note, name, part, called, code) \
	do {                                  \
		(note)->pattern = (name);     \
		(note)->role = (part);        \
		(note)->function = (called);  \
		(note)->enter_ns = now_ns();  \
		code;                         \
		(note)->leave_ns = now_ns();  \
	} while (0)

static void message(struct note *note, int step)
{
	int sender = step % ranks, receiver = (step + 1) % ranks;
	double value = step;
	if (rank == sender) {
		NOTED(note, "late-sender", "send", "MPI_Send",
		      MPI_Send(&value, 1, MPI_DOUBLE, receiver, step, MPI_COMM_WORLD));
	} else if (rank == receiver) {
		NOTED(note, "late-sender", "receive", "MPI_Recv",
		      MPI_Recv(&value, 1, MPI_DOUBLE, sender, step, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE));
	}
	sink += value;
}

static void synchronous(struct note *note, int step)
{
	int sender = step % ranks, receiver = (step + 1) % ranks;
	double value = step;
	if (rank == sender) {
		NOTED(note, "late-receiver", "send", "MPI_Ssend",
		      MPI_Ssend(&value, 1, MPI_DOUBLE, receiver, step, MPI_COMM_WORLD));
	} else if (rank == receiver) {
		NOTED(note, "late-receiver", "receive", "MPI_Recv",
		      MPI_Recv(&value, 1, MPI_DOUBLE, sender, step, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE));
	}
	sink += value;
}

static void request(struct note *note, int step)
{
	int sender = step % ranks, receiver = (step + 1) % ranks;
	double value = step;
	MPI_Request one;
	if (rank == sender) {
		NOTED(note, "late-sender", "send", "MPI_Send",
		      MPI_Send(&value, 1, MPI_DOUBLE, receiver, step, MPI_COMM_WORLD));
	} else if (rank == receiver) {
		MPI_Irecv(&value, 1, MPI_DOUBLE, sender, step, MPI_COMM_WORLD, &one);
		NOTED(note, "late-sender", "receive", "MPI_Wait",
		      MPI_Wait(&one, MPI_STATUS_IGNORE));
	}
	sink += value;
}

static void collective(struct note *note, int kind, int step)
{
	double mine[64] = {1}, all[64] = {0};
	int root = step % ranks;
	const char *role = rank == root ? "root" : "part";
	switch (kind) {
	case 0:
		NOTED(note, "barrier", role, "MPI_Barrier", MPI_Barrier(MPI_COMM_WORLD));
		break;
	case 1:
		NOTED(note, "all-to-all", role, "MPI_Allreduce",
		      MPI_Allreduce(mine, all, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
		break;
	case 2:
		NOTED(note, "all-to-all", role, "MPI_Alltoall",
		      MPI_Alltoall(mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD));
		break;
	case 3:
		NOTED(note, "late-broadcast", role, "MPI_Bcast",
		      MPI_Bcast(mine, 8, MPI_DOUBLE, root, MPI_COMM_WORLD));
		break;
	default:
		NOTED(note, "early-reduce", role, "MPI_Reduce",
		      MPI_Reduce(mine, all, 8, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
		break;
	}
	sink += all[0];
}

static void write_notes(int steps, const char *name)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s.%d", name, rank);
	FILE *file = fopen(path, "w");
	for (int step = 0; file && step < steps; step++) {
		const struct note *note = &notes[step];
		if (note->pattern) {
			fprintf(file, "%d %s %s %d %s %lld %lld\n", step, note->pattern,
				note->function, rank, note->role, (long long)note->enter_ns,
				(long long)note->leave_ns);
		}
	}
	if (!file || fclose(file)) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

static void stay(const char *gate, int number)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	char path[4096];
	snprintf(path, sizeof(path), "%s.%d", gate ? gate : "", number);
	while (gate && access(path, F_OK) != 0) {
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 3 ? atoi(argv[1]) : 0;
	int late = argc > 5 ? atoi(argv[4]) : -1;
	int64_t more_ns = argc > 5 ? atoi(argv[5]) * INT64_C(1000000) : 0;
	const char *gate = argc > 6 ? argv[6] : NULL;
	if (steps <= 0 || steps > STEPS_MOST) {
		fputs("usage: mpi_waits STEPS SEED FILE [RANK MS [GATE]]\n", stderr);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	srand((unsigned)atoi(argv[2]) * 97 + (unsigned)rank);
	for (int step = 0; step < steps; step++) {
		struct note *note = &notes[step];
		if (step == steps / 2) {
			stay(gate, 1);
		}
		work(rand() % WORK_MOST_NS + (rank == late ? more_ns : 0));
		switch (step % 8) {
		case 0:
			message(note, step);
			break;
		case 1:
			synchronous(note, step);
			break;
		case 2:
			request(note, step);
			break;
		default:
			collective(note, step % 8 - 3, step);
			break;
		}
	}
	stay(gate, 2);
	write_notes(steps, argv[3]);
	MPI_Finalize();
	return 0;
}
