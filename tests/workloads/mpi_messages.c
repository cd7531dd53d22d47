/* Sends messages in all the ways that a timeline can draw, and prints who got which.
 *
 * A message carries who sent it: rank, function, the how many-th call of that function there.
 * Its receiver prints arrow RANK FUNCTION CALL RANK FUNCTION CALL from the call that sent to the
 * call that received, or that waited for it; calls count from 0. Collectives print join FUNCTION
 * RANKS
 */
#include <mpi.h>
#include <stdio.h>

enum function { SEND, ISSEND, ISEND, SENDRECV, RECV, WAIT, WAITALL, WAITANY, TEST, FUNCTIONS };
static const char *const names[] = {"MPI_Send",	    "MPI_Issend",  "MPI_Isend",
				    "MPI_Sendrecv", "MPI_Recv",	   "MPI_Wait",
				    "MPI_Waitall",  "MPI_Waitany", "MPI_Test"};
static int rank, size, calls[FUNCTIONS];

struct message {
	int rank, function, call;
};

static struct message from(enum function function)
{
	return (struct message){rank, function, calls[function]++};
}

static void arrived(const struct message *message, enum function function, int call)
{
	printf("arrow %d %s %d %d %s %d\n", message->rank, names[message->function], message->call,
	       rank, names[function], call);
}

static void send(int to, int tag, MPI_Comm comm)
{
	struct message message = from(SEND);
	MPI_Send(&message, sizeof(message), MPI_BYTE, to, tag, comm);
}

static void receive(int source, int tag, MPI_Comm comm, MPI_Status *status, int known)
{
	struct message message;
	int call = calls[RECV]++;
	MPI_Recv(&message, sizeof(message), MPI_BYTE, source, tag, comm, status);
	if (known) {
		arrived(&message, RECV, call);
	}
}

/* Round the ring: all but rank 0 wait before their message is sent. */
static void ring(MPI_Comm comm)
{
	int own, ranks;
	MPI_Comm_rank(comm, &own);
	MPI_Comm_size(comm, &ranks);
	for (int i = 0; i < 5; i++) {
		if (own == 0) {
			send((own + 1) % ranks, i, comm);
		}
		receive((own + ranks - 1) % ranks, i, comm, MPI_STATUS_IGNORE, 1);
		if (own != 0) {
			send((own + 1) % ranks, i, comm);
		}
	}
}

/* Posted in the other order than they are sent, told apart by tags; the last two have one tag. */
static void tags(void)
{
	static const int tag[] = {3, 1, 2, 2}, wanted[] = {2, 1, 2, MPI_ANY_TAG};
	struct message in[4], out[4];
	MPI_Request requests[8];
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	for (int i = 0; i < 4; i++) {
		MPI_Irecv(&in[i], sizeof(in[i]), MPI_BYTE, left, wanted[i], MPI_COMM_WORLD,
			  &requests[i]);
	}
	for (int i = 0; i < 4; i++) {
		out[i] = from(ISEND);
		MPI_Isend(&out[i], sizeof(out[i]), MPI_BYTE, right, tag[i], MPI_COMM_WORLD,
			  &requests[4 + i]);
	}
	int call = calls[WAITALL]++;
	MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 4; i++) {
		arrived(&in[i], WAITALL, call);
	}
}

/* Along a line, whose ends have no neighbour beyond. */
static void line(void)
{
	int left = rank > 0 ? rank - 1 : MPI_PROC_NULL,
	    right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	struct message in, out = from(SENDRECV);
	MPI_Sendrecv(&out, sizeof(out), MPI_BYTE, right, 7, &in, sizeof(in), MPI_BYTE, left, 7,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (left != MPI_PROC_NULL) {
		arrived(&in, SENDRECV, out.call);
	}
}

/* One request at a time: whichever completes, or when a test says so. */
static void requests(void)
{
	struct message in[3], out[3];
	MPI_Request request[3], sent[3];
	int left = (rank + size - 1) % size, right = (rank + 1) % size, done = 0;
	for (int i = 0; i < 3; i++) {
		MPI_Irecv(&in[i], sizeof(in[i]), MPI_BYTE, left, 20 + i, MPI_COMM_WORLD,
			  &request[i]);
	}
	for (int i = 0; i < 3; i++) {
		out[i] = from(ISSEND);
		MPI_Issend(&out[i], sizeof(out[i]), MPI_BYTE, right, 20 + i, MPI_COMM_WORLD,
			   &sent[i]);
	}
	int index, call = calls[WAITANY]++;
	MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
	arrived(&in[index], WAITANY, call);
	call = calls[WAIT]++;
	MPI_Wait(&request[1 - index], MPI_STATUS_IGNORE);
	arrived(&in[1 - index], WAIT, call);
	while (!done) {
		call = calls[TEST]++;
		MPI_Test(&request[2], &done, MPI_STATUS_IGNORE);
	}
	arrived(&in[2], TEST, call);
	calls[WAITALL]++;
	MPI_Waitall(3, sent, MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* From anybody: the first round says who, the second one does not, and what follows with its tag is
 * anybody's guess. */
static void any(void)
{
	MPI_Status status;
	for (int i = 1; i < size; i++) {
		if (rank == 0) {
			receive(MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &status, 1);
		} else if (rank == i) {
			send(0, 30, MPI_COMM_WORLD);
		}
	}
	for (int i = 1; i < size; i++) {
		if (rank == 0) {
			receive(MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE, 0);
		} else if (rank == i) {
			send(0, 31, MPI_COMM_WORLD);
		}
	}
	/* Not before all of those are there, or it is taken for one of them. */
	if (rank == 0) {
		send(1, 33, MPI_COMM_WORLD);
		receive(1, 32, MPI_COMM_WORLD, MPI_STATUS_IGNORE, 1);
		receive(1, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE, 0);
	} else if (rank == 1) {
		receive(0, 33, MPI_COMM_WORLD, MPI_STATUS_IGNORE, 1);
		send(0, 31, MPI_COMM_WORLD);
		send(0, 32, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm half;
	int sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* in the other order */
	ring(MPI_COMM_WORLD);
	tags();
	line();
	requests();
	any();
	ring(half);
	for (int i = 0; i < 3; i++) {
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Bcast(&sum, 1, MPI_INT, 0, half);
	if (rank == 0) {
		printf("join MPI_Barrier %d\njoin MPI_Allreduce %d\njoin MPI_Bcast %d\n", size - 1,
		       3 * (size - 1), size - 2);
	}
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
