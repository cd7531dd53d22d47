/* The ledger against a model that owns a small address space and knows the true order of
 * everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ledger_maker.h"

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

/* Takes PAGES away and gives them to OWNER (-1: no owner); a release counts once, for the owner of
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
	    cmocka_unit_test(test_ledger_equals_the_model),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
