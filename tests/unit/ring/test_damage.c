/* Segments that lie, are cut, or shrink under the reader: an error or less to read, never a crash,
 * never nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "segment_maker.h"
#include "segment_walk.h"

static struct segment_maker maker;

/* What segment_maker_fill puts there: 18 pages, in 6 of them one switch of 2 words payload. */
#define FILL_WORDS (18u * (40u * 2u + 60u) - 6u * (2u + 0u))

static int setup(void **state)
{
	(void)state;
	segment_maker_init(&maker, 64);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	segment_maker_fini(&maker);
	return 0;
}

static struct segment_walk walk(void)
{
	return segment_walk_file(maker.dirfd, maker.name);
}

static void test_good_segment_is_read_whole(void **state)
{
	(void)state;
	segment_maker_fill(&maker);
	struct segment_walk seen = walk();
	assert_int_equal(seen.status, 0);
	assert_int_equal(seen.sites, 3);
	assert_int_equal(seen.cells, 9);
	assert_int_equal(seen.octaves, 9);
	assert_int_equal(seen.threads, 3);
	/* One run per page, one more for each switch in the middle of one. */
	assert_int_equal(seen.runs, 24);
	assert_int_equal(seen.words, FILL_WORDS);
	assert_int_equal(seen.lies, 0);
	assert_int_equal(seen.frames, 3);
	assert_int_equal(seen.objects, 1);
	assert_int_equal(seen.codes, 2);
	assert_int_equal(seen.damage, 0);
}

static void test_checked_header_fields(void **state)
{
#define FIELD(name, value, error)                                               \
	{                                                                       \
		offsetof(struct hk_segment_header, name),                       \
		    sizeof(((struct hk_segment_header *)0)->name), value, error \
	}
	static const struct {
		size_t offset, size;
		uint64_t value;
		int error;
	} fields[] = {
	    FIELD(magic, 1, -EPROTO),
	    FIELD(magic, 0, -EAGAIN),
	    FIELD(major, 0, -EPROTONOSUPPORT),
	    FIELD(major, 2, -EPROTONOSUPPORT),
	    FIELD(features, 1ull << 63, -EPROTONOSUPPORT),
	    FIELD(header_bytes, 0, -EPROTO),
	    FIELD(header_bytes, 8192, -EPROTO),
	    FIELD(block_bytes, 4096, -EPROTO),
	    FIELD(block_bytes, 0, -EPROTO),
	    FIELD(blocks_max, 0, -EPROTO),
	    FIELD(blocks_max, HK_SEGMENT_BLOCKS_MAX + 1, -EPROTO),
	    FIELD(blocks_max, UINT32_MAX, -EPROTO),
	    FIELD(blocks_max, 3, -EPROTO), /* fewer than there are */
	    FIELD(cell_stride, 0, -EPROTO),
	    FIELD(cell_stride, 328, -EPROTO),
	    FIELD(thread_stride, 0, -EPROTO),
	    FIELD(site_stride, 57, -EPROTO),
	    FIELD(open_calls, 17, -EPROTO),
	    FIELD(uid[3], 77, -EPROTO),
	    FIELD(clock_kind, 0, -EPROTO),
	    FIELD(clock_kind, 3, -EPROTO),
	    FIELD(tick_ns_q32, 0, -EPROTO),
	    FIELD(tick_ns_q32, UINT64_MAX, -EPROTO),
	    FIELD(blocks, 0, -EPROTO),
	    FIELD(blocks, UINT32_MAX, -EPROTO),
	    FIELD(blocks, 60, -EPROTO), /* more than the file has */
	    FIELD(minor, 9, 0),
	};

	(void)state;
	segment_maker_fill(&maker);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t saved = 0;
		char *at = maker.map + fields[i].offset;
		memcpy(&saved, at, fields[i].size);
		memcpy(at, &fields[i].value, fields[i].size);
		print_message("field at %zu\n", fields[i].offset);
		assert_int_equal(walk().status, fields[i].error);
		memcpy(at, &saved, fields[i].size);
	}
	assert_int_equal(walk().status, 0);
}

/* Every word of the header, with values that hurt: whatever opens must walk. */
static void test_every_header_word(void **state)
{
	static const uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX, 0x01010101};

	(void)state;
	segment_maker_fill(&maker);
	for (size_t at = 0; at < sizeof(struct hk_segment_header); at += sizeof(uint32_t)) {
		uint32_t saved;
		memcpy(&saved, maker.map + at, sizeof(saved));
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
			memcpy(maker.map + at, &values[i], sizeof(values[i]));
			walk();
		}
		memcpy(maker.map + at, &saved, sizeof(saved));
	}
	/* What was read was given back; the last page of each chain is the agent's. */
	assert_int_equal(walk().words, 6 * 140);
}

static void test_identity_without_terminators(void **state)
{
	struct hk_segment_header *header = segment_maker_header(&maker);
	struct hk_reader *reader;

	(void)state;
	memset(header->job, 'j',
	       offsetof(struct hk_segment_header, blocks) -
		   offsetof(struct hk_segment_header, job));
	header->rank = -7;
	header->world_size = 0;
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	assert_int_equal(strlen(identity->job), sizeof(identity->job) - 1);
	assert_int_equal(strlen(identity->command), sizeof(identity->command) - 1);
	assert_int_equal(strlen(identity->note), sizeof(identity->note) - 1);
	assert_int_equal(identity->rank, -1);
	assert_int_equal(identity->world_size, -1);
	hk_reader_free(reader);
}

static void test_cut_files(void **state)
{
	(void)state;
	segment_maker_fill(&maker);
	uint32_t blocks = segment_maker_header(&maker)->blocks;
	for (uint32_t keep = blocks; keep-- > 0;) {
		assert_int_equal(ftruncate(maker.fd, (off_t)keep * HK_BLOCK_BYTES), 0);
		assert_int_equal(walk().status, keep ? -EPROTO : -EAGAIN);
	}
}

/* The file shrinks while it is read. What was mapped and is gone must not be touched, or be caught.
 */
static void test_file_shrinks_under_reader(void **state)
{
	(void)state;
	segment_maker_fill(&maker);
	uint32_t blocks = segment_maker_header(&maker)->blocks;
	for (uint32_t keep = 0; keep < blocks; keep++) {
		struct segment_walk seen = {0};
		struct hk_reader *reader;
		assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
		if (keep % 2) {
			segment_walk_reader(reader, &seen);
		}
		assert_int_equal(ftruncate(maker.fd, (off_t)keep * HK_BLOCK_BYTES), 0);
		segment_walk_reader(reader, &seen);
		assert_int_equal(seen.status, -ESTALE);
		hk_reader_release(reader);
		/* Growing again does not bring it back. */
		assert_int_equal(ftruncate(maker.fd, (off_t)blocks * HK_BLOCK_BYTES), 0);
		segment_walk_reader(reader, &seen);
		assert_int_equal(seen.status, -ESTALE);
		hk_reader_free(reader);
		teardown(NULL);
		setup(NULL);
		segment_maker_fill(&maker);
	}
}

/* As before, but between a refresh that was well and the reads that follow: the fault itself. */
static void test_fault_in_every_read(void **state)
{
	struct hk_cell_copy cell;
	struct hk_thread_copy thread;
	struct hk_run run;
	uint64_t buckets[HK_OCTAVE_BUCKETS];

	(void)state;
	for (int which = 0; which < 8; which++) {
		uint64_t cursor = 0;
		struct hk_reader *reader;
		struct hk_segment_status status;

		segment_maker_fill(&maker);
		assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
		assert_int_equal(hk_reader_next_cell(reader, &cursor, &cell), 1);
		cursor = 0;
		assert_int_equal(ftruncate(maker.fd, 0), 0);
		switch (which) {
		case 0:
			assert_int_equal(hk_reader_next_cell(reader, &cursor, &cell), -ESTALE);
			break;
		case 1:
			assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), -ESTALE);
			break;
		case 2:
			assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), -ESTALE);
			break;
		case 3:
			assert_int_equal(hk_reader_octave(reader, cell.octave[5], buckets),
					 -ESTALE);
			break;
		case 4:
			assert_null(hk_reader_site(reader, 0));
			break;
		case 5:
			hk_reader_beat(reader, 1, 2);
			break;
		case 6:
			hk_reader_raise_generation(reader);
			break;
		default:
			hk_reader_release(reader);
			break;
		}
		assert_int_equal(hk_reader_refresh(reader, &status), -ESTALE);
		assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), -ESTALE);
		hk_reader_free(reader);
		teardown(NULL);
		setup(NULL);
	}
}

static void test_block_count_must_not_fall(void **state)
{
	struct hk_reader *reader;
	struct hk_segment_status status;

	(void)state;
	segment_maker_fill(&maker);
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
	segment_maker_header(&maker)->blocks--;
	assert_int_equal(hk_reader_refresh(reader, &status), -ESTALE);
	hk_reader_free(reader);
}

/* Words of one chain of the filled segment, of one of its pages, and of the first page's records
 * but the last. */
#define CHAIN_WORDS (3u * 140u - 2u)
#define PAGE_WORDS 140u
#define BEFORE_LAST_WORDS 135u

/* A chain of three pages about to be broken: WORDS of it may still be read. */
struct victim {
	struct hk_thread_slot *slot;
	struct hk_page *first, *second;
	uint32_t first_number, second_number;
	uint64_t words;
};

static void link_to_itself(struct victim *victim)
{
	victim->first->written = 0;
	victim->first->next = victim->first_number;
}

static void link_in_a_ring(struct victim *victim)
{
	victim->first->written = 0;
	victim->second->written = 0;
	victim->second->position = 0;
	victim->second->state = HK_PAGE_FULL;
	victim->second->next = victim->first_number;
}

static void skip_a_page(struct victim *victim)
{
	victim->first->next = victim->second_number + 1;
	victim->words = PAGE_WORDS;
}

static void end_when_full(struct victim *victim)
{
	victim->first->next = 0;
	victim->words = PAGE_WORDS;
}

static void link_beyond_the_file(struct victim *victim)
{
	victim->first->next = UINT32_MAX;
	victim->words = PAGE_WORDS;
}

static void shift_position(struct victim *victim)
{
	victim->second->position += 8;
	victim->words = PAGE_WORDS;
}

static void take_foreign_page(struct victim *victim)
{
	victim->second->slot = 1;
	victim->words = PAGE_WORDS;
}

static void take_foreign_stream(struct victim *victim)
{
	victim->second->stream = 2;
	victim->words = PAGE_WORDS;
}

static void take_free_page(struct victim *victim)
{
	victim->second->state = HK_PAGE_FREE;
	victim->words = PAGE_WORDS;
}

static void start_in_another_kind(struct victim *victim)
{
	victim->slot->chain[0].first = 1;
}

static void start_beyond_the_file(struct victim *victim)
{
	victim->slot->chain[0].first = UINT32_MAX;
}

static void write_beyond_the_page(struct victim *victim)
{
	victim->first->written = HK_PAGE_BODY_BYTES + 8;
}

static void write_part_of_a_word(struct victim *victim)
{
	victim->first->written -= 1;
}

static void record_of_no_kind(struct victim *victim)
{
	victim->first->body[1] = 0;
}

/* The last record of the page has 3 words of payload, and now claims 4. */
static void record_beyond_written(struct victim *victim)
{
	victim->first->body[victim->first->written / 8 - 4] += 1ull << 56;
	victim->words = BEFORE_LAST_WORDS;
}

static void escape_without_duration(struct victim *victim)
{
	victim->first->body[1] |= UINT32_MAX;
}

static void switch_without_thread(struct victim *victim)
{
	victim->first->body[1] = hk_record_word1(0, 0, HK_RECORD_THREAD, 0);
}

static struct victim choose_victim(void)
{
	struct hk_block *threads = segment_maker_block(&maker, maker.open_block[HK_BLOCK_THREADS]);
	struct hk_thread_slot *slot = (void *)((char *)threads + threads->offset);
	struct victim victim = {.slot = slot, .first_number = slot->chain[0].first};

	victim.first = segment_maker_page_at(&maker, victim.first_number);
	victim.second_number = victim.first->next;
	victim.second = segment_maker_page_at(&maker, victim.second_number);
	return victim;
}

/* One chain is broken in some way; it is abandoned, all others are read. */
static void test_broken_chain_is_abandoned_alone(void **state)
{
	static void (*const breaks[])(struct victim *) = {
	    link_to_itself,	     link_in_a_ring,	    skip_a_page,
	    end_when_full,	     link_beyond_the_file,  shift_position,
	    take_foreign_page,	     take_foreign_stream,   take_free_page,
	    start_in_another_kind,   start_beyond_the_file, write_beyond_the_page,
	    write_part_of_a_word,    record_of_no_kind,	    record_beyond_written,
	    escape_without_duration, switch_without_thread};

	(void)state;
	for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		segment_maker_fill(&maker);
		struct victim victim = choose_victim();
		breaks[i](&victim);
		print_message("break %zu\n", i);
		struct segment_walk seen = walk();
		assert_int_equal(seen.status, 0);
		assert_true(seen.lies <= 1);
		assert_int_equal(seen.damage, 1);
		/* Nothing before the lie is lost. */
		assert_int_equal(seen.words, FILL_WORDS - CHAIN_WORDS + victim.words);
		teardown(NULL);
		setup(NULL);
	}
}

static void test_bad_strings_and_sites(void **state)
{
	(void)state;
	segment_maker_fill(&maker);
	struct hk_block *strings = segment_maker_block(&maker, maker.open_block[HK_BLOCK_STRINGS]);
	struct hk_block *sites = segment_maker_block(&maker, maker.open_block[HK_BLOCK_SITES]);
	uint32_t base = maker.open_block[HK_BLOCK_STRINGS] * HK_BLOCK_BYTES;
	struct hk_site *site = (void *)((char *)sites + sites->offset);
	uint32_t good = site->function;
	const uint32_t offsets[] = {1,
				    63,
				    64,
				    base,
				    base + 62,
				    good + 1,
				    base + HK_BLOCK_BYTES - 2,
				    base + strings->offset + strings->used,
				    UINT32_MAX,
				    (uint32_t)((char *)sites - maker.map) + 64};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		site->function = offsets[i];
		struct segment_walk seen = walk();
		print_message("offset %zu\n", i);
		assert_int_equal(seen.sites, 2);
		assert_true(seen.damage > 0);
	}
	site->function = good;
	char *text = maker.map + good;
	static const uint16_t lengths[] = {7, 9, 1024, UINT16_MAX};
	uint16_t length;
	memcpy(&length, text, sizeof(length));
	assert_int_equal(length, 8);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memcpy(text, &lengths[i], sizeof(length));
		assert_int_equal(walk().sites, 2);
	}
	memcpy(text, &length, sizeof(length));
	text[4] = '\0';
	assert_int_equal(walk().sites, 2);
	text[4] = 'I';
	assert_int_equal(walk().sites, 3);
	/* Ids beyond what the blocks can hold, and twice the same. */
	site->id = HK_SITES_MAX - 1;
	segment_maker_header(&maker)->sites = UINT32_MAX;
	assert_int_equal(walk().sites, 2);
	site->id = 1;
	assert_int_equal(walk().sites, 2);
}

static void test_bad_python_functions_have_no_texts(void **state)
{
	struct hk_reader *reader;
	struct hk_segment_status status;
	struct hk_code_copy code;
	uint32_t number = 0;

	(void)state;
	segment_maker_code(&maker, "a.py", "good", 3);
	segment_maker_code(&maker, "a.py", "bad", 4)->file = 63;
	segment_maker_code(&maker, "a.py", "worse", UINT32_MAX)->name = UINT32_MAX;
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
	assert_int_equal(hk_reader_next_code(reader, &number, &code), 1);
	assert_string_equal(code.file, "a.py");
	assert_string_equal(code.name, "good");
	assert_int_equal(hk_reader_damage(reader), 0);
	assert_int_equal(hk_reader_next_code(reader, &number, &code), 1);
	assert_string_equal(code.file, "");
	assert_string_equal(code.name, "bad");
	assert_int_equal(hk_reader_next_code(reader, &number, &code), 1);
	assert_string_equal(code.name, "");
	assert_int_equal(code.first_line, UINT32_MAX);
	assert_int_equal(hk_reader_damage(reader), 2);
	assert_int_equal(hk_reader_next_code(reader, &number, &code), 0);
	assert_int_equal(number, 3);
	hk_reader_free(reader);
}

static uint64_t roll(uint64_t *seed, uint64_t limit)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % limit;
}

static void test_random_damage(void **state)
{
	uint64_t seed = 20261120;

	(void)state;
	segment_maker_fill(&maker);
	size_t bytes = (size_t)segment_maker_header(&maker)->blocks * HK_BLOCK_BYTES;
	char *good = malloc(bytes);
	memcpy(good, maker.map, bytes);
	uint32_t opened = 0;
	for (int round = 0; round < 3000; round++) {
		uint64_t count = 1 + roll(&seed, 12);
		while (count-- > 0) {
			/* Near the start of a block, where its structure is, or in the header. */
			size_t at =
			    roll(&seed, 4) ? roll(&seed, bytes / HK_BLOCK_BYTES - 1) + 1 : 0;
			at = at * HK_BLOCK_BYTES + roll(&seed, roll(&seed, 2) ? 256 : 4096);
			maker.map[at] = roll(&seed, 2)
					    ? (char)roll(&seed, 256)
					    : (char)(maker.map[at] ^ 1 << roll(&seed, 8));
		}
		opened += walk().status == 0;
		memcpy(maker.map, good, bytes);
	}
	/* The damage must reach beyond the header to mean anything. */
	assert_true(opened > 1000);
	assert_true(opened < 3000);
	assert_int_equal(walk().words, FILL_WORDS);
	free(good);
}

int main(void)
{
#define DAMAGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    DAMAGE_TEST(test_good_segment_is_read_whole),
	    DAMAGE_TEST(test_checked_header_fields),
	    DAMAGE_TEST(test_every_header_word),
	    DAMAGE_TEST(test_identity_without_terminators),
	    DAMAGE_TEST(test_cut_files),
	    DAMAGE_TEST(test_file_shrinks_under_reader),
	    DAMAGE_TEST(test_fault_in_every_read),
	    DAMAGE_TEST(test_block_count_must_not_fall),
	    DAMAGE_TEST(test_broken_chain_is_abandoned_alone),
	    DAMAGE_TEST(test_bad_strings_and_sites),
	    DAMAGE_TEST(test_bad_python_functions_have_no_texts),
	    DAMAGE_TEST(test_random_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
