/* chunk/ and sketch/ know the layouts of a segment without linking ring/: here they are held
 * together. */
#include "model.h"

#include "chunk/read/reader.h"
#include "ring/segment.h"
#include "sketch/histogram.h"

static_assert(HK_CHUNK_RAW_HEADER_WORDS == HK_RECORD_HEADER_WORDS, "record header");
static_assert(HK_CHUNK_RAW_PAYLOAD_MAX == HK_RECORD_WORDS_MAX, "payload words");
static_assert(HK_CHUNK_RAW_ESCAPE == HK_DURATION_ESCAPE, "escape");
static_assert(HK_CHUNK_SITES_MAX == HK_SITES_MAX, "sites");
static_assert(HK_CHUNK_KEYS == HK_SITE_KEYS, "keys");
static_assert((int)HK_CHUNK_KIND_CALL == (int)HK_RECORD_CALL, "call");
static_assert((int)HK_CHUNK_KIND_UNWOUND == (int)HK_RECORD_UNWOUND, "unwound");
static_assert((int)HK_CHUNK_KIND_THREAD == (int)HK_RECORD_THREAD, "thread");
static_assert(HK_HISTOGRAM_OCTAVES == HK_OCTAVES, "octaves");
static_assert(HK_HISTOGRAM_OCTAVE_BUCKETS == HK_OCTAVE_BUCKETS, "buckets");

static void test_a_segments_record_is_understood(void **state)
{
	const struct hk_chunk_options options = {.ticks_per_ns = 2};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct hk_chunk_position chain = {.thread = 1};
	const uint64_t words[] = {
	    5000, hk_record_word1(77, 0xabcde, HK_RECORD_UNWOUND, 2),	     8,	   9,
	    6000, hk_record_word1(HK_DURATION_ESCAPE, 3, HK_RECORD_CALL, 2), 4000, 10};
	const struct hk_record *records;
	const void *bytes;
	size_t count;

	(void)state;
	hk_chunk_writer_begin(writer, (const uint8_t[16]){1}, 1);
	assert_int_equal(hk_chunk_writer_add(writer, &chain, words, 8, &count), 0);
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &count), 0);
	assert_int_equal(hk_chunk_reader_open(reader, bytes, count), 0);
	assert_int_equal(hk_chunk_reader_records(reader, HK_SECTION_LANES, &records, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(records[0].start_ticks, 5000);
	assert_int_equal(records[0].duration_ns, 77);
	assert_int_equal(records[0].site, 0xabcde);
	assert_int_equal(records[0].kind, HK_RECORD_UNWOUND);
	assert_int_equal(records[0].word_count, 2);
	assert_int_equal(records[0].words[1], 9);
	assert_int_equal(records[1].duration_ns, 4000);
	assert_int_equal(records[1].word_count, 1);
	assert_int_equal(records[1].words[0], 10);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_segments_record_is_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
