/* Chains of record pages against a model: every committed record once, in order, after any kill;
 * pages come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/reader.h"
#include "segment_maker.h"

#define PAGES 24u
#define MODEL_WORDS (1u << 21)

static struct segment_maker maker;
static struct hk_reader *reader;

/* What one chain must deliver: words and the thread that wrote each. */
struct model {
	struct hk_thread_slot *thread;
	uint32_t slot, stream;
	uint32_t page; /* being written, 0: none yet */
	uint64_t owner;
	uint64_t *words, *owners;
	size_t written, read;
	uint64_t end_position; /* after what was read */
	uint64_t spooled_position;
	size_t spooled;
};

static uint64_t seed;

static uint64_t roll(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

static int setup(void **state)
{
	(void)state;
	segment_maker_init(&maker, 256);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hk_reader_free(reader);
	reader = NULL;
	segment_maker_fini(&maker);
	return 0;
}

static void open_reader(void)
{
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), 0);
}

static void refresh(void)
{
	struct hk_segment_status status;
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
}

static void model_init(struct model *model, uint32_t slot, uint32_t stream)
{
	*model = (struct model){.slot = slot, .stream = stream, .owner = slot + 1};
	model->words = malloc(MODEL_WORDS * sizeof(uint64_t));
	model->owners = malloc(MODEL_WORDS * sizeof(uint64_t));
}

static void model_fini(struct model *model)
{
	free(model->words);
	free(model->owners);
}

/* A page in the chain: one that came back, or a new one while there may be more. 0: none. */
static uint32_t extend(struct model *model)
{
	struct hk_segment_header *header = segment_maker_header(&maker);
	uint32_t pages = 0;

	for (uint32_t number = 1; number < header->blocks; number++) {
		struct hk_page *page = segment_maker_page_at(&maker, number);
		if (page->block.kind != HK_BLOCK_PAGE) {
			continue;
		}
		pages++;
		if (page->state != HK_PAGE_FREE) {
			continue;
		}
		assert_int_equal(page->written, 0);
		assert_int_equal(page->next, 0);
		page->slot = model->slot;
		page->stream = model->stream;
		page->thread = model->owner;
		page->tid = (uint32_t)model->owner + 1000;
		page->position = 0;
		page->state = HK_PAGE_ACTIVE;
		if (model->page) {
			struct hk_page *before = segment_maker_page_at(&maker, model->page);
			page->position = before->position + before->written;
			before->next = number;
			before->state = HK_PAGE_FULL;
		} else {
			model->thread->chain[model->stream].first = number;
		}
		return model->page = number;
	}
	if (pages == PAGES) {
		return 0;
	}
	struct hk_thread_slot owner = *model->thread;
	owner.uid = model->owner;
	owner.tid = (uint32_t)model->owner + 1000;
	uint32_t number =
	    segment_maker_page(&maker, &owner, model->slot, model->stream, model->page);
	if (!model->page) {
		model->thread->chain[model->stream].first = number;
	}
	return model->page = number;
}

/* Writes one record, to the segment and to the model; drops it if no page is free. */
static void write_record(struct model *model, uint32_t kind, const uint64_t *words, uint32_t count)
{
	uint64_t start = roll(UINT64_MAX);
	uint32_t duration = (uint32_t)roll(1u << 30);
	uint32_t site = (uint32_t)roll(HK_SITES_MAX);

	if ((!model->page || !segment_maker_record(&maker, model->page, start, duration, site, kind,
						   words, count)) &&
	    (!extend(model) || !segment_maker_record(&maker, model->page, start, duration, site,
						     kind, words, count))) {
		return;
	}
	if (kind == HK_RECORD_THREAD) {
		model->owner = words[0];
		return;
	}
	assert_true(model->written + 2 + count <= MODEL_WORDS);
	const uint64_t record[2] = {start, hk_record_word1(duration, site, kind, count)};
	for (uint32_t i = 0; i < 2 + count; i++) {
		model->words[model->written] = i < 2 ? record[i] : words[i - 2];
		model->owners[model->written++] = model->owner;
	}
}

static void write_some(struct model *model, uint32_t records)
{
	uint64_t words[HK_RECORD_WORDS_MAX];

	while (records-- > 0) {
		for (uint32_t i = 0; i < HK_RECORD_WORDS_MAX; i++) {
			words[i] = roll(UINT64_MAX);
		}
		if (roll(50) == 0) {
			words[0] = roll(1000);
			words[1] = words[0] + 1000;
			write_record(model, HK_RECORD_THREAD, words, 2);
			continue;
		}
		/* One of its kind and size, or a row of them. */
		uint32_t kind = roll(10) ? HK_RECORD_CALL : HK_RECORD_UNWOUND;
		uint32_t count = (uint32_t)roll(roll(8) ? 4 : HK_RECORD_WORDS_MAX + 1);
		for (uint64_t row = roll(20) ? 1 : 1 + roll(100); row > 0; row--) {
			write_record(model, kind, words, count);
		}
	}
}

/* Reads what is there, at most RUNS runs, and compares. */
static void read_some(struct model *model, uint32_t runs)
{
	struct hk_run run;

	while (runs-- > 0) {
		int status = hk_reader_next_run(reader, model->slot, model->stream, &run);
		if (status == 0) {
			assert_int_equal(model->read, model->written);
			return;
		}
		assert_int_equal(status, 1);
		assert_int_equal(run.slot, model->slot);
		assert_int_equal(run.stream, model->stream);
		assert_true(run.word_count > 0 && run.word_count <= model->written - model->read);
		assert_memory_equal(run.words, model->words + model->read,
				    run.word_count * sizeof(uint64_t));
		for (size_t i = 0; i < run.word_count; i++) {
			assert_int_equal(model->owners[model->read + i], run.thread);
		}
		if (run.thread > model->slot + 1) {
			assert_int_equal(run.tid, run.thread + 1000);
		}
		assert_true(run.end_position > model->end_position);
		model->end_position = run.end_position;
		model->read += run.word_count;
	}
}

static uint64_t chunks, restarts;

static void spool(struct model *models, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		models[i].spooled = models[i].read;
		models[i].spooled_position = models[i].end_position;
	}
	hk_reader_note(reader, ++chunks);
	hk_reader_release(reader);
}

/* The collector dies: a new one continues behind the spooled records, by chunks or by notes. */
static void restart(struct model *models, size_t count)
{
	hk_reader_free(reader);
	open_reader();
	for (size_t i = 0; i < count; i++) {
		models[i].read = models[i].spooled;
		models[i].end_position = models[i].spooled_position;
		if (restarts % 2 == 0) {
			hk_reader_seek(reader, models[i].slot, models[i].stream,
				       models[i].spooled_position);
		}
	}
	if (restarts++ % 2 == 1) {
		assert_int_equal(hk_reader_noted(reader), chunks);
		hk_reader_resume(reader);
	}
}

static void check_pending(struct model *models, size_t count)
{
	struct hk_thread_copy thread;
	uint64_t cursor = 0;

	while (hk_reader_next_thread(reader, &cursor, &thread) == 1) {
		for (size_t i = 0; i < count; i++) {
			size_t left = (models[i].written - models[i].read) * sizeof(uint64_t);
			if (models[i].slot == thread.slot) {
				/* Switch records are pending bytes too. */
				assert_true(thread.pending_bytes[models[i].stream] >= left);
				assert_true(left > 0 ||
					    thread.pending_bytes[models[i].stream] < 4096);
			}
		}
	}
}

static void run_model(uint64_t start_seed)
{
	struct model models[5];
	struct hk_thread_slot *threads[2];
	uint64_t used;
	uint64_t cap;

	seed = start_seed * 0x9e3779b97f4a7c15u + 1;
	chunks = 0;
	for (uint32_t i = 0; i < 2; i++) {
		threads[i] = segment_maker_thread(&maker, HK_SLOT_LIVE, i + 1001, i + 1);
	}
	for (uint32_t i = 0; i < 5; i++) {
		model_init(&models[i], i % 2, i / 2);
		models[i].thread = threads[i % 2];
	}
	open_reader();
	for (uint32_t step = 0; step < 600; step++) {
		struct model *model = &models[roll(5)];
		refresh();
		switch (roll(6)) {
		case 0:
		case 1:
			write_some(model, (uint32_t)roll(roll(4) ? 50 : 700));
			break;
		case 2:
			read_some(model, 1 + (uint32_t)roll(3));
			break;
		case 3:
			read_some(model, UINT32_MAX);
			break;
		case 4:
			spool(models, 5);
			break;
		default:
			if (roll(4) == 0) {
				restart(models, 5);
			}
			check_pending(models, 5);
		}
	}
	refresh();
	for (uint32_t i = 0; i < 5; i++) {
		read_some(&models[i], UINT32_MAX);
		assert_int_equal(models[i].read, models[i].written);
		assert_true(models[i].written > 0);
	}
	/* All is read and given back but the pages being written. */
	spool(models, 5);
	check_pending(models, 5);
	uint32_t in_use = 0;
	for (uint32_t number = 1; number < segment_maker_header(&maker)->blocks; number++) {
		struct hk_page *page = segment_maker_page_at(&maker, number);
		in_use += page->block.kind == HK_BLOCK_PAGE && page->state != HK_PAGE_FREE;
	}
	assert_int_equal(in_use, 5);
	hk_reader_pool(reader, &used, &cap);
	/* Memory pages are 2 of 64, the others 3 of 128: the first pool is the fuller one. */
	assert_int_equal(used, 2 * HK_BLOCK_BYTES);
	assert_int_equal(cap, 64 * HK_BLOCK_BYTES);
	assert_int_equal(hk_reader_damage(reader), 0);
	for (uint32_t i = 0; i < 5; i++) {
		model_fini(&models[i]);
	}
}

static void test_model_is_read_exactly_once(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 12; i++) {
		print_message("seed %u\n", (unsigned)i);
		run_model(i);
		teardown(NULL);
		setup(NULL);
	}
}

/* Killed between taking a page out of its chain and freeing it: the next collector frees it. */
static void test_orphaned_page_is_freed_by_next_collector(void **state)
{
	struct hk_run run;

	(void)state;
	struct hk_thread_slot *thread = segment_maker_thread(&maker, HK_SLOT_LIVE, 1, 1);
	uint32_t first = segment_maker_page(&maker, thread, 0, 0, 0);
	segment_maker_record(&maker, first, 1, 1, 1, HK_RECORD_CALL, NULL, 0);
	uint32_t second = segment_maker_page(&maker, thread, 0, 0, first);
	segment_maker_record(&maker, second, 2, 1, 1, HK_RECORD_CALL, NULL, 0);
	uint32_t third = segment_maker_page(&maker, thread, 0, 0, second);
	thread->chain[0].first = second;
	open_reader();
	hk_reader_seek(reader, 0, 0, 16);
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 1);
	assert_int_equal(run.words[0], 2);
	assert_int_equal(run.end_position, 32);
	hk_reader_release(reader);
	assert_int_equal(segment_maker_page_at(&maker, first)->state, HK_PAGE_FREE);
	assert_int_equal(segment_maker_page_at(&maker, second)->state, HK_PAGE_FREE);
	assert_int_equal(segment_maker_page_at(&maker, third)->state, HK_PAGE_ACTIVE);
	assert_int_equal(thread->chain[0].first, third);
}

static void test_active_and_unread_pages_are_kept(void **state)
{
	struct hk_run run;

	(void)state;
	struct hk_thread_slot *thread = segment_maker_thread(&maker, HK_SLOT_LIVE, 1, 1);
	uint32_t first = segment_maker_page(&maker, thread, 0, 0, 0);
	segment_maker_record(&maker, first, 1, 1, 1, HK_RECORD_CALL, NULL, 0);
	open_reader();
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 1);
	hk_reader_release(reader);
	assert_int_equal(segment_maker_page_at(&maker, first)->state, HK_PAGE_ACTIVE);
	/* More in the page after it was read to its end then: FULL now, but not read. */
	segment_maker_record(&maker, first, 2, 1, 1, HK_RECORD_CALL, NULL, 0);
	uint32_t second = segment_maker_page(&maker, thread, 0, 0, first);
	refresh();
	hk_reader_release(reader);
	assert_int_equal(segment_maker_page_at(&maker, first)->state, HK_PAGE_FULL);
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 1);
	assert_int_equal(run.words[0], 2);
	hk_reader_release(reader);
	assert_int_equal(segment_maker_page_at(&maker, first)->state, HK_PAGE_FREE);
	assert_int_equal(thread->chain[0].first, second);
}

/* A page sealed after the reader's last refresh, its successor in a block not known yet. */
static void test_successor_newer_than_refresh_is_waited_for(void **state)
{
	struct hk_run run;

	(void)state;
	struct hk_thread_slot *thread = segment_maker_thread(&maker, HK_SLOT_LIVE, 1, 1);
	uint32_t first = segment_maker_page(&maker, thread, 0, 0, 0);
	segment_maker_record(&maker, first, 1, 1, 1, HK_RECORD_CALL, NULL, 0);
	open_reader();
	uint32_t second = segment_maker_page(&maker, thread, 0, 0, first);
	segment_maker_record(&maker, second, 2, 1, 1, HK_RECORD_CALL, NULL, 0);
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 1);
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 0);
	hk_reader_release(reader);
	assert_int_equal(segment_maker_page_at(&maker, first)->state, HK_PAGE_FULL);
	refresh();
	assert_int_equal(hk_reader_next_run(reader, 0, 0, &run), 1);
	assert_int_equal(run.words[0], 2);
	assert_int_equal(hk_reader_damage(reader), 0);
}

/* The thread of a run is known even if the reader starts in the middle of a page, behind a switch.
 */
static void test_seek_into_page_finds_its_thread(void **state)
{
	static const uint64_t owner[] = {77, 78};
	struct hk_run run;

	(void)state;
	struct hk_thread_slot *thread = segment_maker_thread(&maker, HK_SLOT_VACANT, 5, 6);
	uint32_t page = segment_maker_page(&maker, thread, 0, 1, 0);
	segment_maker_record(&maker, page, 1, 1, 1, HK_RECORD_CALL, NULL, 0);
	segment_maker_record(&maker, page, 0, 0, 0, HK_RECORD_THREAD, owner, 2);
	segment_maker_record(&maker, page, 2, 1, 1, HK_RECORD_CALL, NULL, 0);
	segment_maker_record(&maker, page, 3, 1, 1, HK_RECORD_CALL, NULL, 0);
	static const struct {
		uint64_t position, first, thread;
	} seeks[] = {{0, 1, 6}, {16, 2, 77}, {48, 2, 77}, {64, 3, 77}};
	for (size_t i = 0; i < sizeof(seeks) / sizeof(seeks[0]); i++) {
		open_reader();
		hk_reader_seek(reader, 0, 1, seeks[i].position);
		assert_int_equal(hk_reader_next_run(reader, 0, 1, &run), 1);
		assert_int_equal(run.words[0], seeks[i].first);
		assert_int_equal(run.thread, seeks[i].thread);
		hk_reader_free(reader);
	}
	/* Everything was spooled: nothing comes until there is more. */
	open_reader();
	hk_reader_seek(reader, 0, 1, 80);
	assert_int_equal(hk_reader_next_run(reader, 0, 1, &run), 0);
	segment_maker_record(&maker, page, 4, 1, 1, HK_RECORD_CALL, NULL, 0);
	assert_int_equal(hk_reader_next_run(reader, 0, 1, &run), 1);
	assert_int_equal(run.words[0], 4);
	assert_int_equal(run.thread, 77);
	hk_reader_free(reader);
	/* A position inside a record is a lie, found at once or at its first record. */
	for (uint64_t position = 1; position < 16; position++) {
		open_reader();
		hk_reader_seek(reader, 0, 1, position);
		int status = hk_reader_next_run(reader, 0, 1, &run);
		assert_int_equal(status, position % 8 ? 0 : -EBADMSG);
		assert_int_equal(hk_reader_next_run(reader, 0, 1, &run), 0);
		assert_int_equal(hk_reader_damage(reader), 1);
		hk_reader_free(reader);
	}
	reader = NULL;
}

int main(void)
{
#define CHAIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    CHAIN_TEST(test_model_is_read_exactly_once),
	    CHAIN_TEST(test_orphaned_page_is_freed_by_next_collector),
	    CHAIN_TEST(test_active_and_unread_pages_are_kept),
	    CHAIN_TEST(test_successor_newer_than_refresh_is_waited_for),
	    CHAIN_TEST(test_seek_into_page_finds_its_thread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
