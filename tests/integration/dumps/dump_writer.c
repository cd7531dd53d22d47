/* dump_writer DIRECTORY RANK LIMIT: writes a dump as the lines of its input say. Words have no
 * spaces.
 *
 *   tensor NAME SLOT DTYPE FILE FIRST DIMENSIONS SIZES... STRIDES...
 *                  elements from number FIRST of the FILE, with its statistics
 *   scalar NAME SLOT TEXT
 *   stack FRAME...   of the rows behind it
 *   step NUMBER
 *   wait NUMBER      until so many rows are written or left out; prints "written"
 *   kill             dies by SIGKILL
 * At the end of the input it closes the dump and prints its counts. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump/writer.h"

#define WORDS 200
#define LINE_BYTES 65536

struct state {
	struct hk_dump_writer *writer;
	uint64_t sequence, step;
	uint32_t stack;
};

static void *map_file(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *memory;

	if (fd < 0 || fstat(fd, &status) != 0) {
		perror(path);
		exit(1);
	}
	*ret_size = (size_t)status.st_size + 1;
	memory = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return memory;
}

static struct hk_dump_row make_row(struct state *state, const char *name, const char *slot)
{
	return (struct hk_dump_row){.sequence = state->sequence++,
				    .step = state->step,
				    .name = name,
				    .of = "",
				    .slot = slot,
				    .device = "cpu",
				    .stack = state->stack};
}

static void add_tensor(struct state *state, char **words)
{
	struct hk_dump_row row = make_row(state, words[1], words[2]);
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS];
	size_t size;
	char *data = map_file(words[4], &size);

	row.dtype = hk_dtype_parse(words[3]);
	row.dimensions = (uint32_t)strtoul(words[6], NULL, 10);
	row.shape = shape;
	for (uint32_t d = 0; d < row.dimensions; d++) {
		shape[d] = strtoull(words[7 + d], NULL, 10);
		strides[d] = strtoll(words[7 + row.dimensions + d], NULL, 10);
	}
	const struct hk_tensor tensor = {
	    .data = data + strtoull(words[5], NULL, 10) * hk_dtype_bytes(row.dtype),
	    .dtype = row.dtype,
	    .dimensions = row.dimensions,
	    .shape = shape,
	    .strides = strides,
	};
	if (hk_statistics_take(&tensor, &row.statistics) != 0) {
		fprintf(stderr, "no statistics of %s\n", words[1]);
		exit(1);
	}
	hk_dump_writer_add(state->writer, &row, &tensor);
	munmap(data, size);
}

static void wait_rows(const struct state *state, uint64_t rows)
{
	struct hk_dump_counts counts;

	do {
		counts = hk_dump_writer_counts(state->writer);
	} while (counts.rows + counts.rows_left_out < rows);
	puts("written");
	fflush(stdout);
}

static void obey(struct state *state, char **words, unsigned count)
{
	if (strcmp(words[0], "tensor") == 0) {
		add_tensor(state, words);
	} else if (strcmp(words[0], "scalar") == 0) {
		struct hk_dump_row row = make_row(state, words[1], words[2]);
		row.scalar = words[3];
		hk_dump_writer_add(state->writer, &row, NULL);
	} else if (strcmp(words[0], "stack") == 0) {
		state->stack = hk_dump_writer_stack(state->writer, (const char *const *)(words + 1),
						    count - 1);
	} else if (strcmp(words[0], "step") == 0) {
		state->step = strtoull(words[1], NULL, 10);
		hk_dump_writer_step(state->writer, state->step++);
	} else if (strcmp(words[0], "wait") == 0) {
		wait_rows(state, strtoull(words[1], NULL, 10));
	} else if (strcmp(words[0], "kill") == 0) {
		raise(SIGKILL);
	} else {
		fprintf(stderr, "unknown word %s\n", words[0]);
		exit(1);
	}
}

static int finish(const struct state *state)
{
	struct hk_dump_counts counts;
	int rc = hk_dump_writer_close(state->writer, &counts);

	printf("{\"result\": %d, \"rows\": %" PRIu64 ", \"payloads\": %" PRIu64
	       ", \"duplicates\": %" PRIu64 ", \"rows_left_out\": %" PRIu64
	       ", \"payloads_left_out\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
	       rc, counts.rows, counts.payloads, counts.duplicates, counts.rows_left_out,
	       counts.payloads_left_out, counts.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	static char line[LINE_BYTES];
	char reason[256];
	struct state state = {.stack = HK_DUMP_NONE};

	if (argc != 4) {
		fprintf(stderr, "usage: dump_writer DIRECTORY RANK LIMIT\n");
		return 2;
	}
	const struct hk_dump_settings settings = {.directory = argv[1],
						  .about =
						      "{\"framework\": \"numpy\", \"world\": 2}",
						  .rank = (uint32_t)strtoul(argv[2], NULL, 10),
						  .limit_bytes = strtoull(argv[3], NULL, 10),
						  .compression = HK_DUMP_COMPRESSION};
	state.writer = hk_dump_writer_open(&settings, reason, sizeof(reason));
	if (!state.writer) {
		fprintf(stderr, "%s\n", reason);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *words[WORDS + 1] = {NULL}, *rest = NULL;
		unsigned count = 0;
		for (char *word = strtok_r(line, " \n", &rest); word && count < WORDS;
		     word = strtok_r(NULL, " \n", &rest)) {
			words[count++] = word;
		}
		if (count > 0) {
			obey(&state, words, count);
		}
	}
	return finish(&state);
}
