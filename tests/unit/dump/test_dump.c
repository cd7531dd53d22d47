/* What a writer gets is what a reader gives: every field, texts, stacks, and elements of tensors of
 * any stride. */
#include <errno.h>
#include <sys/stat.h>

#include "dump_fixture.h"

#define LARGE (3u << 20) /* bytes: several parts */

static const uint64_t full_shape[] = {2, 3};
static const char *const full_frames[] = {"model.py:12 forward", "train.py:7 main"};
static const struct hk_dump_row full_row = {
    .sequence = 1,
    .forward_sequence = 2,
    .step = UINT64_MAX,
    .kind = HK_DUMP_MODULE,
    .phase = HK_DUMP_BACKWARD,
    .role = HK_DUMP_OUTPUT,
    .name = "layers.3.attn",
    .of = "Linear",
    .number = 5,
    .slot = "1.0",
    .device = "cuda:0",
    .flags = HK_DUMP_VIEW | HK_DUMP_RECOMPUTED,
    .dtype = HK_DTYPE_BF16,
    .dimensions = 2,
    .shape = full_shape,
    .statistics = {6, 1, 2, 3, 4, -1.5, 2.5, 0.25, 1e300, 5e-324, 0xfedcba9876543210},
    .storage = 0x7f0000001000,
    .version = 8,
    .offset = 9,
    .thread = 10,
    .begin_ns = 11,
};

static void expect_full_row(const struct hk_dump_row *got)
{
	assert_int_equal(got->sequence, full_row.sequence);
	assert_int_equal(got->forward_sequence, full_row.forward_sequence);
	assert_int_equal(got->step, full_row.step);
	assert_int_equal(got->kind, full_row.kind);
	assert_int_equal(got->phase, full_row.phase);
	assert_int_equal(got->role, full_row.role);
	assert_string_equal(got->name, full_row.name);
	assert_string_equal(got->of, full_row.of);
	assert_int_equal(got->number, full_row.number);
	assert_string_equal(got->slot, full_row.slot);
	assert_string_equal(got->device, full_row.device);
	assert_null(got->scalar);
	assert_int_equal(got->flags, full_row.flags);
	assert_int_equal(got->dtype, full_row.dtype);
	assert_int_equal(got->dimensions, 2);
	assert_memory_equal(got->shape, full_shape, sizeof(full_shape));
	assert_memory_equal(&got->statistics, &full_row.statistics, sizeof(full_row.statistics));
	assert_int_equal(got->storage, full_row.storage);
	assert_int_equal(got->version, full_row.version);
	assert_int_equal(got->offset, full_row.offset);
	assert_int_equal(got->thread, full_row.thread);
	assert_int_equal(got->begin_ns, full_row.begin_ns);
	assert_false(got->has_payload);
}

static void row_comes_back_with_every_field(void **state)
{
	struct fixture fixture;
	const char *const *frames;
	struct hk_dump_counts counts;
	struct hk_dump_row row = full_row;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	row.stack = hk_dump_writer_stack(writer, full_frames, 2);
	assert_int_equal(hk_dump_writer_stack(writer, full_frames, 2), row.stack);
	assert_int_not_equal(hk_dump_writer_stack(writer, full_frames, 1), row.stack);
	hk_dump_writer_add(writer, &row, NULL);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.rows, 1);

	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 1);
	assert_int_equal(hk_dump_file_rank(file), 3);
	assert_string_equal(hk_dump_file_about(file), FIXTURE_ABOUT);
	hk_dump_file_row(file, 0, &row);
	expect_full_row(&row);
	assert_int_equal(hk_dump_file_stack(file, row.stack, &frames), 2);
	assert_string_equal(frames[0], full_frames[0]);
	assert_string_equal(frames[1], full_frames[1]);
	assert_int_equal(hk_dump_file_stack(file, HK_DUMP_NONE, &frames), 0);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void elements_of_any_stride_come_back_contiguous(void **state)
{
	static const uint64_t shape[] = {3, 2, 4}, one[] = {0};
	static const int64_t strides[] = {1, -12, 3}, zero[] = {0, 0, 0};
	uint16_t data[24];
	struct fixture fixture;
	struct hk_dump_counts counts;
	const char *reason = NULL;

	(void)state;
	for (unsigned i = 0; i < 24; i++) {
		data[i] = (uint16_t)(i * 7);
	}
	const struct hk_tensor tensors[] = {
	    {data, HK_DTYPE_I16, 3, shape, NULL},     {data + 12, HK_DTYPE_I16, 3, shape, strides},
	    {data + 5, HK_DTYPE_U16, 3, shape, zero}, {data + 1, HK_DTYPE_F16, 0, NULL, NULL},
	    {data, HK_DTYPE_F16, 1, one, NULL},
	};
	const size_t many = sizeof(tensors) / sizeof(tensors[0]);
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (size_t i = 0; i < 2 * many; i++) {
		const struct hk_dump_row row = fixture_row(&tensors[i % many]);
		hk_dump_writer_add(writer, &row, &tensors[i % many]);
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.payloads, many);
	assert_int_equal(counts.duplicates, many);

	struct hk_dump_file *file = fixture_read(&fixture);
	const uint16_t *got = hk_dump_file_elements(file, 0, &reason);
	assert_memory_equal(got, data, sizeof(data));
	got = hk_dump_file_elements(file, 1, &reason);
	for (int a = 0, i = 0; a < 3; a++) {
		for (int b = 0; b < 2; b++) {
			for (int c = 0; c < 4; c++, i++) {
				assert_int_equal(got[i], data[12 + a - 12 * b + 3 * c]);
			}
		}
	}
	got = hk_dump_file_elements(file, 2, &reason);
	for (int i = 0; i < 24; i++) {
		assert_int_equal(got[i], data[5]);
	}
	got = hk_dump_file_elements(file, 3, &reason);
	assert_int_equal(*got, data[1]);
	assert_non_null(hk_dump_file_elements(file, 4 + many, &reason));
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void large_elements_come_back_in_parts(void **state)
{
	const uint64_t shape[] = {LARGE / 8, 2};
	const int64_t strides[] = {1, LARGE / 8};
	float *data = malloc(LARGE);
	struct fixture fixture;
	struct hk_dump_counts counts;
	const char *reason = NULL;

	(void)state;
	for (unsigned i = 0; i < LARGE / 4; i++) {
		data[i] = (float)(i * 2654435761u >> 8);
	}
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	const struct hk_tensor tensor = {data, HK_DTYPE_F32, 2, shape, strides};
	const struct hk_dump_row row = fixture_row(&tensor);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	hk_dump_writer_add(writer, &row, &tensor);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);

	struct hk_dump_file *file = fixture_read(&fixture);
	const float *got = hk_dump_file_elements(file, 0, &reason);
	assert_non_null(got);
	for (unsigned i = 0; i < LARGE / 4; i++) {
		assert_true(got[i] == data[i % 2 * (LARGE / 8) + i / 2]);
	}
	hk_dump_file_close(file);
	free(data);
	fixture_end(&fixture);
}

static void scalar_comes_back_as_text(void **state)
{
	static const char *const scalars[] = {"0.5", NULL, "", "None"};
	struct fixture fixture;
	struct hk_dump_counts counts;
	struct hk_dump_row got;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < 4; i++) {
		const struct hk_dump_row row = {
		    .name = "f", .of = "", .slot = "alpha", .device = "", .scalar = scalars[i]};
		hk_dump_writer_add(writer, &row, NULL);
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	struct hk_dump_file *file = fixture_read(&fixture);
	for (unsigned i = 0; i < 4; i++) {
		hk_dump_file_row(file, i, &got);
		if (scalars[i]) {
			assert_string_equal(got.scalar, scalars[i]);
		} else {
			assert_null(got.scalar);
		}
	}
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void step_makes_rows_readable_before_close(void **state)
{
	struct fixture fixture;
	struct hk_dump_counts counts;
	struct hk_dump_row row = {.name = "f", .of = "", .slot = "0", .device = "", .step = 4};
	const char *damage;
	bool complete;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	hk_dump_writer_add(writer, &row, NULL);
	hk_dump_writer_step(writer, 4);
	while (hk_dump_writer_counts(writer).rows == 0) {
	}
	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 1);
	(void)hk_dump_file_counts(file, &complete, &damage);
	assert_false(complete);
	hk_dump_file_close(file);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	file = fixture_read(&fixture);
	counts = hk_dump_file_counts(file, &complete, &damage);
	assert_true(complete);
	assert_null(damage);
	assert_int_equal(counts.rows, 1);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(row_comes_back_with_every_field),
	    cmocka_unit_test(elements_of_any_stride_come_back_contiguous),
	    cmocka_unit_test(large_elements_come_back_in_parts),
	    cmocka_unit_test(scalar_comes_back_as_text),
	    cmocka_unit_test(step_makes_rows_readable_before_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
