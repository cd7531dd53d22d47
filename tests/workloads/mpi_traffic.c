/* mpi_traffic.c: ranks in a ring that pass messages in steps, and say how many each has passed.
 *
 *     mpi_traffic HOW BYTES MESSAGES STEPS
 *
 * HOW: blocking (each rank of even number sends to the next one, which receives), requests
 * (MPI_Isend, MPI_Irecv, MPI_Waitall round the ring), wait (MPI_Irecv, MPI_Send, MPI_Wait).
 * MESSAGES of BYTES in each of STEPS. Prints "RANK MESSAGES", the larger of what it sent and
 * received.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, bytes, messages;
static char *out, *in;
static MPI_Request *requests;

static int pass_blocking(void)
{
	for (int i = 0; i < messages; i++) {
		if (rank % 2 == 0 && rank + 1 < ranks) {
			MPI_Send(out, bytes, MPI_BYTE, rank + 1, i, MPI_COMM_WORLD);
		} else if (rank % 2 == 1) {
			MPI_Recv(in, bytes, MPI_BYTE, rank - 1, i, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		}
	}
	return rank % 2 == 1 || rank + 1 < ranks ? messages : 0;
}

static int pass_requests(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	for (int i = 0; i < messages; i++) {
		MPI_Irecv(in, bytes, MPI_BYTE, before, i, MPI_COMM_WORLD, &requests[2 * i]);
		MPI_Isend(out, bytes, MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
	}
	MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
	return messages;
}

static int pass_wait(void)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	for (int i = 0; i < messages; i++) {
		MPI_Irecv(in, bytes, MPI_BYTE, before, i, MPI_COMM_WORLD, requests);
		MPI_Send(out, bytes, MPI_BYTE, next, i, MPI_COMM_WORLD);
		MPI_Wait(requests, MPI_STATUS_IGNORE);
	}
	return messages;
}

static int pass(const char *how)
{
	if (strcmp(how, "blocking") == 0) {
		return pass_blocking();
	}
	return strcmp(how, "requests") == 0 ? pass_requests() : pass_wait();
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fputs("usage: mpi_traffic HOW BYTES MESSAGES STEPS\n", stderr);
		return 2;
	}
	long passed = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bytes = atoi(argv[2]);
	messages = atoi(argv[3]);
	out = calloc(1, (size_t)bytes);
	in = calloc(1, (size_t)bytes);
	requests = calloc(2 * (size_t)messages, sizeof(MPI_Request));
	if (!out || !in || !requests) {
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	for (int step = atoi(argv[4]); step > 0; step--) {
		passed += pass(argv[1]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	printf("%d %ld\n", rank, passed);
	MPI_Finalize();
	free(out);
	free(in);
	free(requests);
	return 0;
}
