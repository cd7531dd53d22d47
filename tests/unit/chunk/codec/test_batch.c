/* Loops over the fields of a batch against one record at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/varint.h"
#include "chunk/codec/batch.h"
#include "chunk/codec/lanes.h"
#include "model.h"

#define ROUNDS 3000
#define SIZE_MAX_WORDS (HK_CHUNK_RAW_HEADER_WORDS + HK_CHUNK_RAW_PAYLOAD_MAX)

/* Numbers of every magnitude, the outermost ones among them. */
static uint64_t any_number(void)
{
	uint64_t number = model_random() >> model_below(64);

	return model_below(8) ? number : ~(number & 3);
}

static void test_differences_and_least(void **state)
{
	uint64_t starts[HK_LANES_BATCH], differences[HK_LANES_BATCH];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t count = 1 + (uint32_t)model_below(HK_LANES_BATCH);
		uint64_t previous = any_number(), least = UINT64_MAX, before = previous;
		for (uint32_t i = 0; i < count; i++) {
			starts[i] = any_number();
			least = starts[i] < least ? starts[i] : least;
		}
		assert_true(hk_batch_differences(starts, count, previous, differences) == least);
		for (uint32_t i = 0; i < count; i++) {
			assert_true(hk_unzigzag(differences[i]) == starts[i] - before);
			before = starts[i];
		}
	}
}

static void test_latest_end(void **state)
{
	uint64_t starts[HK_LANES_BATCH], durations[HK_LANES_BATCH];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t count = 1 + (uint32_t)model_below(HK_LANES_BATCH);
		uint64_t rate = model_random() % (UINT64_MAX / HK_CHUNK_LONG_NS), latest = 0;
		bool high = model_below(2);
		for (uint32_t i = 0; i < count; i++) {
			starts[i] = high ? any_number() : model_random() >> 8;
			durations[i] = model_below(HK_CHUNK_LONG_NS + 1);
			unsigned __int128 end =
			    starts[i] + ((unsigned __int128)durations[i] * rate >> 32);
			uint64_t end64 = end > UINT64_MAX ? UINT64_MAX : (uint64_t)end;
			latest = end64 > latest ? end64 : latest;
		}
		assert_true(hk_batch_latest_end(starts, durations, count, rate) == latest);
	}
}

static void test_unlike(void **state)
{
	uint32_t shapes[HK_LANES_BATCH];

	(void)state;
	for (uint32_t count = 1; count <= HK_LANES_BATCH; count++) {
		uint32_t shape = (uint32_t)model_random(), at = (uint32_t)model_below(count);
		for (uint32_t i = 0; i < count; i++) {
			shapes[i] = shape;
		}
		assert_int_equal(hk_batch_unlike(shapes, count), 0);
		uint32_t bits = (uint32_t)model_random();
		shapes[at] ^= bits;
		assert_int_equal(hk_batch_unlike(shapes, count), count == 1 ? 0 : bits);
	}
}

static void test_gather(void **state)
{
	uint64_t words[HK_BATCH_STEP * SIZE_MAX_WORDS], starts[HK_BATCH_STEP];
	uint64_t durations[HK_BATCH_STEP];
	uint32_t shapes[HK_BATCH_STEP];

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t size = HK_CHUNK_RAW_HEADER_WORDS + model_below(HK_CHUNK_RAW_PAYLOAD_MAX + 1);
		uint64_t like = (size - HK_CHUNK_RAW_HEADER_WORDS) << 4 | (1 + model_below(15));
		for (size_t i = 0; i < HK_BATCH_STEP * size; i++) {
			words[i] = any_number();
		}
		for (size_t i = 0; i < HK_BATCH_STEP; i++) {
			words[i * size + 1] =
			    like << 52 | model_below(1u << 20) << 32 |
			    (model_below(9) ? model_below(HK_CHUNK_LONG_NS + 1) : HK_CHUNK_LONG_NS);
		}
		assert_true(hk_batch_gather(words, size, like, starts, durations, shapes));
		for (size_t i = 0; i < HK_BATCH_STEP; i++) {
			assert_true(starts[i] == words[i * size]);
			assert_true(durations[i] == (uint32_t)words[i * size + 1]);
			assert_true(shapes[i] == words[i * size + 1] >> 32);
		}
		/* Another kind or size, or a long call. */
		uint64_t *word = &words[model_below(HK_BATCH_STEP) * size + 1];
		if (model_below(2)) {
			*word ^= 1ull << (52 + model_below(12));
		} else {
			*word = (*word & ~(uint64_t)UINT32_MAX) |
				(model_below(2) ? HK_CHUNK_LONG_NS + 1 : UINT32_MAX);
		}
		assert_false(hk_batch_gather(words, size, like, starts, durations, shapes));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_differences_and_least),
	    cmocka_unit_test(test_latest_end),
	    cmocka_unit_test(test_unlike),
	    cmocka_unit_test(test_gather),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
