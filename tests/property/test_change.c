/* A process that grows at random, sent in changes over a line that loses answers and repeats
 * messages: after each change the receiver's merged process equals the sender's. The same through a
 * statistics file, cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "wire/change.h"
#include "wire/columns.h"
#include "wire/statistics.h"

#define SITES 12
#define BUCKETS 40
#define THREADS 6
#define ROUNDS 3000

/* The model: plain arrays, from which the whole message is rebuilt each time. */
struct model {
	uint32_t seed;
	uint64_t records;
	uint32_t sites, threads, memory, open;
	uint32_t level[SITES];
	uint64_t calls[SITES], total[SITES], bucket[SITES][BUCKETS];
	uint64_t live[3];
	char names[THREADS][16];
	bool ended;
};

static uint32_t draw(struct model *model, uint32_t below)
{
	model->seed = model->seed * 1664525u + 1013904223u;
	return (model->seed >> 8) % below;
}

static void model_step(struct model *model)
{
	model->records += draw(model, 3);
	model->open = draw(model, 4);
	if (model->sites < SITES && draw(model, 40) == 0) {
		model->sites++;
	}
	if (model->threads < THREADS && draw(model, 60) == 0) {
		snprintf(model->names[model->threads++], sizeof(model->names[0]), "thread");
	}
	if (model->memory < 3 && draw(model, 100) == 0) {
		model->memory++;
	}
	for (uint32_t i = draw(model, 5); i > 0 && model->sites > 0; i--) {
		uint32_t site = draw(model, model->sites);
		model->calls[site]++;
		if (draw(model, 3) > 0) {
			uint32_t bucket = draw(model, BUCKETS);
			model->bucket[site][bucket]++;
			model->total[site] += bucket;
		}
	}
	if (model->memory > 0) {
		model->live[draw(model, model->memory)] = draw(model, 100);
	}
	if (model->threads > 0 && draw(model, 50) == 0) {
		uint32_t thread = draw(model, model->threads);
		snprintf(model->names[thread], sizeof(model->names[0]), "t%u", draw(model, 1000));
	}
	if (model->sites > 0 && draw(model, 50) == 0) {
		model->level[draw(model, model->sites)] = draw(model, 5);
	}
	model->ended = model->ended || draw(model, ROUNDS) == 0;
}

static Hk__Cells *model_columns(const struct model *model)
{
	struct hk_columns_builder builder = {0};
	for (uint32_t i = 0; i < model->sites; i++) {
		uint32_t bucket[BUCKETS];
		uint64_t count[BUCKETS];
		struct hk_columns_row row = {.site = 3 * i,
					     .calls = model->calls[i],
					     .total_ns = model->total[i],
					     .bucket = bucket,
					     .count = count};
		for (uint32_t k = 0; k < BUCKETS; k++) {
			if (model->bucket[i][k] > 0) {
				bucket[row.buckets] = 7 * k;
				count[row.buckets++] = model->bucket[i][k];
			}
		}
		assert_int_equal(hk_columns_add(&builder, &row), 0);
	}
	return hk_columns_take(&builder);
}

/* The packed message of MODEL; the caller frees it. */
static uint8_t *model_bytes(struct model *model, size_t *ret_size)
{
	uint8_t uid[16] = {1, 2, 3};
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Anchor end = HK__ANCHOR__INIT;
	Hk__Site sites[SITES], *site_list[SITES];
	Hk__Thread threads[THREADS], *thread_list[THREADS];
	Hk__Memory memory[3], *memory_list[3];
	Hk__OpenCall open[4], *open_list[4];
	process.uid = (ProtobufCBinaryData){.len = sizeof(uid), .data = uid};
	process.rank = -1;
	process.records = model->records;
	process.command = (char *)(uintptr_t) "./a";
	end.ticks = 17;
	process.end = model->ended ? &end : NULL;
	process.exit_kind = model->ended ? HK__EXIT_KIND__EXIT_EXITED : HK__EXIT_KIND__EXIT_RUNNING;
	for (uint32_t i = 0; i < model->sites; i++) {
		hk__site__init(site_list[i] = &sites[i]);
		sites[i].id = 3 * i;
		sites[i].function = (char *)(uintptr_t) "f";
		sites[i].level = model->level[i];
	}
	for (uint32_t i = 0; i < model->threads; i++) {
		hk__thread__init(thread_list[i] = &threads[i]);
		threads[i].uid = 100 + i;
		threads[i].name = model->names[i];
	}
	for (uint32_t i = 0; i < model->memory; i++) {
		hk__memory__init(memory_list[i] = &memory[i]);
		memory[i].device = (int32_t)(i / 2);
		memory[i].kind = (char *)(uintptr_t)(i % 2 ? "map" : "heap");
		memory[i].live_bytes = model->live[i];
	}
	for (uint32_t i = 0; i < model->open; i++) {
		hk__open_call__init(open_list[i] = &open[i]);
		open[i].depth = i;
	}
	process.sites = site_list;
	process.n_sites = model->sites;
	process.threads = thread_list;
	process.n_threads = model->threads;
	process.memory = memory_list;
	process.n_memory = model->memory;
	/* Texts come and go with the open calls. */
	char *texts[4] = {(char *)(uintptr_t) "10.0.0.1", (char *)(uintptr_t) "",
			  (char *)(uintptr_t) "10.0.0.3", (char *)(uintptr_t) "fe80::1"};
	process.addresses = texts;
	process.n_addresses = model->open;
	process.open_calls = open_list;
	process.n_open_calls = model->open;
	process.cells = model_columns(model);
	uint8_t *bytes;
	assert_int_equal(hk_message_pack(&process.base, &bytes, ret_size), 0);
	if (process.cells) {
		hk__cells__free_unpacked(process.cells, NULL);
	}
	return bytes;
}

static Hk__Process *unpack(const uint8_t *bytes, size_t size)
{
	ProtobufCMessage *message;
	assert_int_equal(hk_message_unpack(&hk__process__descriptor, bytes, size, &message), 0);
	return (Hk__Process *)message;
}

static Hk__Process *model_process(struct model *model)
{
	size_t size;
	uint8_t *bytes = model_bytes(model, &size);
	Hk__Process *process = unpack(bytes, size);
	free(bytes);
	return process;
}

static void assert_same(const Hk__Process *a, const Hk__Process *b)
{
	uint8_t *x, *y;
	size_t x_size, y_size;
	assert_int_equal(hk_message_pack(&a->base, &x, &x_size), 0);
	assert_int_equal(hk_message_pack(&b->base, &y, &y_size), 0);
	assert_int_equal(x_size, y_size);
	assert_memory_equal(x, y, x_size);
	free(x);
	free(y);
}

/* As it goes over the wire. */
static Hk__Process *carry(const Hk__Process *change)
{
	uint8_t *bytes;
	size_t size;
	assert_int_equal(hk_message_pack(&change->base, &bytes, &size), 0);
	Hk__Process *carried = unpack(bytes, size);
	free(bytes);
	return carried;
}

/* The sender: the state that the other side certainly has, and the change that it may have. */
struct teller {
	Hk__Process *told, *doubtful;
};

static void teller_answered(struct teller *teller)
{
	if (!teller->told) {
		assert_int_equal(hk_change_begin(teller->doubtful, &teller->told), 0);
	}
	assert_int_equal(hk_change_apply(teller->told, teller->doubtful), 0);
	hk__process__free_unpacked(teller->doubtful, NULL);
	teller->doubtful = NULL;
}

/* A connection that broke: everything is sent again. */
static void teller_forget(struct teller *teller)
{
	Hk__Process *parts[] = {teller->told, teller->doubtful};
	for (int i = 0; i < 2; i++) {
		if (parts[i]) {
			hk__process__free_unpacked(parts[i], NULL);
		}
	}
	*teller = (struct teller){0};
}

/* The change goes over the line up to three times. */
static void tell(struct model *model, const struct teller *teller, Hk__Process **theirs)
{
	for (uint32_t i = draw(model, 3); i <= 2; i++) {
		Hk__Process *carried = carry(teller->doubtful);
		if (!*theirs) {
			assert_int_equal(hk_change_begin(carried, theirs), 0);
		}
		assert_int_equal(hk_change_apply(*theirs, carried), 0);
		hk__process__free_unpacked(carried, NULL);
	}
}

static void test_merged_changes_are_the_process(void **state)
{
	(void)state;
	struct model model = {.seed = 4711};
	struct teller teller = {0};
	Hk__Process *theirs = NULL;
	uint64_t nothing_new = 0;
	for (int round = 0; round < ROUNDS; round++) {
		if (draw(&model, 8) > 0) {
			model_step(&model);
		}
		if (teller.doubtful) {
			tell(&model, &teller, &theirs);
			teller_answered(&teller);
		}
		if (draw(&model, 50) == 0) {
			teller_forget(&teller);
		}
		Hk__Process *now = model_process(&model);
		int r = hk_change_make(now, teller.told, &teller.doubtful);
		assert_in_range(r, 0, 1);
		nothing_new += r == 0;
		if (r == 1) {
			tell(&model, &teller, &theirs);
		}
		assert_same(now, theirs);
		if (r == 1 && draw(&model, 3) > 0) { /* else the answer is lost */
			teller_answered(&teller);
		}
		hk__process__free_unpacked(now, NULL);
	}
	assert_true(nothing_new > 0 && model.sites == SITES && model.memory == 3);
	teller_forget(&teller);
	hk__process__free_unpacked(theirs, NULL);
}

static void test_change_holds_changed_sites_and_buckets_only(void **state)
{
	(void)state;
	struct model model = {.seed = 5, .sites = SITES};
	for (int i = 0; i < 500; i++) {
		model_step(&model);
	}
	Hk__Process *before = model_process(&model), *change;
	model.bucket[7][3] += 5;
	model.calls[7] += 5;
	Hk__Process *now = model_process(&model);
	assert_int_equal(hk_change_make(now, before, &change), 1);
	assert_int_equal(hk_columns_rows(change->cells), 1);
	assert_int_equal(change->cells->site[0], 3 * 7);
	assert_int_equal(change->cells->n_bucket, 1);
	assert_int_equal(change->cells->count[0], model.bucket[7][3]);
	assert_int_equal(change->n_sites, 0);
	assert_int_equal(change->n_threads, 0);
	assert_string_equal(change->command, "");
	hk__process__free_unpacked(change, NULL);
	hk__process__free_unpacked(before, NULL);
	hk__process__free_unpacked(now, NULL);
}

static void test_change_of_another_or_unsound_is_refused(void **state)
{
	(void)state;
	struct model model = {.seed = 5, .sites = 3, .bucket = {{1, 2}, {3}}};
	Hk__Process *now = model_process(&model), *same = model_process(&model);
	Hk__Process *change = model_process(&model);
	change->uid.data[0]++;
	assert_int_equal(hk_change_apply(now, change), -EINVAL);
	change->uid.data[0]--;
	change->cells->site[1] = change->cells->site[0];
	assert_int_equal(hk_change_apply(now, change), -EINVAL);
	change->cells->site[1]++;
	change->cells->buckets[0]++;
	assert_int_equal(hk_change_apply(now, change), -EINVAL);
	change->cells->buckets[0]--;
	change->cells->bucket[0] = 1152;
	assert_int_equal(hk_change_apply(now, change), -EINVAL);
	change->cells->bucket[0] = 0;
	change->cells->n_errors--;
	assert_int_equal(hk_change_apply(now, change), -EINVAL);
	assert_same(now, same);
	change->cells->n_errors++;
	assert_int_equal(hk_change_apply(now, change), 0);
	change->uid.len = 3;
	assert_int_equal(hk_change_begin(change, &same), -EINVAL);
	hk__process__free_unpacked(now, NULL);
	hk__process__free_unpacked(same, NULL);
	hk__process__free_unpacked(change, NULL);
}

/* ---- lists in any order ---- */

#define MANY 65536u

/* A process of MANY sites that begin with site FIRST and rise by STEP, modulo MANY. */
static Hk__Process *many_sites(uint32_t first, uint32_t step)
{
	struct model model = {.seed = 1};
	Hk__Process *process = model_process(&model);
	process->sites = calloc(MANY, sizeof(*process->sites));
	assert_non_null(process->sites);
	for (uint32_t i = 0; i < MANY; i++) {
		Hk__Site *site = malloc(sizeof(*site));
		assert_non_null(site);
		hk__site__init(site);
		site->id = (first + i * step) % MANY;
		site->level = step;
		process->sites[i] = site;
	}
	process->n_sites = MANY;
	return process;
}

/* Processor time of merging a change with the sites in the order of FIRST and STEP. */
static double merge_s(uint32_t first, uint32_t step)
{
	struct timespec begin, end;
	Hk__Process *process = many_sites(0, 1), *change = many_sites(first, step);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(hk_change_apply(process, change), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(process->n_sites, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(process->sites[i]->id, i);
		assert_int_equal(process->sites[i]->level, step);
	}
	hk__process__free_unpacked(process, NULL);
	hk__process__free_unpacked(change, NULL);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* A search through the whole list for each element takes thousands of times as long. */
static void test_merge_of_shuffled_sites_takes_linear_time(void **state)
{
	(void)state;
	double in_order = merge_s(0, 1);
	assert_true(merge_s(MANY - 1, MANY - 1) < 100 * in_order);
	assert_true(merge_s(7, 40503) < 100 * in_order);
}

static void test_elements_beyond_the_most_push_out_the_oldest_but_the_first(void **state)
{
	(void)state;
	const uint32_t most = 4096, all = most + 500;
	struct model model = {.seed = 1};
	Hk__Process *process = model_process(&model);
	for (uint32_t from = 0; from < all; from += 92) {
		Hk__Process *change = model_process(&model);
		change->threads = calloc(92, sizeof(*change->threads));
		for (uint32_t i = 0; i < 92 && from + i < all; i++) {
			Hk__Thread *thread = malloc(sizeof(*thread));
			hk__thread__init(thread);
			thread->uid = from + i;
			change->threads[change->n_threads++] = thread;
		}
		assert_int_equal(hk_change_apply(process, change), 0);
		hk__process__free_unpacked(change, NULL);
	}
	assert_int_equal(process->n_threads, most);
	assert_int_equal(process->threads[0]->uid, 0);
	for (uint32_t i = 1; i < most; i++) {
		assert_int_equal(process->threads[i]->uid, all - most + i);
	}
	hk__process__free_unpacked(process, NULL);
}

/* ---- through a file ---- */

static Hk__Snapshot *load(const char *directory, int expected)
{
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(directory, &snapshot), expected);
	return snapshot;
}

static void test_file_of_changes_is_the_process(void **state)
{
	(void)state;
	char directory[] = "/tmp/hk-change-XXXXXX", path[64];
	struct model model = {.seed = 99};
	struct hk_statistics *statistics;
	Hk__Process *told = NULL;
	bool compacted = false;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" HK_STATISTICS_FILE, directory);
	assert_int_equal(hk_statistics_open(directory, &statistics), 0);
	for (int round = 0; round < ROUNDS; round++) {
		Hk__Process *change;
		model_step(&model);
		Hk__Process *now = model_process(&model);
		if (hk_change_make(now, told, &change) == 1) {
			uint64_t before = hk_statistics_file_bytes(statistics);
			assert_int_equal(hk_statistics_put_change(statistics, change), 0);
			compacted |= hk_statistics_file_bytes(statistics) < before;
			if (!told) {
				assert_int_equal(hk_change_begin(change, &told), 0);
			}
			assert_int_equal(hk_change_apply(told, change), 0);
			hk__process__free_unpacked(change, NULL);
		}
		if (round % 97 == 0 || round == ROUNDS - 1) {
			Hk__Snapshot *snapshot = load(directory, 0);
			assert_int_equal(snapshot->n_processes, 1);
			assert_same(snapshot->processes[0], now);
			hk__snapshot__free_unpacked(snapshot, NULL);
		}
		if (round % 500 == 0) { /* another writer continues */
			hk_statistics_free(statistics);
			assert_int_equal(hk_statistics_open(directory, &statistics), 0);
		}
		hk__process__free_unpacked(now, NULL);
	}
	assert_true(compacted);
	hk_statistics_free(statistics);
	hk__process__free_unpacked(told, NULL);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

/* A writer that dies leaves a file cut anywhere: what it holds is the process at some change. */
static void test_cut_file_is_an_earlier_state(void **state)
{
	(void)state;
	enum { CHANGES = 12 };
	char directory[] = "/tmp/hk-change-XXXXXX", path[64];
	struct model model = {.seed = 7, .sites = 2};
	struct hk_statistics *statistics;
	Hk__Process *states[CHANGES] = {NULL}, *change;
	uint64_t ends[CHANGES];
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/" HK_STATISTICS_FILE, directory);
	assert_int_equal(hk_statistics_open(directory, &statistics), 0);
	for (int i = 0; i < CHANGES; i++) {
		model_step(&model);
		model.records++;
		states[i] = model_process(&model);
		assert_int_equal(hk_change_make(states[i], i ? states[i - 1] : NULL, &change), 1);
		assert_int_equal(i == 0 ? hk_statistics_put_process(statistics, states[i])
					: hk_statistics_put_change(statistics, change),
				 0);
		ends[i] = hk_statistics_file_bytes(statistics);
		hk__process__free_unpacked(change, NULL);
	}
	hk_statistics_free(statistics);
	for (uint64_t size = ends[CHANGES - 1], i = CHANGES - 1; size >= ends[0]; size--) {
		assert_int_equal(truncate(path, (off_t)size), 0);
		i -= size < ends[i];
		Hk__Snapshot *snapshot = load(directory, size == ends[i] ? 0 : -EBADMSG);
		assert_same(snapshot->processes[0], states[i]);
		hk__snapshot__free_unpacked(snapshot, NULL);
	}
	for (int i = 0; i < CHANGES; i++) {
		hk__process__free_unpacked(states[i], NULL);
	}
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_merged_changes_are_the_process),
	    cmocka_unit_test(test_change_holds_changed_sites_and_buckets_only),
	    cmocka_unit_test(test_change_of_another_or_unsound_is_refused),
	    cmocka_unit_test(test_merge_of_shuffled_sites_takes_linear_time),
	    cmocka_unit_test(test_elements_beyond_the_most_push_out_the_oldest_but_the_first),
	    cmocka_unit_test(test_file_of_changes_is_the_process),
	    cmocka_unit_test(test_cut_file_is_an_earlier_state),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
