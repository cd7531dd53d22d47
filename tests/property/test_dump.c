/* Random rows and elements beside a model: what is read back, in order, is what was added. The
 * writer has a thread of its own (pthread_create). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump/reader.h"
#include "dump/writer.h"

#define SEEDS 12u
#define ROWS 3000u
#define NAMES 50u
#define DIMENSIONS 5u
#define DATA_BYTES 65536u

static uint64_t data[DATA_BYTES / 8];

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)*seed * below >> 32);
}

static uint64_t draw_wide(uint32_t *seed)
{
	uint64_t high = draw(seed, UINT32_MAX), low = draw(seed, UINT32_MAX);

	return draw(seed, 4) ? high << 32 | low : low % 100;
}

/* A row and its tensor that follow from their number: the model needs no memory. */
struct sample {
	struct hk_dump_row row;
	struct hk_tensor tensor;
	uint64_t shape[DIMENSIONS];
	int64_t strides[DIMENSIONS];
	char name[64], slot[16], scalar[300];
	bool has_elements;
	const char *frames[3];
	uint32_t many;
};

/* Dimensions of a tensor within DATA: strides may be negative or 0. */
static void draw_tensor(struct sample *sample, uint32_t *seed)
{
	const size_t width = hk_dtype_bytes(sample->row.dtype);
	int64_t least = 0, most = 0;

	sample->row.dimensions = draw(seed, DIMENSIONS + 1);
	for (uint32_t d = 0; d < sample->row.dimensions; d++) {
		sample->shape[d] = draw(seed, 20) ? 1 + draw(seed, 6) : 0;
		sample->strides[d] = (int64_t)draw(seed, 40) - 20;
		int64_t reach =
		    sample->strides[d] * (int64_t)(sample->shape[d] ? sample->shape[d] - 1 : 0);
		least += reach < 0 ? reach : 0;
		most += reach > 0 ? reach : 0;
	}
	const bool contiguous = draw(seed, 2);
	const int64_t room = (int64_t)(DATA_BYTES / width) - (most - least) - 6 * 6 * 6 * 6 * 6;
	const int64_t first = draw(seed, (uint32_t)(room > 1 ? room : 1)) - least;
	sample->tensor = (struct hk_tensor){.data = (const char *)data + first * (int64_t)width,
					    .dtype = sample->row.dtype,
					    .dimensions = sample->row.dimensions,
					    .shape = sample->shape,
					    .strides = contiguous ? NULL : sample->strides};
}

static void draw_row(struct sample *sample, uint32_t *seed)
{
	static const char *const frames[] = {"a.py:1 f", "b.py:2 g", "c.py:3 h", "d.py:4 main"};
	struct hk_dump_row *row = &sample->row;

	memset(sample, 0, sizeof(*sample));
	row->dtype = (enum hk_dtype)(1 + draw(seed, HK_DTYPES - 1));
	draw_tensor(sample, seed);
	snprintf(sample->name, sizeof(sample->name), "layers.%u.weight", draw(seed, NAMES));
	snprintf(sample->slot, sizeof(sample->slot), "%u.%u", draw(seed, 3), draw(seed, 3));
	memset(sample->scalar, 'x', draw(seed, sizeof(sample->scalar)));
	row->sequence = draw_wide(seed);
	row->forward_sequence = draw_wide(seed);
	row->step = draw_wide(seed);
	row->kind = (enum hk_dump_kind)draw(seed, 3);
	row->phase = (enum hk_dump_phase)draw(seed, 6);
	row->role = (enum hk_dump_role)draw(seed, 3);
	row->name = sample->name;
	row->of = draw(seed, 2) ? "Linear" : "";
	row->number = draw(seed, 1000);
	row->slot = sample->slot;
	row->device = draw(seed, 2) ? "cpu" : "cuda:0";
	row->scalar = draw(seed, 4) ? NULL : sample->scalar;
	row->flags = draw(seed, 128) & ~HK_DUMP_NO_STATISTICS;
	row->shape = sample->shape;
	row->storage = draw_wide(seed);
	row->version = draw_wide(seed);
	row->offset = draw_wide(seed);
	row->thread = draw_wide(seed);
	row->begin_ns = draw_wide(seed);
	sample->has_elements = draw(seed, 3) != 0;
	sample->many = draw(seed, 4);
	for (uint32_t i = 0; i < sample->many; i++) {
		sample->frames[i] = frames[draw(seed, 4)];
	}
	assert_int_equal(hk_statistics_take(&sample->tensor, &row->statistics), 0);
}

/* The elements by their indices, not by runs as the writer takes them. */
static void check_elements(const struct sample *sample, const char *got)
{
	const size_t width = hk_dtype_bytes(sample->row.dtype);
	uint64_t index[DIMENSIONS] = {0};

	for (uint64_t i = 0; i < sample->row.statistics.count; i++) {
		int64_t at = sample->tensor.strides ? 0 : (int64_t)i;
		for (uint32_t d = 0; sample->tensor.strides && d < sample->row.dimensions; d++) {
			at += (int64_t)index[d] * sample->strides[d];
		}
		assert_memory_equal(got + i * width,
				    (const char *)sample->tensor.data + at * (int64_t)width, width);
		for (uint32_t d = sample->row.dimensions; d-- > 0;) {
			if (++index[d] < sample->shape[d]) {
				break;
			}
			index[d] = 0;
		}
	}
}

static void check_texts(const struct hk_dump_row *got, const struct hk_dump_row *row)
{
	assert_string_equal(got->name, row->name);
	assert_string_equal(got->of, row->of);
	assert_string_equal(got->slot, row->slot);
	assert_string_equal(got->device, row->device);
	assert_int_equal(got->scalar != NULL, row->scalar != NULL);
	if (row->scalar) {
		assert_string_equal(got->scalar, row->scalar);
	}
}

static void check_numbers(const struct hk_dump_row *got, const struct hk_dump_row *row)
{
	assert_int_equal(got->sequence, row->sequence);
	assert_int_equal(got->forward_sequence, row->forward_sequence);
	assert_int_equal(got->step, row->step);
	assert_int_equal(got->kind, row->kind);
	assert_int_equal(got->phase, row->phase);
	assert_int_equal(got->role, row->role);
	assert_int_equal(got->number, row->number);
	assert_int_equal(got->flags, row->flags);
	assert_int_equal(got->dtype, row->dtype);
	assert_int_equal(got->storage, row->storage);
	assert_int_equal(got->version, row->version);
	assert_int_equal(got->offset, row->offset);
	assert_int_equal(got->thread, row->thread);
	assert_int_equal(got->begin_ns, row->begin_ns);
}

static void check_row(struct hk_dump_file *file, size_t index, const struct sample *sample)
{
	const struct hk_dump_row *row = &sample->row;
	struct hk_dump_row got;
	const char *const *frames;
	const char *reason;

	hk_dump_file_row(file, index, &got);
	check_texts(&got, row);
	assert_int_equal(got.dimensions, row->dimensions);
	assert_memory_equal(got.shape, row->shape, row->dimensions * sizeof(uint64_t));
	assert_memory_equal(&got.statistics, &row->statistics, sizeof(row->statistics));
	assert_int_equal(hk_dump_file_stack(file, got.stack, &frames), sample->many);
	for (uint32_t i = 0; i < sample->many; i++) {
		assert_string_equal(frames[i], sample->frames[i]);
	}
	const char *elements = hk_dump_file_elements(file, index, &reason);
	assert_int_equal(elements != NULL, got.has_payload);
	assert_true(elements || !sample->has_elements);
	if (elements) {
		check_elements(sample, elements);
	}
	check_numbers(&got, row);
}

/* One dump. A small queue makes the program wait. */
static void try_seed(uint32_t first, const char *directory)
{
	const struct hk_dump_settings settings = {.directory = directory,
						  .about = "{}",
						  .compression = (int)(first % 3),
						  .queue_bytes = first % 2 ? 1 << 20 : 0};
	struct hk_dump_counts counts;
	struct sample sample;
	char reason[256] = "", path[128];
	uint32_t seed = first;

	struct hk_dump_writer *writer = hk_dump_writer_open(&settings, reason, sizeof(reason));
	assert_string_equal(reason, "");
	for (unsigned i = 0; i < ROWS; i++) {
		draw_row(&sample, &seed);
		sample.row.stack = hk_dump_writer_stack(writer, sample.frames, sample.many);
		hk_dump_writer_add(writer, &sample.row,
				   sample.has_elements ? &sample.tensor : NULL);
		if (draw(&seed, 300) == 0) {
			hk_dump_writer_step(writer, i);
		}
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.rows, ROWS);
	assert_int_equal(counts.payloads_left_out, 0);
	snprintf(path, sizeof(path), "%s/rank0-%d.hkv", directory, getpid());
	struct hk_dump_file *file = hk_dump_file_open(path, reason, sizeof(reason));
	assert_non_null(file);
	assert_int_equal(hk_dump_file_rows(file), ROWS);
	seed = first;
	for (unsigned i = 0; i < ROWS; i++) {
		draw_row(&sample, &seed);
		check_row(file, i, &sample);
		(void)draw(&seed, 300);
	}
	hk_dump_file_close(file);
	assert_int_equal(unlink(path), 0);
}

static void rows_come_back_equal(void **state)
{
	char directory[] = "/tmp/dump-property-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(directory));
	for (size_t i = 0; i < DATA_BYTES / 8; i++) {
		data[i] = (i + 1) * 0x9e3779b97f4a7c15u;
	}
	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		try_seed(seed, directory);
	}
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows_come_back_equal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
