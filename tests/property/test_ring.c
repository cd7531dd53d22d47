/* The real writer against the real reader: several threads append records while a reader drains and
 * gives pages back at random moments. Whatever happens, each thread's records come out in order,
 * none twice, and those missing are those counted lost. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring/chain.h"
#include "ring/reader.h"
#include "ring/writer.h"

#define THREADS 4
#define RECORDS 60000
#define BLOCKS 64

struct fixture {
	char directory[64];
	int fd;
	struct hk_writer writer;
	pthread_mutex_t lock; /* protects: writer */
	uint32_t pool_room[2 * BLOCKS];
	atomic_int running;
};

struct producer {
	struct fixture *fixture;
	pthread_t thread;
	struct hk_thread_slot *slot;
	uint32_t slot_number, seed;
	uint64_t next; /* number the reader expects at least */
	uint64_t seen;
};

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static bool extend(struct producer *producer, struct hk_chain_end *chain)
{
	struct fixture *fixture = producer->fixture;
	pthread_mutex_lock(&fixture->lock);
	struct hk_page *page =
	    hk_writer_page(&fixture->writer, producer->slot_number, HK_STREAM_CALLS,
			   hk_chain_position(chain), producer->slot_number + 1, 1000);
	uint32_t number = page ? hk_writer_block_of(&fixture->writer, page) : 0;
	pthread_mutex_unlock(&fixture->lock);
	if (page) {
		hk_chain_extend(chain, &producer->slot->chain[HK_STREAM_CALLS], page, number);
	}
	return page != NULL;
}

/* Record i starts at tick i and carries 0 to 5 words that follow from i. */
static void *produce(void *argument)
{
	struct producer *producer = argument;
	struct hk_chain_end chain = {0};
	for (uint64_t i = 0; i < RECORDS; i++) {
		uint32_t words = draw(&producer->seed) % 6;
		uint64_t *room = hk_chain_room(&chain, HK_RECORD_HEADER_WORDS + words);
		if (!room && extend(producer, &chain)) {
			room = chain.cursor;
		}
		if (!room) {
			atomic_fetch_add(&producer->slot->chain[HK_STREAM_CALLS].lost, 1);
			continue;
		}
		room[0] = i;
		room[1] =
		    hk_record_word1((uint32_t)i, producer->slot_number, HK_RECORD_CALL, words);
		for (uint32_t w = 0; w < words; w++) {
			room[HK_RECORD_HEADER_WORDS + w] = i * 31 + w;
		}
		hk_chain_publish(&chain, room + HK_RECORD_HEADER_WORDS + words);
	}
	atomic_fetch_sub(&producer->fixture->running, 1);
	return NULL;
}

static void check_run(struct producer *producer, const struct hk_run *run)
{
	assert_int_equal(run->thread, producer->slot_number + 1);
	for (size_t at = 0; at < run->word_count;) {
		const uint64_t *record = run->words + at;
		uint32_t words = (uint32_t)(record[1] >> HK_RECORD_WORDS_SHIFT);
		assert_true(record[0] >= producer->next);
		assert_int_equal((uint32_t)record[1], record[0]);
		for (uint32_t w = 0; w < words; w++) {
			assert_int_equal(record[HK_RECORD_HEADER_WORDS + w], record[0] * 31 + w);
		}
		producer->next = record[0] + 1;
		producer->seen++;
		at += HK_RECORD_HEADER_WORDS + words;
	}
}

static void drain(struct hk_reader *reader, struct producer *producers, uint32_t *seed)
{
	struct hk_segment_status status;
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct hk_run run;
		int more = draw(seed) % 4 ? 1 : 0; /* sometimes a chain is left for later */
		while (more && (more = hk_reader_next_run(reader, i, HK_STREAM_CALLS, &run)) > 0) {
			check_run(&producers[i], &run);
		}
		assert_true(more >= 0);
	}
	if (draw(seed) % 3) {
		hk_reader_release(reader);
	}
}

static void open_fixture(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	memcpy(fixture->directory, "/tmp/hk-ring-XXXXXX", 20);
	assert_non_null(mkdtemp(fixture->directory));
	fixture->fd = open(fixture->directory, O_RDONLY | O_DIRECTORY);
	pthread_mutex_init(&fixture->lock, NULL);
	static struct hk_segment_header template;
	template.uid[0] = 0xab;
	template.clock_kind = HK_CLOCK_MONOTONIC;
	template.tick_ns_q32 = 1ULL << 32;
	assert_int_equal(hk_writer_create(&fixture->writer, fixture->directory, &template, BLOCKS,
					  fixture->pool_room),
			 0);
}

static void close_fixture(struct fixture *fixture)
{
	unlink(fixture->writer.path);
	close(fixture->fd);
	rmdir(fixture->directory);
}

static void run_seed(uint32_t seed)
{
	struct fixture fixture;
	struct producer producers[THREADS];
	struct hk_reader *reader;
	open_fixture(&fixture);
	atomic_store(&fixture.running, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){.fixture = &fixture, .seed = seed * 7 + i};
		producers[i].slot = hk_writer_thread(&fixture.writer, &producers[i].slot_number);
		assert_int_equal(producers[i].slot_number, i);
		atomic_store(&producers[i].slot->state, HK_SLOT_LIVE);
	}
	assert_int_equal(hk_reader_open(fixture.fd, strrchr(fixture.writer.path, '/') + 1, &reader),
			 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
	}
	while (atomic_load(&fixture.running)) {
		drain(reader, producers, &seed);
	}
	uint64_t seen = 0;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct hk_run run;
		pthread_join(producers[i].thread, NULL);
		struct hk_segment_status status;
		hk_reader_refresh(reader, &status);
		while (hk_reader_next_run(reader, i, HK_STREAM_CALLS, &run) > 0) {
			check_run(&producers[i], &run);
		}
		uint64_t lost = atomic_load(&producers[i].slot->chain[HK_STREAM_CALLS].lost);
		assert_int_equal(producers[i].seen + lost, RECORDS);
		seen += producers[i].seen;
	}
	/* More than one filling of the pool: pages did come back. */
	assert_true(seen > BLOCKS * HK_PAGE_BODY_BYTES / 56);
	assert_int_equal(hk_reader_damage(reader), 0);
	hk_reader_free(reader);
	close_fixture(&fixture);
}

static void test_what_was_committed_comes_out_once_and_in_order(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 8; seed++) {
		run_seed(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_was_committed_comes_out_once_and_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
