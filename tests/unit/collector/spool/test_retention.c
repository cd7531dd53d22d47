/* Simulated processes whose oldest records are given up, with collectors that die in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/job/jobdir.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/memory/memory_rows.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/process_state.h"
#include "collector/spool/drain.h"
#include "collector/spool/retention.h"
#include "replay_count.h"
#include "wire/statistics.h"
#include "world.h"

#define SECOND_NS UINT64_C(1000000000)
#define LIVE_BLOCKS 50u
#define CALL_TICKS 5u

static const uint8_t alloc_keys[4] = {HK_KEY_POINTER, HK_KEY_SIZE};
static const uint8_t free_keys[4] = {HK_KEY_POINTER};

/* A process that allocates blocks of falling sizes, so that its peak comes early, and frees each
 * LIVE_BLOCKS calls later. */
struct worker {
	struct process_maker maker;
	uint32_t get, put;
	uint64_t now, calls, frees, live, peak;
	struct hk_series series;
};

static void worker_start(struct worker *worker, const struct world *world, int32_t rank)
{
	*worker = (struct worker){.now = 0};
	process_maker_start(&worker->maker, &(struct process_facts){.directory = world->run,
								    .job = "w",
								    .rank = rank,
								    .world_size = 2});
	worker->get =
	    process_maker_site(&worker->maker, "malloc", "/a", HK_MEANING_ALLOC, alloc_keys);
	worker->put = process_maker_site(&worker->maker, "free", "/b", HK_MEANING_FREE, free_keys);
	worker->now = worker->maker.writer.header->start.ticks;
}

static uint64_t size_of(uint64_t block)
{
	return 100000 - block;
}

static void worker_work(struct worker *worker, unsigned count)
{
	/* Long enough for the series to have wider bins in the end. */
	worker->now += UINT64_C(8) << HK_SERIES_SHIFT_MIN;
	for (unsigned i = 0; i < count; i++) {
		uint64_t block = worker->calls++;
		const uint64_t words[2] = {0x10000 + 16 * block, size_of(block)};
		worker->now += 20;
		assert_true(process_maker_call(&worker->maker, 0, worker->get, worker->now,
					       CALL_TICKS, words, 2));
		worker->live += size_of(block);
		worker->peak = worker->live > worker->peak ? worker->live : worker->peak;
		hk_series_add(&worker->series, worker->now + CALL_TICKS, worker->live);
		if (block >= LIVE_BLOCKS) {
			const uint64_t old[1] = {0x10000 + 16 * (block - LIVE_BLOCKS)};
			worker->now += 20;
			assert_true(process_maker_call(&worker->maker, 0, worker->put, worker->now,
						       CALL_TICKS, old, 1));
			worker->live -= size_of(block - LIVE_BLOCKS);
			hk_series_add(&worker->series, worker->now, worker->live);
			worker->frees++;
		}
	}
}

static void seal(const struct world *world, const struct worker *worker)
{
	struct hk_process *process = world_find(world, &worker->maker);
	assert_non_null(process);
	assert_int_equal(hk_drain_seal(world->collector, process), 0);
}

/* Until all is given up that has to be: a checkpoint may have to wait some milliseconds. */
static void settle(const struct world *world)
{
	while (hk_retention_apply(world->collector, hk_job_find(world->collector, "w"))) {
	}
}

static uint64_t in_file(const struct world *world, const struct worker *worker)
{
	char directory[96], path[PATH_MAX];
	snprintf(directory, sizeof(directory), "%s/store/w", world->base);
	assert_int_equal(hk_jobdir_chunks(directory, worker->maker.writer.header->uid, path), 0);
	return count_stored_records(path);
}

static const Hk__Process *find_state(const Hk__Snapshot *snapshot, const struct worker *worker)
{
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (memcmp(snapshot->processes[i]->uid.data, worker->maker.writer.header->uid,
			   HK_UID_BYTES) == 0) {
			return snapshot->processes[i];
		}
	}
	fail();
	return NULL;
}

/* Live bytes over time are as if no collector had ever died. */
static void check_series(const Hk__Process *state, const struct hk_series *wanted)
{
	for (uint32_t i = 0; i < wanted->count; i++) {
		const Hk__MemorySeries *part = state->memory_series[i / HK_MEMORY_PART_BINS];
		uint32_t bin = i % HK_MEMORY_PART_BINS;
		assert_int_equal(part->start_ticks, wanted->start_ticks);
		assert_int_equal(part->shift, wanted->shift);
		assert_int_equal(part->part, i / HK_MEMORY_PART_BINS);
		assert_int_equal(part->max_bytes[bin], wanted->max_bytes[i]);
		assert_int_equal(part->last_bytes[bin], wanted->last_bytes[i]);
		assert_true(part->n_max_bytes == HK_MEMORY_PART_BINS || part->n_max_bytes > bin);
	}
}

/* Everything is known of a worker, whatever is left of its records; how many are. */
static uint64_t check_worker(const struct world *world, const Hk__Snapshot *snapshot,
			     const struct worker *worker)
{
	const Hk__Process *state = find_state(snapshot, worker);
	uint64_t kept = in_file(world, worker);
	assert_int_equal(state->records, worker->calls + worker->frees);
	assert_int_equal(state->lost_records, 0);
	assert_int_equal(state->records_shed + kept, state->records);
	assert_int_equal(state->memory[0]->allocs, worker->calls);
	assert_int_equal(state->memory[0]->frees, worker->frees);
	assert_int_equal(state->memory[0]->live_bytes, worker->live);
	assert_int_equal(state->memory[0]->peak_bytes, worker->peak);
	assert_int_equal(state->memory[0]->peak_low, worker->peak);
	assert_int_equal(state->memory[0]->peak_high, worker->peak);
	assert_int_equal(state->memory[0]->at_peak_bytes, worker->peak);
	assert_int_equal(state->memory[1]->at_peak_bytes, worker->peak);
	check_series(state, &worker->series);
	return kept;
}

static Hk__Snapshot *close_and_load(const struct world *world)
{
	char path[96];
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_job_close(world->collector, hk_job_find(world->collector, "w")), 0);
	snprintf(path, sizeof(path), "%s/store/w", world->base);
	assert_int_equal(hk_statistics_load(path, &snapshot), 0);
	return snapshot;
}

/* A window of BYTES over two processes; the second ends early, and collectors die: before a slide,
 * after one, never. */
static void live_in_window(struct world *world, struct worker workers[2], uint64_t bytes)
{
	const struct hk_keep keep = {bytes, UINT64_MAX};
	world->collector->options.keep = keep;
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned i = 0; i < 2; i++) {
			if (i == 1 && round > 30) {
				continue;
			}
			worker_work(&workers[i], 200);
			seal(world, &workers[i]);
		}
		if (round == 30) {
			process_maker_exit(&workers[1].maker, 0);
			world_finalise(world, &workers[1].maker);
		}
		if (round % 7 == 3) {
			world_restart(world);
			world->collector->options.keep = keep;
		}
		struct hk_job *job = hk_job_find(world->collector, "w");
		settle(world);
		assert_true(hk_retention_held(job) <= bytes);
		if (round % 7 == 5) {
			world_restart(world);
			world->collector->options.keep = keep;
		}
	}
}

static void test_a_window_of_bytes_keeps_the_newest_of_all(void **state)
{
	struct world world;
	struct worker workers[2];
	(void)state;
	world_make(&world);
	for (unsigned i = 0; i < 2; i++) {
		worker_start(&workers[i], &world, (int32_t)i);
	}
	workers[0].now = workers[1].now;
	hk_discovery_run(world.collector);
	live_in_window(&world, workers, 10000);
	process_maker_exit(&workers[0].maker, 0);
	world_finalise(&world, &workers[0].maker);
	Hk__Snapshot *snapshot = close_and_load(&world);
	/* What the one that went on wrote later has pushed out all that the other one left. */
	uint64_t kept = check_worker(&world, snapshot, &workers[0]);
	assert_true(workers[0].series.shift > HK_SERIES_SHIFT_MIN);
	assert_in_range(kept, 500, workers[0].calls);
	assert_int_equal(check_worker(&world, snapshot, &workers[1]), 0);
	hk__snapshot__free_unpacked(snapshot, NULL);
	for (unsigned i = 0; i < 2; i++) {
		process_maker_fini(&workers[i].maker);
	}
	world_remove(&world);
}

static void test_a_window_of_time_keeps_what_is_young(void **state)
{
	struct world world;
	struct worker worker;
	(void)state;
	world_make(&world);
	worker_start(&worker, &world, 0);
	/* It began 100 s ago, and made calls at once, after 40 s, after 80 s. */
	worker.maker.writer.header->start.monotonic_ns -= 100 * SECOND_NS;
	uint64_t start = worker.now;
	hk_discovery_run(world.collector);
	world.collector->options.keep = (struct hk_keep){UINT64_MAX, 50 * SECOND_NS};
	for (unsigned i = 0; i < 3; i++) {
		worker.now = start + i * 40 * SECOND_NS;
		worker_work(&worker, 100);
		seal(&world, &worker);
	}
	settle(&world);
	process_maker_exit(&worker.maker, 0);
	world_finalise(&world, &worker.maker);
	Hk__Snapshot *snapshot = close_and_load(&world);
	assert_int_equal(check_worker(&world, snapshot, &worker), 200);
	hk__snapshot__free_unpacked(snapshot, NULL);
	process_maker_fini(&worker.maker);
	world_remove(&world);
}

static void test_the_newest_chunk_stays_however_little_may_be_kept(void **state)
{
	struct world world;
	struct worker worker;
	(void)state;
	world_make(&world);
	worker_start(&worker, &world, 0);
	hk_discovery_run(world.collector);
	world.collector->options.keep = (struct hk_keep){1, UINT64_MAX};
	for (unsigned i = 0; i < 5; i++) {
		worker_work(&worker, 300);
		seal(&world, &worker);
		settle(&world);
	}
	assert_int_equal(in_file(&world, &worker), 600);
	process_maker_fini(&worker.maker);
	world_remove(&world);
}

/* What the root has leaves the file and is not lost; the ledger knows it after a restart. */
static void test_acknowledged_chunks_leave_the_file(void **state)
{
	struct world world;
	struct worker worker;
	(void)state;
	world_make(&world);
	worker_start(&worker, &world, 0);
	hk_discovery_run(world.collector);
	for (unsigned i = 0; i < 10; i++) {
		worker_work(&worker, 100);
		seal(&world, &worker);
		struct hk_process *process = world_find(&world, &worker.maker);
		hk_retention_release(world.collector, process, i / 2);
		if (i == 6) {
			world_restart(&world);
		}
	}
	struct hk_process *process = world_find(&world, &worker.maker);
	assert_int_equal(hk_state_refresh(world.collector, process, true), 0);
	/* Chunks 1 to 4. */
	assert_int_equal(process->state->records_elsewhere, 4 * 200 - LIVE_BLOCKS);
	assert_int_equal(process->state->records_shed, 0);
	assert_int_equal(in_file(&world, &worker), 6 * 200);
	process_maker_exit(&worker.maker, 0);
	world_finalise(&world, &worker.maker);
	assert_int_equal(process->state->memory[0]->allocs, worker.calls);
	assert_int_equal(process->state->memory[0]->peak_bytes, worker.peak);
	assert_int_equal(process->state->memory[0]->peak_high, worker.peak);
	process_maker_fini(&worker.maker);
	world_remove(&world);
}

/* Without the checkpoint what was given up is a gap, and the peak a range that holds the truth. */
static void test_a_lost_checkpoint_is_a_gap(void **state)
{
	struct world world;
	struct worker worker;
	char directory[96], path[PATH_MAX];
	(void)state;
	world_make(&world);
	worker_start(&worker, &world, 0);
	hk_discovery_run(world.collector);
	world.collector->options.keep = (struct hk_keep){1, UINT64_MAX};
	for (unsigned i = 0; i < 4; i++) {
		worker_work(&worker, 300);
		seal(&world, &worker);
		settle(&world);
	}
	snprintf(directory, sizeof(directory), "%s/store/w", world.base);
	assert_int_equal(hk_jobdir_chunks(directory, worker.maker.writer.header->uid, path), 0);
	memcpy(path + strlen(path) - strlen(".chunks"), ".ledger", sizeof(".ledger"));
	assert_int_equal(unlink(path), 0);
	world_restart(&world);
	struct hk_process *process = world_find(&world, &worker.maker);
	assert_int_equal(hk_drain_pass(world.collector, process, hk_clock_monotonic_ns()), 0);
	assert_int_equal(hk_state_refresh(world.collector, process, true), 0);
	const Hk__Memory *memory = process->state->memory[0];
	assert_true(memory->peak_low < worker.peak && memory->peak_high > worker.peak);
	process_maker_fini(&worker.maker);
	world_remove(&world);
}

static void test_keep_is_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes, ns;
	} good[] = {
	    {"all", UINT64_MAX, UINT64_MAX},
	    {"0", 0, UINT64_MAX},
	    {"17", 17, UINT64_MAX},
	    {"2K", 2048, UINT64_MAX},
	    {"3M", 3u << 20, UINT64_MAX},
	    {"10G", UINT64_C(10) << 30, UINT64_MAX},
	    {"30s", UINT64_MAX, 30 * SECOND_NS},
	};
	static const char *const bad[] = {"",
					  "s",
					  "0s",
					  "-1",
					  "1h",
					  "10GB",
					  " 1",
					  "1 M",
					  "M",
					  "1.5G",
					  "alls",
					  "99999999999999999999",
					  "99999999999s",
					  "99999999999G"};
	struct hk_keep keep;
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(hk_keep_parse(good[i].text, &keep), 0);
		assert_int_equal(keep.bytes, good[i].bytes);
		assert_int_equal(keep.ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hk_keep_parse(bad[i], &keep), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_window_of_bytes_keeps_the_newest_of_all),
	    cmocka_unit_test(test_a_window_of_time_keeps_what_is_young),
	    cmocka_unit_test(test_the_newest_chunk_stays_however_little_may_be_kept),
	    cmocka_unit_test(test_acknowledged_chunks_leave_the_file),
	    cmocka_unit_test(test_a_lost_checkpoint_is_a_gap),
	    cmocka_unit_test(test_keep_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
