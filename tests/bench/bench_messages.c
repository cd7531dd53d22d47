/* bench_messages: ns that a send and a receive of one byte take, traced and by the means of others.
 *
 * One rank sends to itself. Variants take turns: PMPI alone; the MPI names, which hooktrace traces
 * with the hooks that a user gets; a wrapper as written by hand, which keeps a count, a sum and a
 * record; and a wrapper that does what tools for event traces do: an event on entry, one on exit,
 * and one for the message with its size, its rank and its communicator. Both read the clock by
 * `rdtsc`. Prints the lower quartile of each; exits with 1 if hooktrace adds more than the event
 * wrapper.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#define ROUNDS 401
#define BURST 256
#define UNIT_LIMIT 1.9
#define RECORDS (1u << 16) /* the wrappers' buffers, used round and round */

static char byte;
static uint64_t records[RECORDS][6];
static uint32_t used;
static struct {
	uint64_t calls, ticks, bytes;
} books[2];

static uint64_t *next_record(void)
{
	return records[used++ % RECORDS];
}

static void send_plain(void)
{
	PMPI_Send(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF);
}

static void receive_plain(void)
{
	PMPI_Recv(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void send_traced(void)
{
	MPI_Send(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF);
}

static void receive_traced(void)
{
	MPI_Recv(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void keep(int which, uint64_t start, int rank)
{
	int bytes;
	uint64_t ticks = __rdtsc() - start, *record = next_record();
	PMPI_Type_size(MPI_CHAR, &bytes);
	books[which].calls++;
	books[which].ticks += ticks;
	books[which].bytes += (uint64_t)bytes;
	record[0] = start;
	record[1] = ticks;
	record[2] = (uint64_t)which;
	record[3] = (uint64_t)bytes;
	record[4] = (uint64_t)rank;
	record[5] = 7;
}

static void send_by_hand(void)
{
	uint64_t start = __rdtsc();
	send_plain();
	keep(0, start, 0);
}

static void receive_by_hand(void)
{
	uint64_t start = __rdtsc();
	receive_plain();
	keep(1, start, 0);
}

static void event(uint64_t kind, uint64_t region)
{
	uint64_t *record = next_record();
	record[0] = __rdtsc();
	record[1] = kind;
	record[2] = region;
}

static void message_event(uint64_t kind)
{
	int bytes, rank, flag;
	uint64_t *record = next_record();
	PMPI_Type_size(MPI_CHAR, &bytes);
	PMPI_Comm_rank(MPI_COMM_SELF, &rank);
	PMPI_Comm_test_inter(MPI_COMM_SELF, &flag);
	record[0] = __rdtsc();
	record[1] = kind;
	record[2] = (uint64_t)bytes;
	record[3] = (uint64_t)rank + (uint64_t)flag;
	record[4] = 7;
}

static void send_with_events(void)
{
	event(1, 0);
	message_event(3);
	send_plain();
	event(2, 0);
}

static void receive_with_events(void)
{
	event(1, 1);
	receive_plain();
	message_event(4);
	event(2, 1);
}

static void read_clock(void)
{
	unsigned processor;
	(void)__rdtsc();
	(void)__rdtscp(&processor);
}

enum { CLOCK, PLAIN, TRACED, BY_HAND, WITH_EVENTS, VARIANTS };

static struct {
	const char *name;
	void (*send)(void), (*receive)(void);
	double ns[ROUNDS];
} variants[VARIANTS] = {
    [CLOCK] = {"clock reads", read_clock, read_clock, {0}},
    [PLAIN] = {"PMPI alone", send_plain, receive_plain, {0}},
    [TRACED] = {"hooktrace", send_traced, receive_traced, {0}},
    [BY_HAND] = {"wrapper by hand", send_by_hand, receive_by_hand, {0}},
    [WITH_EVENTS] = {"wrapper with events", send_with_events, receive_with_events, {0}},
};

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;
	return difference < 0 ? -1 : difference > 0;
}

static double time_burst(int variant)
{
	double start = now_ns();
	for (int i = 0; i < BURST; i++) {
		variants[variant].send();
		variants[variant].receive();
	}
	return (now_ns() - start) / BURST / 2;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	for (int round = -5; round < ROUNDS; round++) {
		for (int variant = 0; variant < VARIANTS; variant++) {
			double ns = time_burst(variant);
			variants[variant].ns[round < 0 ? 0 : round] = ns;
		}
	}
	for (int variant = 0; variant < VARIANTS; variant++) {
		qsort(variants[variant].ns, ROUNDS, sizeof(double), ascending);
	}
	double unit = variants[CLOCK].ns[ROUNDS / 4], units[VARIANTS] = {0};
	printf("clock reads, ordered: %.1f ns\n", unit);
	for (int variant = PLAIN; variant < VARIANTS; variant++) {
		double ns = variants[variant].ns[ROUNDS / 4];
		units[variant] = (ns - variants[PLAIN].ns[ROUNDS / 4]) / unit;
		printf("%-20s %7.1f ns a call, %.2f units more\n", variants[variant].name, ns,
		       units[variant]);
	}
	printf("limit of hooktrace: %.1f units\n", UNIT_LIMIT);
	MPI_Finalize();
	return units[TRACED] > UNIT_LIMIT;
}
