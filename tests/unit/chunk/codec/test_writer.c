#include "model.h"

#include <errno.h>
#include <stdio.h>

#include "chunk/codec/header.h"
#include "chunk/read/reader.h"

static const uint8_t process[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static int name_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static char function[32], library[8000];

	(void)context;
	if (id % 7 == 6) {
		return -ENOENT;
	}
	snprintf(function, sizeof(function), "function_%u", id);
	memset(library, 'l', sizeof(library));
	library[id % 7 == 5 ? sizeof(library) - 1 : 20] = 0;
	*ret_site = (struct hk_chunk_site){.id = 99,
					   .flags = id * 3,
					   .meaning = (uint8_t)(id % 15),
					   .key_count = 2,
					   .keys = {5, (uint8_t)(id % 200)},
					   .function = function,
					   .library = library,
					   .domain = "mpi",
					   .signature = id % 2 ? NULL : function};
	return 0;
}

static int name_thread(void *context, uint64_t uid, char ret_name[HK_CHUNK_NAME_BYTES])
{
	(void)context;
	snprintf(ret_name, HK_CHUNK_NAME_BYTES, "thread-%u", (unsigned)uid);
	return uid == 2 ? -ENOENT : 0;
}

static struct hk_chunk_writer *writer_new(bool uncompressed)
{
	const struct hk_chunk_options options = {.ticks_per_ns = MODEL_TICKS_PER_NS,
						 .uncompressed = uncompressed,
						 .names = {NULL, name_site, name_thread}};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);

	assert_non_null(writer);
	return writer;
}

/* A chunk of one chain with `calls` calls or more; the caller frees it. */
static uint8_t *make_chunk(struct hk_chunk_writer *writer, struct model *model,
			   struct model_chain *chain, size_t calls, size_t *ret_size)
{
	const void *bytes;
	size_t consumed, size;

	hk_chunk_writer_begin(writer, process, 7);
	while (model->count < calls) {
		model_make_call(model, chain, 0);
	}
	assert_int_equal(
	    hk_chunk_writer_add(writer, &chain->position, chain->words, chain->count, &consumed),
	    0);
	assert_int_equal(consumed, chain->count);
	assert_int_equal(hk_chunk_writer_finish(writer, 11, &bytes, &size), 0);
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	*ret_size = size;
	return copy;
}

/* Both sections together must hold the model's calls, each section in the order of ends of its
 * lanes. */
static void check_records(struct hk_chunk_reader *reader, const struct model *model)
{
	const struct hk_record *records[2];
	size_t counts[2], next[2] = {0, 0};

	assert_int_equal(hk_chunk_reader_records(reader, HK_SECTION_LANES, &records[0], &counts[0]),
			 0);
	assert_int_equal(
	    hk_chunk_reader_records(reader, HK_SECTION_LONG_LANES, &records[1], &counts[1]), 0);
	for (size_t i = 0; i < model->count; i++) {
		int is_long = model->calls[i].duration > 20000000;
		assert_true(next[is_long] < counts[is_long]);
		struct model_call got = model_of(&records[is_long][next[is_long]++]);
		assert_memory_equal(&got, &model->calls[i], sizeof(got));
	}
	assert_int_equal(next[0], counts[0]);
	assert_int_equal(next[1], counts[1]);
}

static void check_header(const struct hk_chunk_header *header, const struct model *model)
{
	uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
	double last = 0;

	for (size_t i = 0; i < model->count; i++) {
		const struct model_call *call = &model->calls[i];
		uint64_t *start = &least[call->duration > 20000000];
		double end = (double)call->start + (double)call->duration * MODEL_TICKS_PER_NS;
		*start = call->start < *start ? call->start : *start;
		last = end > last ? end : last;
	}
	assert_true(header->lanes_min_start_ticks == least[0]);
	assert_true(header->long_min_start_ticks == least[1]);
	assert_true(header->min_start_ticks == (least[0] < least[1] ? least[0] : least[1]));
	double off = (double)header->max_end_ticks - last;
	assert_true(off * off <= last * 1e-9 * last * 1e-9 + 4);
	assert_int_equal(header->number, 7);
	assert_int_equal(header->lost_records, 11);
	assert_memory_equal(header->process, process, sizeof(process));
	assert_int_equal(header->records + header->long_records, model->count);
}

static void round_trip(bool uncompressed)
{
	struct hk_chunk_writer *writer = writer_new(uncompressed);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();

	/* The same writer and reader again and again: nothing of a chunk may leak into the next. */
	for (int round = 0; round < 60; round++) {
		struct model model = {0};
		struct model_chain chain;
		size_t size;
		model_chain_begin(&chain, 3, model_random() >> 10);
		uint8_t *bytes =
		    make_chunk(writer, &model, &chain, model_below(3) * 900 + 1, &size);
		assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
		check_records(reader, &model);
		check_header(hk_chunk_reader_header(reader), &model);
		free(bytes);
		free(model.calls);
		model_chain_end(&chain);
	}
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

static void test_records_come_back(void **state)
{
	(void)state;
	round_trip(false);
	round_trip(true);
}

#define FULL_WORDS (2u * HK_CHUNK_RECORDS_MAX)

/* A chunk of calls that begin one every `gap_ns` and last `least` + (0 .. `spread` - 1) ns. */
struct series {
	size_t count;
	double gap_ns;
	uint64_t least, spread;
};

/* Writes such a chunk, reads it back, and returns the bytes of a record in it. */
static double stored_bytes(const struct series *series)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct hk_chunk_position chain = {.thread = 1, .tid = 1};
	const size_t word_count = 2 * series->count;
	uint64_t *words = calloc(word_count, sizeof(*words));
	const struct hk_record *records;
	size_t consumed, size, count;
	const void *bytes;

	assert_non_null(words);
	for (size_t i = 0; i < series->count; i++) {
		words[2 * i] = 1000 + i * (uint64_t)(series->gap_ns * MODEL_TICKS_PER_NS);
		words[2 * i + 1] =
		    (series->least + model_below(series->spread)) | 5ull << 32 | 1ull << 52;
	}
	hk_chunk_writer_begin(writer, process, 1);
	assert_int_equal(hk_chunk_writer_add(writer, &chain, words, word_count, &consumed), 0);
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);
	assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
	assert_int_equal(hk_chunk_reader_records(reader, HK_SECTION_LANES, &records, &count), 0);
	assert_int_equal(count, series->count);
	for (size_t i = 0; i < count; i++) {
		assert_true(records[i].start_ticks == words[2 * i]);
		assert_true(records[i].duration_ns == (words[2 * i + 1] & UINT32_MAX));
	}
	free(words);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
	return (double)size / (double)count;
}

static void test_numbers_take_the_room_they_need(void **state)
{
	struct series series = {HK_CHUNK_RECORDS_MAX, 2500, 700, 1};

	(void)state;
	/* Each byte of a number is coded by itself: of the two of a start and of a duration, which
	 * are always the same, each takes a bit. */
	assert_true(stored_bytes(&series) < 0.7);
	/* One of eight: three bits instead of two. */
	series.least = 100;
	series.spread = 8;
	assert_true(stored_bytes(&series) < 0.8);
	/* All 21 bits are random: nothing can be saved, and little may be added. */
	series.least = 0;
	series.spread = 1 << 21;
	assert_true(stored_bytes(&series) < 3.4);
}

static void test_numbers_that_come_fast_are_stored(void **state)
{
	struct series series = {HK_CHUNK_RECORDS_MAX, 1000, 700, 1};

	(void)state;
	/* Two bytes of a start, two of a duration. */
	double bytes = stored_bytes(&series);
	assert_true(bytes > 4.0 && bytes < 4.1);
	/* A burst is soon over: there is time for it. */
	series.count = 20000;
	series.gap_ns = 100;
	assert_true(stored_bytes(&series) < 0.7);
}

static bool has_extra_words(const struct model *model, uint32_t site)
{
	for (size_t i = 0; i < model->count; i++) {
		if (model->calls[i].site == site && model->calls[i].word_count > 2) {
			return true;
		}
	}
	return false;
}

static void test_definitions_and_names_come_back(void **state)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct model model = {0};
	struct model_chain chain;
	const struct hk_chunk_thread *threads;
	const struct hk_chunk_site *sites;
	size_t size, count;
	bool seen[2] = {false, false};

	(void)state;
	model_chain_begin(&chain, 0, 1000);
	for (uint64_t uid = 1; uid <= 3; uid++) {
		model_switch(&chain, uid, (uint32_t)uid * 10);
		model_make_call(&model, &chain, 0);
	}
	uint8_t *bytes = make_chunk(writer, &model, &chain, 400, &size);
	assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
	check_records(reader, &model);
	assert_int_equal(hk_chunk_reader_threads(reader, &threads, &count), 0);
	assert_int_equal(count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(threads[i].uid, i + 1);
		assert_int_equal(threads[i].tid, (i + 1) * 10);
		assert_string_equal(threads[i].name, i == 0   ? "thread-1"
						     : i == 1 ? ""
							      : "thread-3");
	}
	assert_int_equal(hk_chunk_reader_sites(reader, &sites, &count), 0);
	for (size_t i = 0; i < count; i++) {
		struct hk_chunk_site truth = {0};
		bool known = name_site(NULL, sites[i].id, &truth) == 0;
		assert_string_equal(sites[i].function, known ? truth.function : "");
		assert_int_equal(strlen(sites[i].library), !known ? 0
							   : sites[i].id % 7 == 5
							       ? HK_CHUNK_STRING_MAX
							       : 20);
		assert_string_equal(sites[i].domain, known ? "mpi" : "");
		assert_int_equal(sites[i].flags, truth.flags);
		assert_int_equal(sites[i].meaning, truth.meaning);
		assert_int_equal(sites[i].key_count, truth.key_count);
		assert_memory_equal(sites[i].keys, truth.keys, sizeof(truth.keys));
		/* Only records with more words than keys need their signature. */
		bool wanted = known && truth.signature && has_extra_words(&model, sites[i].id);
		assert_int_equal(sites[i].signature != NULL, wanted);
		assert_true(!wanted || strcmp(sites[i].signature, truth.signature) == 0);
		seen[wanted] = true;
	}
	assert_true(seen[0] && seen[1]);
	for (size_t i = 0; i < model.count; i++) {
		size_t found = 0;
		for (size_t k = 0; k < count; k++) {
			found += sites[k].id == model.calls[i].site;
		}
		assert_int_equal(found, 1);
	}
	free(bytes);
	free(model.calls);
	model_chain_end(&chain);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

static void test_positions_follow_the_words(void **state)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	const struct hk_chunk_position *positions;
	struct model model = {0};
	struct model_chain chain;
	const void *bytes;
	size_t consumed, size, count;

	(void)state;
	model_chain_begin(&chain, 5, 1000);
	chain.position.position = 4096;
	model_make_call(&model, &chain, 0);
	model_switch(&chain, 77, 78);
	hk_chunk_writer_begin(writer, process, 1);
	assert_int_equal(
	    hk_chunk_writer_add(writer, &chain.position, chain.words, chain.count, &consumed), 0);
	const struct hk_chunk_position other = {.slot = 6, .stream = 1, .position = 5, .thread = 9};
	assert_int_equal(hk_chunk_writer_mark(writer, &other), 0);
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);
	assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
	assert_int_equal(hk_chunk_reader_positions(reader, &positions, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(positions[0].slot, 5);
	assert_int_equal(positions[0].stream, 2);
	assert_int_equal(positions[0].position, 4096 + chain.count * 8);
	assert_int_equal(positions[0].thread, 77);
	assert_int_equal(positions[0].tid, 78);
	assert_memory_equal(&positions[1], &other, sizeof(other));

	/* A new chunk knows nothing of it. */
	hk_chunk_writer_begin(writer, process, 2);
	assert_int_equal(hk_chunk_writer_finish(writer, 5, &bytes, &size), 0);
	assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
	assert_int_equal(hk_chunk_reader_positions(reader, &positions, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(hk_chunk_reader_header(reader)->lost_records, 5);
	free(model.calls);
	model_chain_end(&chain);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

/* Adds good + bad and expects the bad words to be left. */
static void check_bad(const uint64_t *bad, size_t count)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct hk_chunk_position chain = {.slot = 1, .thread = 1, .tid = 1};
	uint64_t words[64] = {1000, 10ull | 1ull << 52};
	size_t consumed;

	memcpy(words + 2, bad, count * sizeof(*bad));
	hk_chunk_writer_begin(writer, process, 1);
	assert_int_equal(hk_chunk_writer_add(writer, &chain, words, 2 + count, &consumed),
			 -EBADMSG);
	assert_int_equal(consumed, 2);
	assert_int_equal(chain.position, 16);
	assert_int_equal(hk_chunk_writer_records(writer), 1);
	hk_chunk_writer_free(writer);
}

static void test_malformed_words_are_refused(void **state)
{
	const uint64_t call = 1ull << 52;
	uint64_t words[40] = {2000};

	(void)state;
	words[1] = 0;
	check_bad(words, 2);
	words[1] = 5;
	check_bad(words, 2);
	words[1] = call;
	check_bad(words, 1);
	words[1] = call | 3ull << 56;
	check_bad(words, 4);
	words[1] = call | 33ull << 56;
	check_bad(words, 40);
	words[1] = call | 0xffffffffull;
	check_bad(words, 2);
	words[1] = 3ull << 52 | 1ull << 56;
	check_bad(words, 3);
	words[1] = 3ull << 52 | 2ull << 56;
	words[2] = 1ull << 56;
	check_bad(words, 4);
	words[2] = 4;
	words[3] = 1ull << 32;
	check_bad(words, 4);
}

static void test_a_full_chunk_refuses_and_the_next_goes_on(void **state)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct hk_chunk_position chain = {.slot = 1, .thread = 1, .tid = 1};
	uint64_t record[34] = {1000, 10ull | 1ull << 52};
	const void *bytes;
	size_t consumed, size;

	(void)state;
	hk_chunk_writer_begin(writer, process, 1);
	for (unsigned i = 0; i < HK_CHUNK_RECORDS_MAX; i++) {
		assert_int_equal(hk_chunk_writer_add(writer, &chain, record, 2, &consumed), 0);
	}
	assert_int_equal(hk_chunk_writer_add(writer, &chain, record, 2, &consumed), -ENOSPC);
	assert_int_equal(consumed, 0);
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);

	/* Words fill it too: 32 random ones a record. */
	hk_chunk_writer_begin(writer, process, 2);
	record[1] |= 32ull << 56;
	for (unsigned i = 0; i < HK_CHUNK_WORDS_MAX / 32; i++) {
		for (unsigned w = 2; w < 34; w++) {
			record[w] = model_random();
		}
		assert_int_equal(hk_chunk_writer_add(writer, &chain, record, 34, &consumed), 0);
	}
	assert_int_equal(hk_chunk_writer_add(writer, &chain, record, 34, &consumed), -ENOSPC);
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);
	assert_true(size < HK_CHUNK_WORDS_MAX * 10);

	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	const struct hk_record *records;
	assert_int_equal(hk_chunk_reader_open(reader, bytes, size), 0);
	assert_int_equal(hk_chunk_reader_records(reader, HK_SECTION_LANES, &records, &size), 0);
	assert_int_equal(size, HK_CHUNK_WORDS_MAX / 32);
	assert_memory_equal(records[size - 1].words, record + 2, 32 * 8);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

static void test_every_bit_flip_and_every_cut_is_noticed(void **state)
{
	struct hk_chunk_writer *writer = writer_new(false);
	struct model model = {0};
	struct model_chain chain;
	struct hk_chunk_header header;
	size_t size;

	(void)state;
	model_chain_begin(&chain, 0, 1000);
	uint8_t *bytes = make_chunk(writer, &model, &chain, 60, &size);
	assert_int_equal(hk_chunk_header_verify(bytes, size, &header), 0);
	for (size_t bit = 0; bit < size * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_true(hk_chunk_header_verify(bytes, size, &header) < 0);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (size_t cut = 0; cut < size; cut++) {
		assert_true(hk_chunk_header_verify(bytes, cut, &header) < 0);
	}
	/* An unknown version without a checksum is damage, a sealed one is newer. */
	bytes[8] = 3;
	assert_int_equal(hk_chunk_header_verify(bytes, size, &header), -EBADMSG);
	hk_chunk_header_seal(bytes, size);
	assert_int_equal(hk_chunk_header_verify(bytes, size, &header), -EPROTO);
	free(bytes);
	free(model.calls);
	model_chain_end(&chain);
	hk_chunk_writer_free(writer);
}

/* Damage under a right checksum, as only malice makes it: an error or some records, nothing else.
 */
static void test_sealed_damage_is_survived(void **state)
{
	struct hk_chunk_writer *writer = writer_new(true);
	struct hk_chunk_reader *reader = hk_chunk_reader_new();
	struct model model = {0};
	struct model_chain chain;
	size_t size, refused = 0;

	(void)state;
	model_chain_begin(&chain, 0, 1000);
	uint8_t *bytes = make_chunk(writer, &model, &chain, 60, &size);
	uint8_t *bad = malloc(size);
	for (int i = 0; i < 20000; i++) {
		const struct hk_record *records;
		const struct hk_chunk_site *sites;
		const struct hk_chunk_position *positions;
		size_t count;
		memcpy(bad, bytes, size);
		for (uint64_t n = 1 + model_below(3); n; n--) {
			size_t at = 128 + model_below(model_below(2) ? 128 : size - 128);
			bad[at] = (uint8_t)(model_below(2) ? model_random() : bad[at] + 1u);
		}
		hk_chunk_header_seal(bad, size);
		refused +=
		    hk_chunk_reader_open(reader, bad, size) < 0 ||
		    hk_chunk_reader_positions(reader, &positions, &count) < 0 ||
		    hk_chunk_reader_sites(reader, &sites, &count) < 0 ||
		    hk_chunk_reader_records(reader, HK_SECTION_LONG_LANES, &records, &count) < 0 ||
		    hk_chunk_reader_records(reader, HK_SECTION_LANES, &records, &count) < 0;
	}
	assert_true(refused > 5000);
	free(bad);
	free(bytes);
	free(model.calls);
	model_chain_end(&chain);
	hk_chunk_reader_free(reader);
	hk_chunk_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_records_come_back),
	    cmocka_unit_test(test_numbers_take_the_room_they_need),
	    cmocka_unit_test(test_numbers_that_come_fast_are_stored),
	    cmocka_unit_test(test_definitions_and_names_come_back),
	    cmocka_unit_test(test_positions_follow_the_words),
	    cmocka_unit_test(test_malformed_words_are_refused),
	    cmocka_unit_test(test_a_full_chunk_refuses_and_the_next_goes_on),
	    cmocka_unit_test(test_every_bit_flip_and_every_cut_is_noticed),
	    cmocka_unit_test(test_sealed_damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
