/* The ledger against a model that owns a small address space and knows the true order of
 * everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/ledger.h"
#include "hooks/hook.h"

/* Sites: meaning * 2 + library. */
#define LIBRARIES 2
#define SITE(meaning, library) ((uint32_t)(meaning)*LIBRARIES + (library))
/* The same of device memory. */
#define MEMORY_SITES 1000u
#define DEVICE_SITE(memory, meaning, library) \
	((uint32_t)(memory)*MEMORY_SITES + SITE(meaning, library))
static const char *const library_names[LIBRARIES] = {"/lib/a.so", "/lib/b.so"};

static int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static const uint8_t keys[][4] = {
	    [HK_MEANING_ALLOC] = {HK_KEY_SIZE, HK_KEY_POINTER, HK_KEY_DEVICE},
	    [HK_MEANING_FREE] = {HK_KEY_POINTER},
	    [HK_MEANING_REALLOC] = {HK_KEY_OLD_POINTER, HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_MAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_UNMAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_REMAP] = {HK_KEY_OLD_POINTER, HK_KEY_OLD_SIZE, HK_KEY_POINTER, HK_KEY_SIZE},
	};
	(void)context;
	uint32_t meaning = id % MEMORY_SITES / LIBRARIES;
	if (meaning > HK_MEANING_IO) {
		return -ENOENT;
	}
	ret_site->id = id;
	ret_site->meaning = (uint8_t)meaning;
	ret_site->flags = id / MEMORY_SITES << HK_HOOK_MEMORY_SHIFT | HK_HOOK_DESCRIBED;
	ret_site->library = library_names[id % LIBRARIES];
	ret_site->function = ret_site->domain = "x";
	ret_site->key_count = 4;
	if (meaning >= HK_MEANING_ALLOC && meaning <= HK_MEANING_REMAP) {
		memcpy(ret_site->keys, keys[meaning], 4);
	}
	return 0;
}

static struct hk_ledger *make_ledger(void)
{
	const struct hk_ledger_options options = {.ticks_per_ns = 1.0, .site = define_site};
	struct hk_ledger *ledger = hk_ledger_new(&options);
	assert_non_null(ledger);
	return ledger;
}

struct call {
	uint64_t start, end;
	uint64_t words[4];
	uint32_t site, thread;
};

static void add(struct hk_ledger *ledger, const struct call *call)
{
	struct hk_chunk_thread thread = {.uid = call->thread};
	struct hk_record record = {
	    .start_ticks = call->start,
	    .duration_ns = call->end - call->start,
	    .words = call->words,
	    .thread = &thread,
	    .site = call->site,
	    .kind = HK_CHUNK_KIND_CALL,
	    .word_count = 4,
	};
	assert_int_equal(hk_ledger_add(ledger, &record), 0);
}

static struct hk_ledger_row row_of(const struct hk_ledger *ledger, const char *kind,
				   const char *library)
{
	struct hk_ledger_row row, found = {0};
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		if (strcmp(row.kind, kind) == 0 && strcmp(row.library, library) == 0) {
			assert_null(found.kind);
			found = row;
		}
	}
	return found;
}

#define CHECK(ledger, kind, library, want_allocs, want_frees, want_live, want_peak) \
	do {                                                                        \
		struct hk_ledger_row row_ = row_of(ledger, kind, library);          \
		assert_int_equal(row_.allocs, want_allocs);                         \
		assert_int_equal(row_.frees, want_frees);                           \
		assert_int_equal(row_.live_bytes, want_live);                       \
		assert_int_equal(row_.peak_bytes, want_peak);                       \
	} while (0)

/* A row by its device too: at most one. */
static struct hk_ledger_row device_row_of(const struct hk_ledger *ledger, const char *kind,
					  int32_t device, const char *library)
{
	struct hk_ledger_row row, found = {0};
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		if (strcmp(row.kind, kind) == 0 && row.device == device &&
		    strcmp(row.library, library) == 0) {
			assert_null(found.kind);
			found = row;
		}
	}
	return found;
}

#define CHECK_DEVICE(ledger, kind, device, library, want_allocs, want_frees, want_live, want_peak) \
	do {                                                                                       \
		struct hk_ledger_row row_ = device_row_of(ledger, kind, device, library);          \
		assert_int_equal(row_.allocs, want_allocs);                                        \
		assert_int_equal(row_.frees, want_frees);                                          \
		assert_int_equal(row_.live_bytes, want_live);                                      \
		assert_int_equal(row_.peak_bytes, want_peak);                                      \
	} while (0)

/* ---- rules, one by one ---- */

static void test_each_device_has_its_rows(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc_a = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	uint32_t alloc_b = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 1);
	uint32_t managed = DEVICE_SITE(HK_MEMORY_MANAGED, HK_MEANING_ALLOC, 0);
	add(ledger, &(struct call){10, 11, {100, 0x1000, 0}, alloc_a, 1});
	add(ledger, &(struct call){12, 13, {50, 0x2000, 1}, alloc_a, 2});
	add(ledger, &(struct call){14, 15, {7, 0x3000, 1}, alloc_b, 1});
	add(ledger, &(struct call){16, 17, {30, 0x4000, 1}, managed, 1});
	/* Who frees is another library and thread, and does not know which memory it is. */
	uint32_t release = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_FREE, 1);
	add(ledger, &(struct call){20, 21, {0x2000}, release, 1});
	add(ledger, &(struct call){22, 23, {0x4000}, release, 2});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "device", 0, "*", 1, 0, 100, 100);
	CHECK_DEVICE(ledger, "device", 1, "*", 2, 1, 7, 57);
	CHECK_DEVICE(ledger, "device", 1, library_names[0], 1, 1, 0, 50);
	CHECK_DEVICE(ledger, "device", 1, library_names[1], 1, 0, 7, 7);
	CHECK_DEVICE(ledger, "managed", 1, "*", 1, 1, 0, 30);
	assert_int_equal(hk_ledger_unknown_frees(ledger), 0);
	hk_ledger_free(ledger);
}

static void test_pinned_heap_is_both(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t pin = DEVICE_SITE(HK_MEMORY_PINNED, HK_MEANING_ALLOC, 1);
	add(ledger, &(struct call){10, 11, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	/* The device of pinned memory is the host, whatever the record says. */
	add(ledger, &(struct call){12, 13, {64, 0x1000, 3}, pin, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "heap", -1, "*", 1, 0, 100, 100);
	CHECK_DEVICE(ledger, "pinned", -1, library_names[1], 1, 0, 64, 64);
	add(ledger, &(struct call){14, 15, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "heap", -1, "*", 1, 1, 0, 100);
	CHECK_DEVICE(ledger, "pinned", -1, "*", 1, 0, 64, 64);
	add(ledger,
	    &(struct call){16, 17, {0x1000}, DEVICE_SITE(HK_MEMORY_PINNED, HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "pinned", -1, "*", 1, 1, 0, 64);
	hk_ledger_free(ledger);
}

/* A hostile process cannot have a row for every number. */
static void test_absurd_devices_share_a_row(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	size_t rows = 0;
	for (uint64_t i = 0; i < 100000; i++) {
		add(ledger,
		    &(struct call){10 + i, 10 + i, {1, 16 * (i + 1), i << 32 | i}, alloc, 1});
	}
	add(ledger, &(struct call){1, 2, {1, 8, UINT64_MAX}, alloc, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK_DEVICE(ledger, "device", -1, "*", 100000, 0, 100000, 100000);
	CHECK_DEVICE(ledger, "device", 0, library_names[0], 1, 0, 1, 1);
	for (struct hk_ledger_row row; hk_ledger_row(ledger, rows, &row) > 0; rows++) {
	}
	assert_int_equal(rows, 4);
	hk_ledger_free(ledger);
}

static void test_ledger_free_counts_for_the_library_that_allocated(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){30, 40, {0x1000}, SITE(HK_MEANING_FREE, 1), 2});
	add(ledger, &(struct call){50, 60, {7, 0x1000}, SITE(HK_MEANING_ALLOC, 1), 2});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 2, 1, 7, 100);
	CHECK(ledger, "heap", library_names[0], 1, 1, 0, 100);
	CHECK(ledger, "heap", library_names[1], 1, 0, 7, 7);
	assert_int_equal(row_of(ledger, "heap", "*").peak_ticks, 20);
	hk_ledger_free(ledger);
}

static void test_ledger_holds_back_what_an_open_free_may_precede(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	/* Thread 1 is inside free(0x1000) since 30; thread 2 got the same address at 50. */
	add(ledger, &(struct call){40, 50, {60, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 2});
	hk_ledger_advance(ledger, 30);
	CHECK(ledger, "heap", "*", 1, 0, 100, 100);
	add(ledger, &(struct call){30, 90, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, 1000);
	CHECK(ledger, "heap", "*", 2, 1, 60, 100);
	hk_ledger_free(ledger);
}

static void test_ledger_realloc(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const uint32_t site = SITE(HK_MEANING_REALLOC, 0);
	add(ledger, &(struct call){1, 2, {0, 0x1000, 10}, site, 1});	     /* realloc(NULL, 10) */
	add(ledger, &(struct call){3, 4, {0x1000, 0x1000, 30}, site, 1});    /* in place */
	add(ledger, &(struct call){5, 6, {0x1000, 0x2000, 50}, site, 1});    /* moved */
	add(ledger, &(struct call){7, 8, {0x2000, 0, 1ull << 60}, site, 1}); /* failed: stays */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 3, 2, 50, 50);
	add(ledger, &(struct call){9, 10, {0x2000, 0, 0}, site, 1}); /* realloc(p, 0) */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 3, 3, 0, 50);
	hk_ledger_free(ledger);
}

static void test_ledger_wrapper_around_an_allocator_counts_once(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){12, 18, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 1), 1});
	add(ledger, &(struct call){10, 20, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){32, 38, {0x1000}, SITE(HK_MEANING_FREE, 1), 1});
	add(ledger, &(struct call){30, 40, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "heap", "*", 1, 1, 0, 100);
	CHECK(ledger, "heap", library_names[0], 1, 1, 0, 100);
	hk_ledger_free(ledger);
}

static void test_ledger_failed_and_unknown_calls_change_nothing(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){1, 2, {100, 0}, SITE(HK_MEANING_ALLOC, 0), 1});
	add(ledger, &(struct call){3, 4, {0}, SITE(HK_MEANING_FREE, 0), 1}); /* free(NULL) */
	add(ledger, &(struct call){5, 6, {UINT64_MAX, 4096}, SITE(HK_MEANING_MAP, 0), 1});
	add(ledger, &(struct call){7, 8, {0x9000}, SITE(HK_MEANING_FREE, 0), 1}); /* not ours */
	add(ledger, &(struct call){9, 10, {1, 2}, SITE(HK_MEANING_SEND, 0), 1});
	add(ledger, &(struct call){9, 10, {1, 2}, SITE(200, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row;
	assert_int_equal(hk_ledger_row(ledger, 0, &row), 0);
	assert_int_equal(hk_ledger_unknown_frees(ledger), 1);
	hk_ledger_free(ledger);
}

static void test_ledger_loss_makes_the_peak_a_range(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	add(ledger, &(struct call){1, 2, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	hk_ledger_set_lost(ledger, 3);
	add(ledger, &(struct call){3, 4, {50, 0x2000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row = row_of(ledger, "heap", "*");
	assert_int_equal(row.peak_bytes, 150);
	assert_int_equal(row.peak_low, 100);
	assert_int_equal(row.peak_high, 150 + 3 * 100);
	hk_ledger_free(ledger);
}

static void test_ledger_mappings_split_move_and_overlay(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const uint32_t map = SITE(HK_MEANING_MAP, 0), unmap = SITE(HK_MEANING_UNMAP, 1);
	add(ledger, &(struct call){1, 2, {0x10000, 0x8000}, map, 1});
	add(ledger, &(struct call){3, 4, {0x12000, 0x1001}, unmap, 1}); /* 2 pages: splits */
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", "*", 1, 1, 0x6000, 0x8000);
	/* The upper half moves away and grows. */
	add(ledger,
	    &(struct call){5, 6, {0x14000, 0x4000, 0x30000, 0x6000}, SITE(HK_MEANING_REMAP, 1), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", library_names[0], 1, 2, 0x2000, 0x8000);
	CHECK(ledger, "map", library_names[1], 1, 0, 0x6000, 0x6000);
	/* MAP_FIXED over both. */
	add(ledger, &(struct call){7, 8, {0x10000, 0x30000}, map, 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	CHECK(ledger, "map", "*", 3, 2, 0x30000, 0x30000);
	CHECK(ledger, "map", library_names[1], 1, 0, 0, 0x6000);
	hk_ledger_free(ledger);
}

static void test_what_was_live_at_the_peak(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	const char *a = library_names[0], *b = library_names[1];
	add(ledger, &(struct call){10, 11, {100, 0x1000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	/* The peak is now; a library that comes later had nothing. */
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 100);
	add(ledger, &(struct call){12, 13, {0x1000}, SITE(HK_MEANING_FREE, 0), 1});
	add(ledger, &(struct call){14, 15, {100, 0x2000}, SITE(HK_MEANING_ALLOC, 1), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	/* As high again is no new peak. */
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 100);
	assert_int_equal(row_of(ledger, "heap", b).at_peak_bytes, 0);
	add(ledger, &(struct call){16, 17, {1, 0x3000}, SITE(HK_MEANING_ALLOC, 0), 1});
	hk_ledger_advance(ledger, UINT64_MAX);
	assert_int_equal(row_of(ledger, "heap", "*").at_peak_bytes, 101);
	assert_int_equal(row_of(ledger, "heap", a).at_peak_bytes, 1);
	assert_int_equal(row_of(ledger, "heap", b).at_peak_bytes, 100);
	hk_ledger_free(ledger);
}

/* Times far apart, and earlier than the last: the series has its bins, whatever they are. */
static void test_series_takes_any_time(void **state)
{
	(void)state;
	struct hk_series series = {0};
	hk_series_add(&series, 1000, 5);
	hk_series_add(&series, 10, 9);
	assert_int_equal(series.count, 1);
	assert_int_equal(series.max_bytes[0], 9);
	hk_series_add(&series, 1000 + (300ull << HK_SERIES_SHIFT_MIN), 2);
	assert_int_equal(series.shift, HK_SERIES_SHIFT_MIN + 1);
	assert_int_equal(series.count, 151);
	assert_int_equal(series.max_bytes[150], 9);
	assert_int_equal(series.last_bytes[149], 9);
	assert_int_equal(series.last_bytes[150], 2);
	hk_series_add(&series, UINT64_MAX, 1);
	assert_int_equal(series.shift, HK_SERIES_SHIFT_MAX);
	assert_int_equal(series.count, 256);
	assert_int_equal(series.max_bytes[0], 9);
	assert_int_equal(series.last_bytes[0], 2);
	assert_int_equal(series.max_bytes[254], 2);
	assert_int_equal(series.last_bytes[255], 1);
}

/* Bounded, whatever devices a process claims to have. */
static void test_few_series(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint32_t alloc = DEVICE_SITE(HK_MEMORY_DEVICE, HK_MEANING_ALLOC, 0);
	size_t series = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		add(ledger, &(struct call){10 + i, 10 + i, {1, 16 * (i + 1), i}, alloc, 1});
	}
	hk_ledger_advance(ledger, UINT64_MAX);
	struct hk_ledger_row row;
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		series += row.series != NULL;
	}
	assert_int_equal(series, 64);
	hk_ledger_free(ledger);
}

static void test_ledger_survives_hostile_records(void **state)
{
	(void)state;
	struct hk_ledger *ledger = make_ledger();
	uint64_t seed = 99;
	for (int i = 0; i < 200000; i++) {
		struct call call = {0};
		uint64_t draw[6];
		for (int j = 0; j < 6; j++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			draw[j] = seed >> (seed >> 59);
		}
		memcpy(call.words, draw, sizeof(call.words));
		call.start = draw[4];
		call.end = call.start + draw[5];
		call.site = (uint32_t)(draw[0] % SITE(9, 0));
		call.thread = (uint32_t)draw[1];
		add(ledger, &call);
		if (i % 1000 == 0) {
			hk_ledger_advance(ledger, draw[4]);
		}
	}
	hk_ledger_advance(ledger, UINT64_MAX);
	hk_ledger_free(ledger);
}

/* ---- the model ---- */

#define CELLS 512 /* heap addresses, and pages, of the model's process */
#define CALLS 20000
#define THREADS 4
#define TICKS 64 /* in an instant of the model */

struct model_account {
	uint64_t live, peak, allocs, frees;
	uint64_t at_peak; /* live at the peak of all */
};

/* What was live in all, after each change. */
struct history {
	struct {
		uint64_t ticks, live;
	} changes[4 * CALLS];
	size_t count;
};

struct model {
	uint64_t seed;
	uint64_t size[CELLS]; /* of the live heap block there, 0: none */
	int owner[CELLS];
	int page_owner[CELLS];					      /* -1: not mapped */
	struct model_account heap[LIBRARIES + 1], map[LIBRARIES + 1]; /* last: all */
	struct history heap_history, map_history;
	uint64_t now;
	uint64_t busy_until[THREADS];
	struct {
		struct call *call;
		uint64_t at;
	} pending[THREADS]; /* a realloc or remap that has released and not yet allocated */
	struct call calls[CALLS];
	size_t call_count;
};

static uint64_t draw(struct model *model, uint64_t below)
{
	model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
	return (model->seed >> 33) % below;
}

static void remember(const struct model *model, const struct model_account *accounts,
		     struct history *history)
{
	assert_true(history->count < 4 * CALLS);
	history->changes[history->count].ticks = model->now * TICKS;
	history->changes[history->count++].live = accounts[LIBRARIES].live;
}

static void model_add(struct model_account *accounts, int library, uint64_t bytes)
{
	const int both[2] = {library, LIBRARIES};
	const uint64_t before = accounts[LIBRARIES].peak;
	for (int i = 0; i < 2; i++) {
		struct model_account *account = &accounts[both[i]];
		account->allocs++;
		account->live += bytes;
		account->peak = account->live > account->peak ? account->live : account->peak;
	}
	for (int i = 0; i <= LIBRARIES && accounts[LIBRARIES].peak > before; i++) {
		accounts[i].at_peak = accounts[i].live;
	}
}

static void heap_release(struct model *model, size_t cell)
{
	const int both[2] = {model->owner[cell], LIBRARIES};
	for (int i = 0; i < 2; i++) {
		model->heap[both[i]].frees++;
		model->heap[both[i]].live -= model->size[cell];
	}
	model->size[cell] = 0;
	remember(model, model->heap, &model->heap_history);
}

static void heap_take(struct model *model, struct call *call, int pointer_word, int size_word)
{
	size_t cell;
	do {
		cell = draw(model, CELLS);
	} while (model->size[cell] != 0);
	model->size[cell] = call->words[size_word] = 1 + draw(model, 5000);
	model->owner[cell] = (int)(call->site % LIBRARIES);
	call->words[pointer_word] = 0x10000 + cell * 16;
	model_add(model->heap, model->owner[cell], model->size[cell]);
	remember(model, model->heap, &model->heap_history);
}

/* Takes PAGES away and gives them to OWNER (-1: nobody); a release counts once, for the owner of
 * the first page. */
static void pages_set(struct model *model, size_t first, size_t pages, int owner)
{
	bool told = owner >= 0; /* laying a mapping over another is no release */
	bool any = owner >= 0;
	for (size_t i = first; i < first + pages; i++) {
		int old = model->page_owner[i];
		if (old >= 0) {
			model->map[old].live -= 4096;
			model->map[LIBRARIES].live -= 4096;
			any = true;
			if (!told) {
				model->map[old].frees++;
				model->map[LIBRARIES].frees++;
				told = true;
			}
		}
		model->page_owner[i] = owner;
	}
	if (owner >= 0) {
		model_add(model->map, owner, pages * 4096);
	}
	if (any) {
		remember(model, model->map, &model->map_history);
	}
}

static void draw_pages(struct model *model, uint64_t *pointer, uint64_t *size)
{
	uint64_t pages = 1 + draw(model, 20);
	*pointer = 0x7f0000000000 + draw(model, CELLS - pages) * 4096;
	*size = pages * 4096 - draw(model, 4096);
}

static void pages_apply(struct model *model, uint64_t pointer, uint64_t size, int owner)
{
	pages_set(model, (pointer - 0x7f0000000000) / 4096, (size + 4095) / 4096, owner);
}

/* Starts a call of thread THREAD whose effect happens at time NOW. */
static void model_call(struct model *model, uint32_t thread, uint64_t now)
{
	struct call *call = &model->calls[model->call_count++];
	uint32_t library = (uint32_t)draw(model, LIBRARIES);
	size_t cell = draw(model, CELLS);
	uint64_t before = now - draw(model, now - model->busy_until[thread] + 1);
	uint64_t after = now + draw(model, 40) * draw(model, 40);
	uint64_t kind = draw(model, 100);
	*call = (struct call){.start = now, .end = after, .thread = thread + 1};
	if (model->size[cell] != 0 && kind < 60) {
		heap_release(model, cell);
		call->site = SITE(kind < 40 ? HK_MEANING_FREE : HK_MEANING_REALLOC, library);
		call->words[0] = 0x10000 + cell * 16;
		if (kind >= 40 && after > now) {
			model->pending[thread].call = call;
			model->pending[thread].at = after;
		} else {
			call->site = SITE(HK_MEANING_FREE, library);
		}
	} else if (kind < 80) {
		call->start = before;
		call->end = now;
		call->site = SITE(HK_MEANING_ALLOC, library);
		heap_take(model, call, 1, 0);
	} else if (kind < 90) {
		call->start = before;
		call->end = now;
		call->site = SITE(HK_MEANING_MAP, library);
		draw_pages(model, &call->words[0], &call->words[1]);
		pages_apply(model, call->words[0], call->words[1], (int)library);
	} else {
		call->site = SITE(HK_MEANING_UNMAP, library);
		draw_pages(model, &call->words[0], &call->words[1]);
		pages_apply(model, call->words[0], call->words[1], -1);
	}
	model->busy_until[thread] = call->end + 1;
}

static void model_run(struct model *model, uint64_t seed)
{
	memset(model, 0, sizeof(*model));
	memset(model->page_owner, 0xff, sizeof(model->page_owner));
	model->seed = seed;
	for (uint64_t now = 1000; model->call_count < CALLS; now++) {
		model->now = now;
		/* One effect per instant at most: then the truth has one order. */
		bool done = false;
		for (uint32_t i = 0; i < THREADS && !done; i++) {
			if (model->pending[i].call && model->pending[i].at <= now) {
				model->pending[i].call->end = now;
				model->busy_until[i] = now + 1;
				heap_take(model, model->pending[i].call, 1, 2);
				model->pending[i].call = NULL;
				done = true;
			}
		}
		uint32_t thread = (uint32_t)draw(model, THREADS);
		if (!done && !model->pending[thread].call && model->busy_until[thread] <= now) {
			model_call(model, thread, now);
		}
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		if (model->pending[i].call) { /* never returned */
			model->pending[i].call->site = SITE(HK_MEANING_FREE, 0);
		}
	}
}

static bool releases(const struct call *call)
{
	uint32_t meaning = call->site / LIBRARIES;
	return meaning == HK_MEANING_FREE || meaning == HK_MEANING_REALLOC ||
	       meaning == HK_MEANING_UNMAP;
}

static void add_scaled(struct hk_ledger *ledger, const struct call *call)
{
	struct call scaled = *call;
	scaled.start *= TICKS;
	scaled.end *= TICKS;
	add(ledger, &scaled);
}

/* Hands over at random instants what had ended by then, thread by thread, as a collector would. */
static void feed(struct model *model, struct hk_ledger *ledger)
{
	bool given[CALLS] = {false};
	uint64_t last = 0;
	for (size_t i = 0; i < CALLS; i++) {
		last = model->calls[i].end > last ? model->calls[i].end : last;
	}
	for (uint64_t now = 1000; now <= last; now += 1 + draw(model, 3000)) {
		uint64_t horizon = now;
		for (uint32_t thread = 1; thread <= THREADS; thread++) {
			for (size_t i = 0; i < CALLS; i++) {
				const struct call *call = &model->calls[i];
				if (call->thread != thread || given[i]) {
					continue;
				}
				if (call->end < now) {
					given[i] = true;
					add_scaled(ledger, call);
				} else if (releases(call) && call->start < horizon) {
					horizon = call->start;
				}
			}
		}
		hk_ledger_advance(ledger, horizon * TICKS);
	}
	for (size_t i = 0; i < CALLS; i++) {
		if (!given[i]) {
			add_scaled(ledger, &model->calls[i]);
		}
	}
	hk_ledger_advance(ledger, UINT64_MAX);
}

/* Every bin has the most and the last of what was live in it, and no bin is wider than it must be.
 */
static void check_series(const struct hk_series *series, const struct history *history,
			 uint64_t peak)
{
	assert_non_null(series);
	uint64_t first = history->changes[0].ticks, most = 0, live = 0;
	uint64_t span = history->changes[history->count - 1].ticks - first;
	assert_int_equal(series->start_ticks, first);
	assert_int_equal(series->count, (span >> series->shift) + 1);
	assert_true(series->count <= HK_SERIES_BINS && series->count > HK_SERIES_BINS / 2);
	assert_true(series->shift > HK_SERIES_SHIFT_MIN + 1);
	size_t next = 0;
	for (uint32_t bin = 0; bin < series->count; bin++) {
		uint64_t max = live;
		for (; next < history->count &&
		       (history->changes[next].ticks - first) >> series->shift == bin;
		     next++) {
			live = history->changes[next].live;
			max = live > max ? live : max;
		}
		assert_int_equal(series->max_bytes[bin], max);
		assert_int_equal(series->last_bytes[bin], live);
		most = max > most ? max : most;
	}
	assert_int_equal(next, history->count);
	assert_int_equal(most, peak);
}

static void test_ledger_equals_the_model(void **state)
{
	(void)state;
	struct model *model = malloc(sizeof(*model));
	assert_non_null(model);
	for (uint64_t seed = 1; seed <= 6; seed++) {
		model_run(model, seed);
		struct hk_ledger *ledger = make_ledger();
		feed(model, ledger);
		for (int i = 0; i <= LIBRARIES; i++) {
			const char *name = i < LIBRARIES ? library_names[i] : "*";
			const struct model_account *heap = &model->heap[i], *map = &model->map[i];
			assert_true(heap->allocs > 1000 && map->allocs > 100);
			CHECK(ledger, "heap", name, heap->allocs, heap->frees, heap->live,
			      heap->peak);
			CHECK(ledger, "map", name, map->allocs, map->frees, map->live, map->peak);
			assert_int_equal(row_of(ledger, "heap", name).at_peak_bytes, heap->at_peak);
			assert_int_equal(row_of(ledger, "map", name).at_peak_bytes, map->at_peak);
			assert_true(heap->at_peak > 0 && map->at_peak > 0);
		}
		check_series(row_of(ledger, "heap", "*").series, &model->heap_history,
			     model->heap[LIBRARIES].peak);
		check_series(row_of(ledger, "map", "*").series, &model->map_history,
			     model->map[LIBRARIES].peak);
		assert_null(row_of(ledger, "map", library_names[0]).series);
		assert_int_equal(row_of(ledger, "heap", "*").peak_low, model->heap[LIBRARIES].peak);
		hk_ledger_free(ledger);
	}
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_device_has_its_rows),
	    cmocka_unit_test(test_pinned_heap_is_both),
	    cmocka_unit_test(test_absurd_devices_share_a_row),
	    cmocka_unit_test(test_ledger_free_counts_for_the_library_that_allocated),
	    cmocka_unit_test(test_ledger_holds_back_what_an_open_free_may_precede),
	    cmocka_unit_test(test_ledger_realloc),
	    cmocka_unit_test(test_ledger_wrapper_around_an_allocator_counts_once),
	    cmocka_unit_test(test_ledger_failed_and_unknown_calls_change_nothing),
	    cmocka_unit_test(test_ledger_loss_makes_the_peak_a_range),
	    cmocka_unit_test(test_ledger_mappings_split_move_and_overlay),
	    cmocka_unit_test(test_what_was_live_at_the_peak),
	    cmocka_unit_test(test_series_takes_any_time),
	    cmocka_unit_test(test_few_series),
	    cmocka_unit_test(test_ledger_survives_hostile_records),
	    cmocka_unit_test(test_ledger_equals_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
