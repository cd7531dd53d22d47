/* bench_dump: what the program's thread pays for a dump, beside doing the same by hand in this run:
 * a row beside its text by snprintf, and 19 MB of elements, a step of a small model in 88 tensors,
 * beside a copy of them. The writer has its own thread; how long that takes for a step is shown
 * too. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "dump/writer.h"

#define ROWS 200000u
#define ROW_RATIO 1.0 /* at most, to snprintf */
#define STEPS 20u
#define TENSORS 88u
#define STEP_BYTES (19u << 20)
#define COPY_RATIO 3.0 /* at most, to memcpy */

static char directory[] = "/tmp/bench-dump-XXXXXX";

/* Processor time of this thread, or of all: what others take from the machine is not counted. */
static uint64_t spent_of(clockid_t clock)
{
	struct timespec spent;

	clock_gettime(clock, &spent);
	return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static uint64_t spent_ns(void)
{
	return spent_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Of the writer's thread. */
static uint64_t spent_elsewhere_ns(void)
{
	return spent_of(CLOCK_PROCESS_CPUTIME_ID) - spent_ns();
}

static struct hk_dump_writer *open_writer(int compression)
{
	const struct hk_dump_settings settings = {
	    .directory = directory, .about = "{}", .compression = compression};
	char reason[256];
	struct hk_dump_writer *writer = hk_dump_writer_open(&settings, reason, sizeof(reason));

	if (!writer) {
		fprintf(stderr, "%s\n", reason);
		exit(1);
	}
	return writer;
}

static struct hk_dump_counts close_writer(struct hk_dump_writer *writer)
{
	struct hk_dump_counts counts;
	char path[128];

	if (hk_dump_writer_close(writer, &counts) != 0) {
		fprintf(stderr, "cannot write the dump: errno %d\n", counts.error);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/rank0-%d.hkv", directory, getpid());
	(void)unlink(path);
	return counts;
}

static struct hk_dump_row make_row(uint64_t i)
{
	static const char *const names[] = {"torch.nn.functional.linear", "torch.Tensor.add_",
					    "torch.nn.functional.conv2d", "torch.matmul"};
	static const uint64_t shape[] = {32, 64, 56, 56};

	return (struct hk_dump_row){.sequence = i,
				    .forward_sequence = i,
				    .step = i / 200,
				    .name = names[i % 4],
				    .of = "layers.3.attention",
				    .slot = i % 2 ? "0" : "weight",
				    .device = "cpu",
				    .dtype = HK_DTYPE_F32,
				    .dimensions = 4,
				    .shape = shape,
				    .statistics = {6422528, 0, 0, 0, 17, -3.5, 3.5,
						   0.001 * (double)i, 800.5, 0.99,
						   i * 0x9e3779b97f4a7c15u},
				    .stack = HK_DUMP_NONE,
				    .begin_ns = i * 50000};
}

static double bench_rows(void)
{
	struct hk_dump_writer *writer = open_writer(HK_DUMP_COMPRESSION);
	uint64_t sum = 0, start = spent_ns();
	char line[512];

	for (uint64_t i = 0; i < ROWS; i++) {
		const struct hk_dump_row row = make_row(i);
		sum += (uint64_t)snprintf(
		    line, sizeof(line), "%s %s %s %s %lu %lu %lu,%lu,%lu,%lu %g %g %g %g %g\n",
		    row.name, row.of, row.slot, row.device, row.sequence, row.step, row.shape[0],
		    row.shape[1], row.shape[2], row.shape[3], row.statistics.min,
		    row.statistics.max, row.statistics.mean, row.statistics.l2,
		    row.statistics.deviation);
	}
	const double text_ns = (double)(spent_ns() - start) / ROWS;
	start = spent_ns();
	for (uint64_t i = 0; i < ROWS; i++) {
		const struct hk_dump_row row = make_row(i);
		hk_dump_writer_add(writer, &row, NULL);
		if (i % 200 == 199) {
			hk_dump_writer_step(writer, i / 200);
		}
	}
	const double row_ns = (double)(spent_ns() - start) / ROWS;
	const struct hk_dump_counts counts = close_writer(writer);
	printf("a row: %.0f ns; as text by snprintf: %.0f ns (%lu bytes); in the file: %.1f bytes, "
	       "of text %.1f\n",
	       row_ns, text_ns, sum, (double)counts.bytes / ROWS, (double)sum / ROWS);
	return row_ns / text_ns;
}

/* Numbers as activations have them, roughly normal. */
static void fill(float *data, size_t count)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < count; i++) {
		float sum = 0;
		for (unsigned k = 0; k < 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			sum += (float)(seed >> 8) / (float)(1u << 24) - 0.5f;
		}
		data[i] = sum;
	}
}

static double bench_elements(int compression)
{
	const uint64_t count = STEP_BYTES / sizeof(float) / TENSORS, shape[] = {count};
	struct hk_dump_writer *writer = open_writer(compression);
	float *data = malloc(STEP_BYTES), *copy = malloc(STEP_BYTES);
	uint64_t add_ns = 0, copy_ns = 0, before = spent_elsewhere_ns();
	struct hk_dump_counts counts;

	fill(data, STEP_BYTES / sizeof(float));
	memset(copy, 1, STEP_BYTES);
	for (uint64_t step = 0; step < STEPS; step++) {
		uint64_t start = spent_ns();
		memcpy(copy, data, STEP_BYTES);
		copy_ns += spent_ns() - start;
		start = spent_ns();
		for (uint64_t i = 0; i < TENSORS; i++) {
			const struct hk_tensor tensor = {data + i * count, HK_DTYPE_F32, 1, shape,
							 NULL};
			struct hk_dump_row row = make_row(step * TENSORS + i + 1);
			row.statistics.count = count;
			hk_dump_writer_add(writer, &row, &tensor);
		}
		hk_dump_writer_step(writer, step);
		add_ns += spent_ns() - start;
		do {
			sched_yield();
			counts = hk_dump_writer_counts(writer);
		} while (counts.rows < (step + 1) * TENSORS);
	}
	const float last = copy[STEP_BYTES / sizeof(float) - 1];
	counts = close_writer(writer);
	printf("19 MB of elements, compression %d: %.2f ms of the program, memcpy %.2f ms; all "
	       "written after %.1f ms, %.1f MB (%g)\n",
	       compression, (double)add_ns / STEPS / 1e6, (double)copy_ns / STEPS / 1e6,
	       (double)(spent_elsewhere_ns() - before) / STEPS / 1e6,
	       (double)counts.bytes / STEPS / (1 << 20), (double)last);
	free(data);
	free(copy);
	return (double)add_ns / (double)copy_ns;
}

int main(void)
{
	if (!mkdtemp(directory)) {
		perror(directory);
		return 1;
	}
	const double row = bench_rows(), plain = bench_elements(0);
	const double compressed = bench_elements(HK_DUMP_COMPRESSION);
	(void)rmdir(directory);
	printf("a row to its text: %.2f (at most %.1f); elements to their copy: %.2f, compressed "
	       "%.2f (at most %.1f)\n",
	       row, ROW_RATIO, plain, compressed, COPY_RATIO);
	return row > ROW_RATIO || plain > COPY_RATIO || compressed > COPY_RATIO;
}
