#include "model.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunk/merge/merge.h"
#include "chunk/read/cursor.h"

/* An input of made-up records, given in batches of random length. */
struct source {
	struct hk_record *records;
	size_t count, next;
	size_t batch_max; /* 0: 20 */
	int error;	  /* at the end; 0: none */
};

static int batch(void *context, const struct hk_record **ret_records, size_t *ret_count)
{
	struct source *source = context;
	size_t left = source->count - source->next;
	size_t most = source->batch_max ? source->batch_max : 20;

	if (!left) {
		int rc = source->error;
		source->error = 0;
		return rc;
	}
	*ret_records = source->records + source->next;
	*ret_count = 1 + model_below(left < most ? left : most);
	source->next += *ret_count;
	return 1;
}

/* Inputs to be merged. Zero where a shape has none of it. */
struct shape {
	const char *name;
	size_t inputs, records; /* of each input at most */
	uint64_t step;		/* ticks between records, at most */
	size_t burst;		/* after so many records there is a pause */
	uint64_t pause;		/* ticks */
	size_t batch_max;
	size_t skew;   /* input i has i * skew as much to wait as the first */
	uint64_t late; /* ticks that one record of fifty comes late, at most */
	bool together; /* bursts of all inputs begin at the same time */
	bool errors;   /* every fourth input ends with one */
	bool far;      /* the last records of an input are beyond what can be told apart */
};

struct expected {
	int64_t start_ns;
	uint64_t key; /* what it is sorted by */
	uint32_t input;
	size_t index;
};

static int compare_expected(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->key != y->key) {
		return x->key < y->key ? -1 : 1;
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

static const int64_t steps_offset = -12345;

static void make_clock(struct hk_merge_clock *clock, size_t input)
{
	clock->base_ticks = 1000000 + model_below(5000);
	clock->base_ns = (int64_t)model_below(4000) - 2000;
	clock->ns_per_tick_q32 = (1ull << 31) + model_below(1ull << 31);
	if (input % 3 == 2) {
		clock->convert = convert_in_steps;
		clock->context = &steps_offset;
	}
	if (input % 11 == 10) {
		clock->ns_per_tick_q32 = 0;
	}
}

/* The same as the clock is said to do, in another way. */
static int64_t true_ns(const struct hk_merge_clock *clock, uint64_t ticks)
{
	__int128 ns = (__int128)((int64_t)ticks - (int64_t)clock->base_ticks) *
		      (__int128)clock->ns_per_tick_q32;

	if (clock->convert) {
		return (int64_t)(ticks / 100) * 30 + steps_offset;
	}
	/* Rounds down, for negative numbers too. */
	return clock->base_ns + (int64_t)(ns / 4294967296) - (ns < 0 && ns % 4294967296);
}

static void make_source(const struct shape *shape, size_t input, struct source *source)
{
	uint64_t ticks = 1000000 + (shape->together ? 0 : model_below(1000));

	source->count = model_below(shape->records + 1);
	source->batch_max = shape->batch_max;
	source->records = calloc(source->count + 1, sizeof(struct hk_record));
	source->error = shape->errors && input % 4 == 0 && source->count ? -EIO : 0;
	for (size_t k = 0; k < source->count; k++) {
		bool late = shape->late && model_below(50) == 0;
		ticks += model_below((shape->step + 1) * (1 + input * shape->skew));
		if (shape->burst && k % shape->burst == 0) {
			ticks = shape->together ? 1000000 + k / shape->burst * shape->pause
						: ticks + shape->pause;
		}
		if (shape->far && k + 3 == source->count) {
			ticks = UINT64_MAX / 4 + model_below(3);
		}
		source->records[k].start_ticks = late ? ticks - model_below(shape->late) : ticks;
		source->records[k].site = (uint32_t)k;
	}
}

/* Sorts what is to come: a record that is late, or too far away, has its place behind the one
 * before it. */
static size_t expect(const struct hk_merge_input *inputs, const struct source *sources,
		     size_t count, struct expected *expected)
{
	int64_t base = INT64_MAX;
	unsigned bits = 2;
	size_t total = 0;

	while ((size_t)1 << bits < count) {
		bits += 2;
	}
	const uint64_t latest = ((uint64_t)INT64_MAX >> bits) - 1;
	for (size_t i = 0; i < count; i++) {
		int64_t first = true_ns(&inputs[i].clock, sources[i].records[0].start_ticks);
		base = sources[i].count && first < base ? first : base;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t key = 0;
		for (size_t k = 0; k < sources[i].count; k++) {
			int64_t ns = true_ns(&inputs[i].clock, sources[i].records[k].start_ticks);
			uint64_t time = ns < base ? 0 : (uint64_t)ns - (uint64_t)base;
			time = time < latest ? time : latest;
			key = time > key ? time : key;
			expected[total++] = (struct expected){ns, key, (uint32_t)i, k};
		}
	}
	qsort(expected, total, sizeof(*expected), compare_expected);
	return total;
}

/* Takes everything out of a merge; returns how many errors came. */
static size_t drain(struct hk_merge *merge, const struct expected *expected, size_t total,
		    const struct source *sources, const char *name)
{
	struct hk_merged merged;
	size_t errors = 0, n = 0;
	int rc;

	while ((rc = hk_merge_next(merge, &merged)) != 0) {
		if (rc < 0) {
			assert_int_equal(rc, -EIO);
			errors++;
			continue;
		}
		assert_true(n < total);
		if (merged.start_ns != expected[n].start_ns || merged.input != expected[n].input ||
		    merged.record != &sources[merged.input].records[expected[n].index]) {
			fail_msg("%s: record %zu of %zu is not the right one", name, n, total);
		}
		assert_int_equal(merged.record->site, expected[n].index);
		n++;
	}
	assert_int_equal(n, total);
	assert_int_equal(hk_merge_next(merge, &merged), 0);
	return errors;
}

static void one_round(const struct shape *shape)
{
	const size_t inputs = shape->inputs;
	struct source *sources = calloc(inputs + 1, sizeof(*sources));
	struct hk_merge_input *merge_inputs = calloc(inputs + 1, sizeof(*merge_inputs));
	struct expected *expected = calloc(inputs * shape->records + 1, sizeof(*expected));
	size_t errors = 0;
	struct hk_merge *merge;

	for (size_t i = 0; i < inputs; i++) {
		make_source(shape, i, &sources[i]);
		errors += sources[i].error != 0;
		merge_inputs[i] = (struct hk_merge_input){.batch = batch, .context = &sources[i]};
		make_clock(&merge_inputs[i].clock, i);
	}
	size_t total = expect(merge_inputs, sources, inputs, expected);
	assert_int_equal(hk_merge_new(merge_inputs, inputs, &merge), 0);
	assert_int_equal(drain(merge, expected, total, sources, shape->name), errors);
	hk_merge_free(merge);
	for (size_t i = 0; i < inputs; i++) {
		free(sources[i].records);
	}
	free(sources);
	free(merge_inputs);
	free(expected);
}

static void test_few_records_come_as_one_sorted_stream(void **state)
{
	(void)state;
	for (int round = 0; round < 60; round++) {
		struct shape late = {.name = "few and late", .inputs = 3, .records = 400};
		late.step = 10;
		late.batch_max = 120;
		late.late = 40;
		one_round(&late);
		for (size_t inputs = 0; inputs <= 5; inputs++) {
			struct shape shape = {.name = "few", .inputs = inputs, .records = 60};
			shape.step = model_below(300);
			shape.batch_max = round % 2 ? 1000 : 20;
			shape.late = round % 3 == 0 ? 5000 : 0;
			shape.errors = round % 5 == 0;
			shape.far = round % 7 == 0;
			one_round(&shape);
		}
	}
}

#define WHOLE 1000000 /* records of a batch that has nearly all */

static void test_inputs_come_as_one_sorted_stream(void **state)
{
	static const struct shape shapes[] = {
	    {.name = "even", 64, 3000, 2000, .batch_max = WHOLE},
	    {.name = "even, small batches", 63, 300, 50},
	    {.name = "even, one-record batches", 65, 300, 50, .batch_max = 1},
	    {.name = "dense", 65, 1000, 1, .batch_max = WHOLE},
	    {.name = "all at once", 20, 1000, 0, .batch_max = WHOLE},
	    {.name = "dense, then sparse", 40, 3000, 5, 1500, 1ull << 40, .batch_max = WHOLE},
	    {.name = "bursts", 64, 1000, 20, 100, 3000000, .batch_max = WHOLE, .together = true},
	    {.name = "bursts of one", 64, 200, 20, 1, 3000000, WHOLE, .together = true},
	    {.name = "bursts of many", 8, 9000, 2, 3000, 3000000, WHOLE, .together = true},
	    {.name = "equal times", 30, 2000, 0, 10, 500, .batch_max = 700, .together = true},
	    {.name = "unequal", 50, 3000, 20, .batch_max = WHOLE, .skew = 7},
	    {.name = "sparse", 64, 300, 1ull << 34, .batch_max = WHOLE},
	    {.name = "late ones", 16, 4000, 300, .batch_max = WHOLE, .late = 20000},
	    {.name = "a little late", 16, 4000, 300, .batch_max = 3000, .late = 400},
	    {.name = "late, small batches", 16, 4000, 10, .batch_max = 400, .late = 40},
	    {.name = "far ones", 64, 500, 300, .batch_max = WHOLE, .far = true},
	    {.name = "errors", 64, 500, 300, .batch_max = 200, .errors = true},
	    {.name = "one", 1, 20000, 300, .batch_max = WHOLE},
	    {.name = "two", 2, 20000, 300, .batch_max = WHOLE},
	    {.name = "many", 1500, 40, 1000, .batch_max = WHOLE},
	    {.name = "many, small batches", 1500, 40, 1000, .batch_max = 3},
	    {.name = "more than a window takes", 17000, 3, 1000, .batch_max = WHOLE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		one_round(&shapes[i]);
	}
}

static void test_an_error_closes_its_input_only(void **state)
{
	struct hk_record records[2][3] = {
	    {{.start_ticks = 1}, {.start_ticks = 4}, {.start_ticks = 6}},
	    {{.start_ticks = 2}, {.start_ticks = 3}, {.start_ticks = 9}}};
	struct source sources[2] = {{.records = records[0], .count = 3},
				    {.records = records[1], .count = 2, .error = -EIO}};
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
	struct source sources[2] = {{.records = records[0], .count = 3},
				    {.records = records[1], .count = 3}};
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

/* The batch that ends first begins later than it ends: nothing of it lies before its end. */
static void test_batch_that_begins_later_than_it_ends_loses_nothing(void **state)
{
	struct hk_record records[2][2] = {{{.start_ticks = 100}, {.start_ticks = 10}},
					  {{.start_ticks = 10}, {.start_ticks = 50}}};
	struct source sources[2];
	struct hk_merge_input inputs[2];
	struct hk_merge *merge;
	struct hk_merged merged;

	(void)state;
	for (int round = 0; round < 50; round++) { /* batches of one record or two */
		int counts[2] = {0};
		for (int i = 0; i < 2; i++) {
			sources[i] = (struct source){.records = records[i], .count = 2};
			inputs[i] = (struct hk_merge_input){.batch = batch, .context = &sources[i]};
			inputs[i].clock.ns_per_tick_q32 = 1ull << 32;
		}
		assert_int_equal(hk_merge_new(inputs, 2, &merge), 0);
		while (hk_merge_next(merge, &merged) > 0) {
			assert_ptr_equal(merged.record,
					 &records[merged.input][counts[merged.input]]);
			counts[merged.input]++;
		}
		assert_int_equal(counts[0], 2);
		assert_int_equal(counts[1], 2);
		hk_merge_free(merge);
	}
}

static void test_ticks_that_turn_negative_count_as_the_clock_says(void **state)
{
	const uint64_t turn = (uint64_t)INT64_MAX + 1;
	struct hk_record records[] = {
	    {.start_ticks = turn - 9}, {.start_ticks = turn + 5}, {.start_ticks = 1ull << 31}};
	struct hk_record *const end = records + 3;
	struct source source = {.records = records, .count = 3};
	struct hk_merge_input input = {.batch = batch, .context = &source};
	struct hk_merge *merge;
	struct hk_merged merged;

	(void)state;
	/* Slow ticks: times wrap round, so that the last one is behind those that turn. */
	input.clock.ns_per_tick_q32 = (1ull << 33) + 1;
	for (int round = 0; round < 20; round++) {
		source.next = 0;
		assert_int_equal(hk_merge_new(&input, 1, &merge), 0);
		for (struct hk_record *record = records; record != end; record++) {
			assert_int_equal(hk_merge_next(merge, &merged), 1);
			assert_ptr_equal(merged.record, record);
			assert_true(merged.start_ns ==
				    hk_merge_clock_ns(&input.clock, record->start_ticks));
		}
		assert_int_equal(hk_merge_next(merge, &merged), 0);
		hk_merge_free(merge);
	}
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
	    cmocka_unit_test(test_few_records_come_as_one_sorted_stream),
	    cmocka_unit_test(test_inputs_come_as_one_sorted_stream),
	    cmocka_unit_test(test_an_error_closes_its_input_only),
	    cmocka_unit_test(test_late_and_far_records_lose_nothing),
	    cmocka_unit_test(test_batch_that_begins_later_than_it_ends_loses_nothing),
	    cmocka_unit_test(test_ticks_that_turn_negative_count_as_the_clock_says),
	    cmocka_unit_test(test_cursors_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
