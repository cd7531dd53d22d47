/* A ledger that goes through its file and one that never did must agree for ever after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/memory/checkpoint.h"
#include "collector/memory/ledger_image.h"
#include "hooks/hook.h"

#define LIBRARIES 3
#define MEMORY_SITES 100u
#define ROUNDS 60
#define CALLS_PER_ROUND 200

static const uint8_t uid[16] = {1, 2, 3};

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static const char *const names[LIBRARIES] = {"/lib/a.so", "/lib/b.so", "c"};
	static const uint8_t keys[][4] = {
	    [HK_MEANING_ALLOC] = {HK_KEY_SIZE, HK_KEY_POINTER, HK_KEY_DEVICE},
	    [HK_MEANING_FREE] = {HK_KEY_POINTER},
	    [HK_MEANING_REALLOC] = {HK_KEY_OLD_POINTER, HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_MAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_UNMAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_REMAP] = {HK_KEY_OLD_POINTER, HK_KEY_OLD_SIZE, HK_KEY_POINTER, HK_KEY_SIZE},
	};
	(void)context;
	ret_site->meaning = (uint8_t)(HK_MEANING_ALLOC + id % 6);
	ret_site->flags = id / MEMORY_SITES << HK_HOOK_MEMORY_SHIFT | HK_HOOK_DESCRIBED;
	ret_site->library = names[id / 6 % LIBRARIES];
	ret_site->function = ret_site->domain = "x";
	ret_site->key_count = 4;
	memcpy(ret_site->keys, keys[ret_site->meaning], 4);
	return 0;
}

static struct hk_ledger *make_ledger(void)
{
	const struct hk_ledger_options options = {.ticks_per_ns = 1.0, .site = define_site};
	struct hk_ledger *ledger = hk_ledger_new(&options);
	assert_non_null(ledger);
	return ledger;
}

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

/* A call of any kind at NOW, on few addresses so that most releases meet something; sometimes
 * nonsense. */
static void add_call(struct hk_ledger *const ledgers[2], uint64_t now)
{
	uint64_t words[4];
	for (int i = 0; i < 4; i++) {
		words[i] = draw(50) == 0 ? seed : (1 + draw(64)) * 4096;
	}
	const struct hk_chunk_thread thread = {.uid = draw(4)};
	const struct hk_record record = {
	    .start_ticks = now - draw(100),
	    .duration_ns = draw(200),
	    .words = words,
	    .thread = &thread,
	    .site = (uint32_t)(draw(4) * MEMORY_SITES + draw(18)),
	    .kind = HK_CHUNK_KIND_CALL,
	    .word_count = 4,
	};
	assert_int_equal(hk_ledger_add(ledgers[0], &record), 0);
	assert_int_equal(hk_ledger_add(ledgers[1], &record), 0);
}

static void check_same_series(const struct hk_series *a, const struct hk_series *b)
{
	assert_int_equal(a != NULL, b != NULL);
	if (!a) {
		return;
	}
	assert_int_equal(a->start_ticks, b->start_ticks);
	assert_int_equal(a->shift, b->shift);
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->max_bytes, b->max_bytes, a->count * sizeof(*a->max_bytes));
	assert_memory_equal(a->last_bytes, b->last_bytes, a->count * sizeof(*a->last_bytes));
}

static void check_same(const struct hk_ledger *a, const struct hk_ledger *b)
{
	struct hk_ledger_row x, y;
	size_t i = 0;
	for (; hk_ledger_row(a, i, &x) > 0; i++) {
		assert_int_equal(hk_ledger_row(b, i, &y), 1);
		assert_string_equal(x.kind, y.kind);
		assert_string_equal(x.library, y.library);
		assert_int_equal(x.device, y.device);
		assert_int_equal(x.allocs, y.allocs);
		assert_int_equal(x.frees, y.frees);
		assert_int_equal(x.live_bytes, y.live_bytes);
		assert_int_equal(x.peak_bytes, y.peak_bytes);
		assert_int_equal(x.peak_low, y.peak_low);
		assert_int_equal(x.peak_high, y.peak_high);
		assert_int_equal(x.peak_ticks, y.peak_ticks);
		assert_int_equal(x.at_peak_bytes, y.at_peak_bytes);
		check_same_series(x.series, y.series);
	}
	assert_int_equal(hk_ledger_row(b, i, &y), 0);
	assert_int_equal(hk_ledger_unknown_frees(a), hk_ledger_unknown_frees(b));
}

struct place {
	char directory[32];
	char path[48];
};

static void place_make(struct place *place)
{
	memcpy(place->directory, "/tmp/hk-ledger-XXXXXX", 22);
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof(place->path), "%s/x.ledger", place->directory);
}

static void place_remove(struct place *place)
{
	unlink(place->path);
	assert_int_equal(rmdir(place->directory), 0);
}

/* Ledgers [0] and [1] hold the same; the second one is written and read in every round. */
static void live_through(const struct place *place, struct hk_ledger *ledgers[2], uint64_t first)
{
	uint64_t now = 1000, number = 0;
	seed = first;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (unsigned i = 0; i < CALLS_PER_ROUND; i++) {
			now += draw(20) + (draw(50) == 0 ? draw(1u << 18) : 0);
			add_call(ledgers, now);
			hk_ledger_advance(ledgers[0], now - 100);
			hk_ledger_advance(ledgers[1], now - 100);
		}
		if (round == ROUNDS / 2) {
			hk_ledger_set_lost(ledgers[0], 3);
			hk_ledger_set_lost(ledgers[1], 3);
			hk_ledger_note_gap(ledgers[0], 5);
			hk_ledger_note_gap(ledgers[1], 5);
		}
		assert_int_equal(hk_checkpoint_write(place->path, uid, round, ledgers[1]), 0);
		hk_ledger_free(ledgers[1]);
		ledgers[1] = make_ledger();
		assert_int_equal(
		    hk_checkpoint_read(place->path, uid, round + 1, ledgers[1], &number), 0);
		assert_int_equal(number, round);
		check_same(ledgers[0], ledgers[1]);
	}
}

static void test_a_ledger_goes_on_as_if_never_written(void **state)
{
	struct place place;
	(void)state;
	place_make(&place);
	for (uint64_t i = 1; i <= 5; i++) {
		struct hk_ledger *ledgers[2] = {make_ledger(), make_ledger()};
		struct hk_ledger_row row;
		live_through(&place, ledgers, i);
		hk_ledger_advance(ledgers[0], UINT64_MAX);
		hk_ledger_advance(ledgers[1], UINT64_MAX);
		check_same(ledgers[0], ledgers[1]);
		/* It was about something, for long. */
		assert_int_equal(hk_ledger_row(ledgers[0], 6, &row), 1);
		assert_int_equal(hk_ledger_row(ledgers[0], 0, &row), 1);
		assert_true(row.series && row.series->shift > HK_SERIES_SHIFT_MIN);
		hk_ledger_free(ledgers[0]);
		hk_ledger_free(ledgers[1]);
	}
	place_remove(&place);
}

static void test_an_empty_ledger_is_one_too(void **state)
{
	struct place place;
	struct hk_ledger *ledger = make_ledger();
	struct hk_ledger_row row;
	uint64_t number;
	(void)state;
	place_make(&place);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, ledger, &number), -ENOENT);
	assert_int_equal(hk_checkpoint_write(place.path, uid, 9, ledger), 0);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, ledger, &number), 0);
	assert_int_equal(hk_ledger_row(ledger, 0, &row), 0);
	hk_ledger_free(ledger);
	place_remove(&place);
}

static void write_back(const char *path, const uint8_t *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* A few accounts, blocks and waiting events, in about 1 KiB. */
static struct hk_ledger *make_small(void)
{
	struct hk_ledger *ledger = make_ledger();
	for (unsigned i = 0; i < 4; i++) {
		struct hk_ledger *const both[2] = {ledger, ledger};
		seed = 77 + i;
		add_call(both, 1000 + 50 * (uint64_t)i);
	}
	hk_ledger_advance(ledger, 1100);
	return ledger;
}

static void test_damage_is_noticed_and_changes_nothing(void **state)
{
	struct place place;
	struct hk_ledger *ledger = make_small(), *fresh = make_ledger();
	struct hk_ledger_row row;
	uint8_t bytes[8192];
	uint64_t number = 7;
	(void)state;
	place_make(&place);
	assert_int_equal(hk_checkpoint_write(place.path, uid, 5, ledger), 0);
	int fd = open(place.path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	close(fd);
	assert_in_range(size, 200, sizeof(bytes) - 1);
	for (size_t at = 0; at < (size_t)size; at++) {
		bytes[at] ^= 0x11;
		write_back(place.path, bytes, (size_t)size);
		assert_true(hk_checkpoint_read(place.path, uid, 9, fresh, &number) < 0);
		bytes[at] ^= 0x11;
		write_back(place.path, bytes, at);
		assert_int_equal(hk_checkpoint_read(place.path, uid, 9, fresh, &number), -EBADMSG);
		assert_int_equal(hk_ledger_row(fresh, 0, &row), 0);
	}
	bytes[size] = 0;
	write_back(place.path, bytes, (size_t)size + 1);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, fresh, &number), -EBADMSG);
	assert_int_equal(number, 7);
	hk_ledger_free(ledger);
	hk_ledger_free(fresh);
	place_remove(&place);
}

static void test_what_does_not_belong_here_is_refused(void **state)
{
	struct place place;
	struct hk_ledger *ledger = make_small(), *fresh = make_ledger();
	uint64_t number;
	(void)state;
	place_make(&place);
	assert_int_equal(hk_checkpoint_write(place.path, uid, 5, ledger), 0);
	assert_int_equal(hk_checkpoint_read(place.path, (const uint8_t[16]){9}, 9, fresh, &number),
			 -EBADMSG);
	/* Of chunks that are not in the file. */
	assert_int_equal(hk_checkpoint_read(place.path, uid, 4, fresh, &number), -EBADMSG);
	int fd = open(place.path, O_WRONLY);
	assert_int_equal(pwrite(fd, "\x03", 1, 8), 1);
	close(fd);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, fresh, &number), -EPROTO);
	hk_ledger_free(ledger);
	hk_ledger_free(fresh);
	place_remove(&place);
}

/* The version before had no series, and did not keep live bytes at the peak. */
static void test_the_version_before_is_read(void **state)
{
	struct place place;
	struct hk_ledger *ledger = make_ledger(), *fresh = make_ledger();
	struct hk_ledger_row row;
	uint8_t bytes[8192];
	uint64_t number;
	const uint64_t words[4] = {100, 0x1000};
	const struct hk_chunk_thread thread = {.uid = 1};
	struct hk_record record = {.start_ticks = 10,
				   .words = words,
				   .thread = &thread,
				   .kind = HK_CHUNK_KIND_CALL,
				   .word_count = 4};
	(void)state;
	place_make(&place);
	assert_int_equal(hk_ledger_add(ledger, &record), 0);
	hk_ledger_advance(ledger, UINT64_MAX);
	assert_int_equal(hk_checkpoint_write(place.path, uid, 5, ledger), 0);
	int fd = open(place.path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	close(fd);
	/* Two accounts and one series of one bin, behind them the checksum. */
	assert_true(size > 48 + 68);
	bytes[8] = 1;
	fd = open(place.path, O_WRONLY | O_TRUNC);
	struct hk_image *image = hk_image_begin(fd);
	hk_image_put(image, bytes, (size_t)size - (2 * 8 + 4 + 24 + 16 + 8));
	assert_int_equal(hk_image_end_put(image), 0);
	close(fd);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, fresh, &number), 0);
	assert_int_equal(hk_ledger_row(fresh, 0, &row), 1);
	assert_string_equal(row.library, "*");
	assert_int_equal(row.peak_bytes, 100);
	assert_int_equal(row.at_peak_bytes, 0);
	assert_null(row.series);
	/* From then on both are known. */
	record.words = (const uint64_t[4]){7, 0x2000};
	record.start_ticks = 20;
	assert_int_equal(hk_ledger_add(fresh, &record), 0);
	hk_ledger_advance(fresh, UINT64_MAX);
	assert_int_equal(hk_ledger_row(fresh, 0, &row), 1);
	assert_int_equal(row.at_peak_bytes, 107);
	assert_int_equal(row.series->last_bytes[0], 107);
	hk_ledger_free(ledger);
	hk_ledger_free(fresh);
	place_remove(&place);
}

static void test_a_failed_write_leaves_the_old_one(void **state)
{
	struct place place;
	struct hk_ledger *ledger = make_small(), *fresh = make_ledger();
	char fresh_path[64];
	uint64_t number;
	(void)state;
	place_make(&place);
	assert_int_equal(hk_checkpoint_write(place.path, uid, 5, ledger), 0);
	/* Nothing can be written where a directory is. */
	snprintf(fresh_path, sizeof(fresh_path), "%s.new", place.path);
	assert_int_equal(mkdir(fresh_path, 0700), 0);
	assert_true(hk_checkpoint_write(place.path, uid, 6, ledger) < 0);
	assert_int_equal(rmdir(fresh_path), 0);
	assert_int_equal(hk_checkpoint_read(place.path, uid, 9, fresh, &number), 0);
	assert_int_equal(number, 5);
	check_same(ledger, fresh);
	hk_ledger_free(ledger);
	hk_ledger_free(fresh);
	place_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_ledger_goes_on_as_if_never_written),
	    cmocka_unit_test(test_an_empty_ledger_is_one_too),
	    cmocka_unit_test(test_damage_is_noticed_and_changes_nothing),
	    cmocka_unit_test(test_what_does_not_belong_here_is_refused),
	    cmocka_unit_test(test_the_version_before_is_read),
	    cmocka_unit_test(test_a_failed_write_leaves_the_old_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
