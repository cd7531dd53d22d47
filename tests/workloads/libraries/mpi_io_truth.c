/* MPI's files and windows on every rank: mpi_io_truth DIRECTORY. What a call reads carries no
 * bytes. */
#include <mpi.h>

#include "known.h"

enum { COUNT = 8, BYTES = COUNT * (int)sizeof(int), ROUNDS = 4 };

static int rank, ranks;
static int values[COUNT], others[COUNT];

#define CALL(bytes, function, ...) EXPECT(KNOWN(bytes, function, __VA_ARGS__) == MPI_SUCCESS)

static void write_and_read(MPI_File file)
{
	MPI_Offset mine = (MPI_Offset)rank * BYTES;
	MPI_Request request;

	for (int i = 0; i < ROUNDS; i++) {
		CALL(BYTES, MPI_File_write_at, file, mine, values, COUNT, MPI_INT,
		     MPI_STATUS_IGNORE);
		CALL(BYTES, MPI_File_write_at_all, file, mine, values, COUNT, MPI_INT,
		     MPI_STATUS_IGNORE);
		CALL(BYTES, MPI_File_iwrite_at, file, mine, values, COUNT, MPI_INT, &request);
		CALL(0, MPI_Wait, &request, MPI_STATUS_IGNORE);
	}
	CALL(0, MPI_File_sync, file);
	CALL(0, MPI_File_read_at, file, mine, others, COUNT, MPI_INT, MPI_STATUS_IGNORE);
	EXPECT(others[0] == rank && others[COUNT - 1] == rank);
	CALL(0, MPI_File_read_at_all, file, mine, others, COUNT, MPI_INT, MPI_STATUS_IGNORE);
	CALL(0, MPI_File_iread_at, file, mine, others, COUNT, MPI_INT, &request);
	CALL(0, MPI_Wait, &request, MPI_STATUS_IGNORE);
}

/* By the file pointer of each rank, in a view of its own part. */
static void write_in_view(MPI_File file)
{
	CALL(0, MPI_File_set_view, file, (MPI_Offset)rank * BYTES, MPI_INT, MPI_INT, "native",
	     MPI_INFO_NULL);
	CALL(4, MPI_File_write, file, values, 1, MPI_INT, MPI_STATUS_IGNORE);
	CALL(4, MPI_File_write_all, file, values, 1, MPI_INT, MPI_STATUS_IGNORE);
	CALL(8, MPI_File_write_all_begin, file, values, 2, MPI_INT);
	CALL(0, MPI_File_write_all_end, file, values, MPI_STATUS_IGNORE);
	CALL(0, MPI_File_seek, file, 0, MPI_SEEK_SET);
	CALL(0, MPI_File_read, file, others, 1, MPI_INT, MPI_STATUS_IGNORE);
	CALL(0, MPI_File_read_all, file, others, 1, MPI_INT, MPI_STATUS_IGNORE);
	EXPECT(others[0] == rank);
	CALL(0, MPI_File_set_view, file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static void use_file(const char *directory)
{
	char path[4096];
	MPI_Offset size = 0;
	MPI_File file;

	snprintf(path, sizeof(path), "%s/mpi_io_truth.data", directory);
	CALL(0, MPI_File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
	     &file);
	write_and_read(file);
	write_in_view(file);
	CALL(0, MPI_File_get_size, file, &size);
	EXPECT(size == (MPI_Offset)ranks * BYTES);
	CALL(0, MPI_Barrier, MPI_COMM_WORLD); /* before one rank makes the file shorter */
	CALL(0, MPI_File_set_size, file, 0);
	CALL(0, MPI_File_close, &file);
	if (rank == 0) {
		CALL(0, MPI_File_delete, path, MPI_INFO_NULL);
	}
	/* The file is gone. A failed open is no end by MPI's default for files. */
	EXPECT(KNOWN_FAILURE(MPI_File_open, MPI_COMM_SELF, "/nowhere/none", MPI_MODE_RDONLY,
			     MPI_INFO_NULL, &file) != MPI_SUCCESS);
}

static void use_window(void)
{
	int next = (rank + 1) % ranks, one = 1, old = 0;
	int *memory = NULL;
	MPI_Request request;
	MPI_Win window;

	CALL(0, MPI_Win_allocate, BYTES, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
	     &window);
	memset(memory, 0, BYTES);
	CALL(0, MPI_Win_fence, 0, window);
	CALL(BYTES, MPI_Put, values, COUNT, MPI_INT, next, 0, COUNT, MPI_INT, window);
	CALL(0, MPI_Win_fence, 0, window);
	EXPECT(memory[0] == (rank + ranks - 1) % ranks);
	CALL(0, MPI_Get, others, COUNT, MPI_INT, next, 0, COUNT, MPI_INT, window);
	CALL(0, MPI_Win_fence, 0, window);
	EXPECT(others[0] == rank);
	CALL(4, MPI_Accumulate, &one, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, window);
	CALL(0, MPI_Win_fence, 0, window);
	CALL(0, MPI_Win_lock, MPI_LOCK_SHARED, next, 0, window);
	CALL(4, MPI_Fetch_and_op, &one, &old, MPI_INT, next, 0, MPI_SUM, window);
	CALL(8, MPI_Get_accumulate, values, 2, MPI_INT, others, 2, MPI_INT, next, 1, 2, MPI_INT,
	     MPI_REPLACE, window);
	CALL(0, MPI_Win_flush, next, window);
	CALL(BYTES, MPI_Rput, values, COUNT, MPI_INT, next, 0, COUNT, MPI_INT, window, &request);
	CALL(0, MPI_Wait, &request, MPI_STATUS_IGNORE);
	CALL(0, MPI_Win_unlock, next, window);
	CALL(0, MPI_Win_lock_all, 0, window);
	CALL(0, MPI_Win_flush_all, window);
	CALL(0, MPI_Win_unlock_all, window);
	CALL(0, MPI_Win_free, &window);
}

int main(int argc, char **argv)
{
	EXPECT(argc == 2);
	CALL(0, MPI_Init, &argc, &argv);
	CALL(0, MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(0, MPI_Comm_size, MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < COUNT; i++) {
		values[i] = rank;
	}
	use_file(argv[1]);
	use_window();
	CALL(0, MPI_Finalize);
	known_write(argv[0], argv[1], rank);
	return 0;
}
