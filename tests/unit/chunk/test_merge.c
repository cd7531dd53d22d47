#include "model.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunk/cursor.h"
#include "chunk/merge.h"

/* An input of made-up records, given in batches of random length. */
struct source {
	struct hk_record *records;
	size_t count, next;
	int error; /* at the end; 0: none */
};

static int batch(void *context, const struct hk_record **ret_records, size_t *ret_count)
{
	struct source *source = context;
	size_t left = source->count - source->next;

	if (!left) {
		int rc = source->error;
		source->error = 0;
		return rc;
	}
	*ret_records = source->records + source->next;
	*ret_count = 1 + model_below(left < 20 ? left : 20);
	source->next += *ret_count;
	return 1;
}

struct expected {
	int64_t start_ns;
	uint32_t input;
	size_t index;
};

static int compare_expected(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->start_ns != y->start_ns) {
		return x->start_ns < y->start_ns ? -1 : 1;
	}
	if (x->input != y->input) {
		return x->input < y->input ? -1 : 1;
	}
	return (x->index > y->index) - (x->index < y->index);
}

/* Steps of 100 ticks: a clock that is not linear, and not one to one. */
static int64_t convert_in_steps(const void *context, uint64_t ticks)
{
	return (int64_t)(ticks / 100) * 30 + *(const int64_t *)context;
}

static void one_round(size_t inputs, size_t records, uint64_t step)
{
	struct source *sources = calloc(inputs + 1, sizeof(*sources));
	struct hk_merge_input *merge_inputs = calloc(inputs + 1, sizeof(*merge_inputs));
	struct expected *expected = calloc(inputs * records + 1, sizeof(*expected));
	const int64_t offset = -12345;
	struct hk_merge *merge;
	struct hk_merged merged;
	size_t total = 0;
	int rc;

	for (size_t i = 0; i < inputs; i++) {
		uint64_t ticks = 1000000 + model_below(1000);
		sources[i].count = model_below(records + 1);
		sources[i].records = calloc(sources[i].count + 1, sizeof(struct hk_record));
		merge_inputs[i] = (struct hk_merge_input){.batch = batch, .context = &sources[i]};
		struct hk_merge_clock *clock = &merge_inputs[i].clock;
		clock->base_ticks = 1000000 + model_below(5000);
		clock->base_ns = (int64_t)model_below(4000) - 2000;
		clock->ns_per_tick_q32 = (1ull << 31) + model_below(1ull << 31);
		if (i % 3 == 2) {
			clock->convert = convert_in_steps;
			clock->context = &offset;
		}
		for (size_t k = 0; k < sources[i].count; k++) {
			ticks += model_below(step);
			sources[i].records[k].start_ticks = ticks;
			sources[i].records[k].site = (uint32_t)k;
			__int128 ns = (__int128)((int64_t)ticks - (int64_t)clock->base_ticks) *
				      (__int128)clock->ns_per_tick_q32;
			/* Rounds down, for negative numbers too. */
			int64_t start_ns = (int64_t)(ns / 4294967296) - (ns < 0 && ns % 4294967296);
			expected[total].start_ns = i % 3 == 2 ? (int64_t)(ticks / 100) * 30 - 12345
							      : start_ns + clock->base_ns;
			expected[total].input = (uint32_t)i;
			expected[total++].index = k;
		}
	}
	qsort(expected, total, sizeof(*expected), compare_expected);
	assert_int_equal(hk_merge_new(merge_inputs, inputs, &merge), 0);
	for (size_t n = 0; n < total; n++) {
		assert_int_equal(hk_merge_next(merge, &merged), 1);
		assert_true(merged.start_ns == expected[n].start_ns);
		assert_int_equal(merged.input, expected[n].input);
		assert_int_equal(merged.record->site, expected[n].index);
	}
	rc = hk_merge_next(merge, &merged);
	assert_int_equal(rc, 0);
	assert_int_equal(hk_merge_next(merge, &merged), 0);
	hk_merge_free(merge);
	for (size_t i = 0; i < inputs; i++) {
		free(sources[i].records);
	}
	free(sources);
	free(merge_inputs);
	free(expected);
}

static void test_inputs_come_as_one_sorted_stream(void **state)
{
	(void)state;
	for (int round = 0; round < 30; round++) {
		for (size_t inputs = 0; inputs <= 5; inputs++) {
			one_round(inputs, 60, 1 + model_below(300));
		}
	}
	one_round(63, 300, 50);
	one_round(64, 300, 50);
	one_round(65, 300, 2);
	one_round(1500, 5, 1000);
}

static void test_an_error_closes_its_input_only(void **state)
{
	struct hk_record records[2][3] = {
	    {{.start_ticks = 1}, {.start_ticks = 4}, {.start_ticks = 6}},
	    {{.start_ticks = 2}, {.start_ticks = 3}, {.start_ticks = 9}}};
	struct source sources[2] = {{records[0], 3, 0, 0}, {records[1], 2, 0, -EIO}};
	struct hk_merge_input inputs[2];
	struct hk_merge *merge;
	struct hk_merged merged;
	int64_t got[8];
	int count = 0, errors = 0, rc;

	(void)state;
	for (int i = 0; i < 2; i++) {
		inputs[i] = (struct hk_merge_input){.batch = batch, .context = &sources[i]};
		inputs[i].clock.ns_per_tick_q32 = 1ull << 32;
	}
	assert_int_equal(hk_merge_new(inputs, 2, &merge), 0);
	while ((rc = hk_merge_next(merge, &merged)) != 0 && count < 8) {
		if (rc > 0) {
			got[count++] = merged.start_ns;
		} else {
			assert_int_equal(rc, -EIO);
			assert_int_equal(count, 3);
			errors++;
		}
	}
	const int64_t truth[] = {1, 2, 3, 4, 6};
	assert_int_equal(count, 5);
	assert_int_equal(errors, 1);
	assert_memory_equal(got, truth, sizeof(truth));
	hk_merge_free(merge);
	assert_int_equal(hk_merge_new(inputs, HK_MERGE_INPUTS_MAX + 1, &merge), -EINVAL);
}

static void test_late_and_far_records_lose_nothing(void **state)
{
	/* Unsorted on purpose, and beyond the range that keys can tell apart. */
	struct hk_record records[2][3] = {
	    {{.start_ticks = 50}, {.start_ticks = 1}, {.start_ticks = UINT64_MAX / 2}},
	    {{.start_ticks = 60}, {.start_ticks = UINT64_MAX / 2 - 1}, {.start_ticks = 2}}};
	struct source sources[2] = {{records[0], 3, 0, 0}, {records[1], 3, 0, 0}};
	struct hk_merge_input inputs[2];
	struct hk_merge *merge;
	struct hk_merged merged;
	int counts[2] = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		inputs[i] = (struct hk_merge_input){.batch = batch, .context = &sources[i]};
		inputs[i].clock.ns_per_tick_q32 = 1ull << 32;
	}
	assert_int_equal(hk_merge_new(inputs, 2, &merge), 0);
	while (hk_merge_next(merge, &merged) > 0) {
		assert_ptr_equal(merged.record, &records[merged.input][counts[merged.input]]);
		counts[merged.input]++;
	}
	assert_int_equal(counts[0], 3);
	assert_int_equal(counts[1], 3);
	hk_merge_free(merge);
}

/* Two processes through files and cursors, against one sorted list. */
static void test_cursors_merge(void **state)
{
	const struct hk_chunk_options options = {.ticks_per_ns = MODEL_TICKS_PER_NS};
	struct hk_loader *loader = hk_loader_new();
	struct hk_cursor *cursors[2];
	struct hk_merge_input inputs[2];
	struct model truth = {0}, got = {0};
	struct hk_merge *merge;
	struct hk_merged merged;
	int fds[2];

	(void)state;
	for (uint32_t p = 0; p < 2; p++) {
		struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
		const uint8_t process[16] = {(uint8_t)p};
		uint64_t end = 0;
		struct model_chain chain;
		model_chain_begin(&chain, p, 1000);
		fds[p] = memfd_create("chunks", MFD_CLOEXEC);
		for (uint64_t number = 1; number <= 30; number++) {
			const void *bytes;
			size_t size;
			hk_chunk_writer_begin(writer, process, number);
			chain.count = 0;
			model_make_call(&truth, &chain, 0);
			assert_int_equal(hk_chunk_writer_add(writer, &chain.position, chain.words,
							     chain.count, &size),
					 0);
			assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);
			assert_int_equal(hk_chunk_file_append(fds[p], end, bytes, size), 0);
			end += size;
		}
		model_chain_end(&chain);
		hk_chunk_writer_free(writer);
		assert_int_equal(hk_cursor_new(loader, fds[p], &cursors[p]), 0);
		inputs[p] = (struct hk_merge_input){.batch = hk_merge_cursor_batch,
						    .context = cursors[p],
						    .clock = {.ns_per_tick_q32 = 1ull << 32}};
	}
	assert_int_equal(hk_merge_new(inputs, 2, &merge), 0);
	got.calls = calloc(truth.count, sizeof(*got.calls));
	int64_t last = 0;
	while (hk_merge_next(merge, &merged) > 0) {
		assert_true(merged.start_ns >= last);
		assert_true(got.count < truth.count);
		last = merged.start_ns;
		got.calls[got.count++] = model_of(merged.record);
		assert_int_equal(merged.record->thread->uid, merged.input + 1);
	}
	assert_int_equal(got.count, truth.count);
	model_sort(&got);
	model_sort(&truth);
	assert_memory_equal(got.calls, truth.calls, truth.count * sizeof(*truth.calls));
	hk_merge_free(merge);
	for (int p = 0; p < 2; p++) {
		hk_cursor_free(cursors[p]);
		close(fds[p]);
	}
	free(got.calls);
	free(truth.calls);
	hk_loader_free(loader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_inputs_come_as_one_sorted_stream),
	    cmocka_unit_test(test_an_error_closes_its_input_only),
	    cmocka_unit_test(test_late_and_far_records_lose_nothing),
	    cmocka_unit_test(test_cursors_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
