/* Simulated processes through scan, drain, finalise and close, with collectors that die in between.
 */
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
#include <utlist.h>

#include "base/clock.h"
#include "collector/job/jobdir.h"
#include "collector/lifecycle/discovery.h"
#include "collector/lifecycle/job_close.h"
#include "collector/lifecycle/job_list.h"
#include "collector/lifecycle/job_save.h"
#include "collector/lifecycle/process_exit.h"
#include "collector/model/attachment.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/process_state.h"
#include "collector/spool/drain.h"
#include "collector/spool/spool.h"
#include "replay_count.h"
#include "wire/columns.h"
#include "wire/statistics.h"
#include "world.h"

static Hk__Snapshot *load(const struct world *world, const char *id)
{
	char path[96];
	Hk__Snapshot *snapshot;
	snprintf(path, sizeof(path), "%s/store/%s", world->base, id);
	assert_int_equal(hk_statistics_load(path, &snapshot), 0);
	return snapshot;
}

static const Hk__Process *process_in(const Hk__Snapshot *snapshot, const uint8_t *uid)
{
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (memcmp(snapshot->processes[i]->uid.data, uid, HK_UID_BYTES) == 0) {
			return snapshot->processes[i];
		}
	}
	fail();
	return NULL;
}

static bool segment_exists(const struct process_maker *maker)
{
	return access(maker->writer.path, F_OK) == 0;
}

/* Records of MAKER in the chunk file of job ID; every start but once (they are all different). */
static uint64_t stored_records(const struct world *world, const char *id,
			       const struct process_maker *maker)
{
	char path[160];
	int length = snprintf(path, sizeof(path), "%s/store/%s/", world->base, id);
	for (unsigned i = 0; i < HK_UID_BYTES; i++) {
		length += snprintf(path + length, 3, "%02x", maker->writer.header->uid[i]);
	}
	snprintf(path + length, sizeof(path) - (size_t)length, ".chunks");
	return count_stored_records(path);
}

static const uint8_t alloc_keys[4] = {HK_KEY_POINTER, HK_KEY_SIZE};
static const uint8_t free_keys[4] = {HK_KEY_POINTER};
static const uint8_t no_keys[4] = {0};

static void test_process_that_exits_leaves_everything_in_its_job(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){
				.directory = world.run, .job = "j/1", .rank = 2, .world_size = 4});
	uint32_t send = process_maker_site(&maker, "send", "/a", HK_MEANING_SEND, no_keys);
	uint32_t get = process_maker_site(&maker, "malloc", "/a", HK_MEANING_ALLOC, alloc_keys);
	uint32_t put = process_maker_site(&maker, "free", "/b", HK_MEANING_FREE, free_keys);
	uint64_t start = maker.writer.header->start.ticks;
	for (uint64_t i = 0; i < 5000; i++) {
		process_maker_call(&maker, i % 3, send, start + 10 * i, 1 + i % 7, NULL, 0);
	}
	process_maker_call(&maker, 0, get, start + 5, 10, (uint64_t[]){0x1000, 777}, 2);
	process_maker_call(&maker, 1, get, start + 23, 10, (uint64_t[]){0x2000, 23}, 2);
	process_maker_call(&maker, 1, put, start + 43, 10, (uint64_t[]){0x1000}, 1);
	hk_discovery_run(world.collector);
	struct hk_process *process = world_find(&world, &maker);
	assert_non_null(process);
	hk_process_check(process);
	assert_false(process->exited);
	process_maker_exit(&maker, 7);
	world_finalise(&world, &maker);
	assert_false(segment_exists(&maker));
	struct hk_job *job = hk_job_find(world.collector, "j/1");
	assert_int_equal(hk_job_close(world.collector, job), 0);

	Hk__Snapshot *snapshot = load(&world, "j_1");
	assert_true(snapshot->job->closed);
	assert_string_equal(snapshot->job->exit, "exit 7");
	assert_int_equal(snapshot->job->world_size, 4);
	const Hk__Process *kept = process_in(snapshot, maker.writer.header->uid);
	assert_int_equal(kept->role, HK__ROLE__ROLE_MAIN);
	assert_int_equal(kept->rank, 2);
	assert_int_equal(kept->exit_kind, HK__EXIT_KIND__EXIT_EXITED);
	assert_int_equal(kept->exit_code, 7);
	assert_int_equal(hk_columns_rows(kept->cells), 3);
	struct hk_columns_row sends;
	assert_true(hk_columns_next(&(struct hk_columns_walk){.columns = kept->cells}, &sends));
	assert_int_equal(sends.calls, 5000);
	uint64_t in_buckets = 0, total = 0;
	for (size_t i = 0; i < sends.buckets; i++) {
		assert_true(sends.bucket[i] >= 1 && sends.bucket[i] <= 7);
		in_buckets += sends.count[i];
		total += sends.bucket[i] * sends.count[i];
	}
	assert_int_equal(in_buckets, 5000);
	assert_int_equal(total, sends.total_ns);
	assert_int_equal(sends.min_ns, 1);
	assert_int_equal(sends.max_ns, 7);
	assert_int_equal(kept->records, 5003);
	assert_int_equal(kept->lost_records, 0);
	assert_int_equal(kept->n_memory, 2);
	assert_string_equal(kept->memory[0]->library, "*");
	assert_int_equal(kept->memory[0]->peak_bytes, 800);
	assert_int_equal(kept->memory[0]->live_bytes, 23);
	assert_int_equal(kept->memory[1]->frees, 1);
	assert_int_equal(stored_records(&world, "j_1", &maker), 5003);
	hk__snapshot__free_unpacked(snapshot, NULL);
	process_maker_fini(&maker);
	world_remove(&world);
}

static void test_process_that_is_killed_keeps_its_open_calls(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(
	    &maker, &(struct process_facts){.directory = world.run, .job = "k", .rank = -1});
	uint32_t site = process_maker_site(&maker, "outer", "/a", HK_MEANING_NONE, no_keys);
	uint32_t inner = process_maker_site(&maker, "inner", "/a", HK_MEANING_NONE, no_keys);
	process_maker_open(&maker, 0, site, 100);
	process_maker_open(&maker, 0, inner, 200);
	process_maker_kill(&maker);
	/* The collector sees it only now that it is dead; then its parent tells how it died. */
	hk_discovery_run(world.collector);
	world_finalise(&world, &maker);
	Hk__ExitNotice notice = HK__EXIT_NOTICE__INIT;
	notice.pid = (uint32_t)maker.pid;
	notice.signaled = true;
	notice.code = 9;
	hk_process_notice(world.collector, &notice);
	assert_int_equal(hk_job_close(world.collector, hk_job_find(world.collector, "k")), 0);

	Hk__Snapshot *snapshot = load(&world, "k");
	const Hk__Process *kept = process_in(snapshot, maker.writer.header->uid);
	assert_int_equal(kept->rank, 0);
	assert_int_equal(kept->exit_kind, HK__EXIT_KIND__EXIT_SIGNAL);
	assert_int_equal(kept->exit_code, 9);
	assert_int_equal(kept->n_open_calls, 2);
	assert_int_equal(kept->open_calls[1]->depth, 2);
	assert_int_equal(kept->open_calls[1]->site, inner);
	assert_int_equal(kept->open_calls[1]->start_ticks, 200);
	assert_string_equal(snapshot->job->exit, "signal 9");
	hk__snapshot__free_unpacked(snapshot, NULL);
	process_maker_fini(&maker);
	world_remove(&world);
}

static void test_process_notice_may_come_before_its_segment_is_seen(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "k", .rank = 0});
	process_maker_kill(&maker);
	Hk__ExitNotice notice = HK__EXIT_NOTICE__INIT;
	notice.pid = (uint32_t)maker.pid;
	notice.code = 5;
	hk_process_notice(world.collector, &notice);
	hk_discovery_run(world.collector);
	struct hk_process *process = world_find(&world, &maker);
	assert_non_null(process);
	assert_true(process->exited);
	assert_int_equal(process->state->exit_kind, HK__EXIT_KIND__EXIT_EXITED);
	assert_int_equal(process->state->exit_code, 5);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* The segment as it was, put back: a collector that died between two steps leaves this. */
static void keep_copy(const struct process_maker *maker, const char *copy)
{
	assert_int_equal(link(maker->writer.path, copy), 0);
}

static void put_back(const struct process_maker *maker, const char *copy)
{
	assert_int_equal(rename(copy, maker->writer.path), 0);
}

/* What a collector may have done before it dies: all, half or nothing. */
static void die_somewhere(struct world *world, struct hk_process *process, uint64_t where)
{
	switch (where) {
	case 0: /* after a whole seal */
		assert_int_equal(hk_drain_seal(world->collector, process), 0);
		world_restart(world);
		break;
	case 1: { /* a chunk is in the file, its pages are not given back yet */
		struct hk_run run;
		size_t taken;
		while (hk_reader_next_run(process->segment->reader, 1, HK_STREAM_CALLS, &run) > 0) {
			assert_int_equal(
			    hk_spool_put(process->segment->spool, &run, 0, UINT64_MAX, &taken), 0);
			assert_int_equal(taken, run.word_count);
		}
		assert_int_equal(hk_spool_flush(process->segment->spool, 0, UINT64_MAX / 4), 0);
		world_restart(world);
		break;
	}
	case 2: /* nothing was done */
		world_restart(world);
		break;
	default:
		assert_int_equal(hk_drain_seal(world->collector, process), 0);
		break;
	}
}

static void test_process_survives_a_collector_that_dies_anywhere(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	char copy[64];
	world_make(&world);
	snprintf(copy, sizeof(copy), "%s/copy", world.base);
	process_maker_start(&maker,
			    &(struct process_facts){
				.directory = world.run, .job = "r", .rank = 0, .blocks_max = 256});
	uint32_t call = process_maker_site(&maker, "call", "/a", HK_MEANING_NONE, no_keys);
	uint32_t get = process_maker_site(&maker, "malloc", "/a", HK_MEANING_ALLOC, alloc_keys);
	uint64_t now = maker.writer.header->start.ticks, calls = 0;
	uint64_t seed = 7;
	hk_discovery_run(world.collector);
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 300; i++, calls++) {
			now += 10;
			unsigned thread = calls % 4;
			bool memory = calls % 5 == 0;
			uint64_t words[2] = {0x1000 + 16 * calls, 1};
			assert_true(process_maker_call(&maker, thread, memory ? get : call, now, 5,
						       memory ? words : NULL, memory ? 2 : 0));
		}
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		struct hk_process *process = world_find(&world, &maker);
		assert_non_null(process);
		die_somewhere(&world, process, seed >> 62);
	}
	keep_copy(&maker, copy);
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	/* The last frame is written, the segment not yet removed. */
	put_back(&maker, copy);
	world_restart(&world);
	world_finalise(&world, &maker);
	assert_false(segment_exists(&maker));
	struct hk_job *job = hk_job_find(world.collector, "r");
	assert_int_equal(hk_job_close(world.collector, job), 0);

	Hk__Snapshot *snapshot = load(&world, "r");
	assert_int_equal(snapshot->n_processes, 1);
	const Hk__Process *kept = process_in(snapshot, maker.writer.header->uid);
	assert_int_equal(kept->records_stored, calls);
	assert_int_equal(stored_records(&world, "r", &maker), calls);
	assert_int_equal(kept->cells->calls[0] + kept->cells->calls[1], calls);
	assert_int_equal(kept->lost_records, 0);
	assert_int_equal(kept->memory[0]->allocs, calls / 5);
	assert_int_equal(kept->memory[0]->peak_bytes, calls / 5);
	assert_int_equal(kept->memory[0]->peak_low, calls / 5);
	assert_int_equal(kept->role, HK__ROLE__ROLE_MAIN);
	hk__snapshot__free_unpacked(snapshot, NULL);
	process_maker_fini(&maker);
	world_remove(&world);
}

static void test_process_loses_nothing_while_drained_in_time(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	/* Room for 32 pages of calls, about 32 times 1000 records: ten times that must pass. */
	process_maker_start(&maker,
			    &(struct process_facts){
				.directory = world.run, .job = "f", .rank = 0, .blocks_max = 64});
	uint32_t call = process_maker_site(&maker, "call", "/a", HK_MEANING_NONE, no_keys);
	uint64_t now = maker.writer.header->start.ticks;
	hk_discovery_run(world.collector);
	for (uint64_t i = 0; i < 320000; i++) {
		now += 10;
		assert_true(process_maker_call(&maker, 0, call, now, 5, NULL, 0));
		if (i % 4000 == 0) {
			assert_true(
			    hk_drain_pass(world.collector, world_find(&world, &maker), now) >= 0);
		}
	}
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	assert_int_equal(stored_records(&world, "f", &maker), 320000);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* Records that find no room wait in the segment, and the ledger sees each of them once. */
static void test_process_full_store_keeps_records_waiting(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "d", .rank = 0});
	uint32_t call = process_maker_site(&maker, "call", "/a", HK_MEANING_NONE, no_keys);
	uint32_t get = process_maker_site(&maker, "malloc", "/a", HK_MEANING_ALLOC, alloc_keys);
	process_maker_call(&maker, 0, get, 10, 5, (uint64_t[]){0x1000, 64}, 2);
	process_maker_call(&maker, 0, call, 20, 5, NULL, 0);
	hk_discovery_run(world.collector);
	struct hk_process *process = world_find(&world, &maker);
	process->job->full_error = -ENOSPC;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hk_drain_seal(world.collector, process), -ENOSPC);
	}
	assert_int_equal(hk_state_refresh(world.collector, process, true), 0);
	assert_int_equal(process->state->lost_records, 0);
	assert_string_equal(process->job->state->store_error, "No space left on device");
	assert_int_equal(process->state->records_stored, 0);
	/* Room again. */
	process->job->full_error = 0;
	process_maker_call(&maker, 0, call, 30, 5, NULL, 0);
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	assert_int_equal(process->state->lost_records, 0);
	assert_int_equal(process->state->records_stored, 3);
	assert_int_equal(process->state->cells->calls[0], 2);
	assert_int_equal(process->state->memory[0]->live_bytes, 64);
	assert_int_equal(stored_records(&world, "d", &maker), 3);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* Stored and lost records together are what the process made, also after kills while the store is
 * full. */
static void test_process_counts_what_a_full_store_lost_after_a_kill(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){
				.directory = world.run, .job = "f", .rank = 0, .blocks_max = 64});
	uint32_t call = process_maker_site(&maker, "call", "/a", HK_MEANING_NONE, no_keys);
	uint64_t now = maker.writer.header->start.ticks, calls = 0, refused = 0;
	hk_discovery_run(world.collector);
	for (int round = 0; round < 40; round++) {
		struct hk_process *process = world_find(&world, &maker);
		process->job->full_error = round % 8 == 0 ? 0 : -ENOSPC;
		for (int i = 0; i < 8000; i++, calls++) {
			now += 10;
			refused += !process_maker_call(&maker, calls % 2, call, now, 5, NULL, 0);
		}
		int r = hk_drain_pass(world.collector, process, now);
		assert_true(r >= 0 || r == -ENOSPC);
		if (round % 5 == 4) {
			world_restart(&world);
		}
	}
	world_find(&world, &maker)->job->full_error = 0;
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	struct hk_job *job = hk_job_find(world.collector, "f");
	const Hk__Process *kept = job->processes->state;
	uint64_t stored = stored_records(&world, "f", &maker);
	assert_int_equal(kept->records_stored, stored);
	assert_true(kept->records_dropped > 0 && stored > 0);
	assert_int_equal(kept->lost_records, refused + kept->records_dropped);
	assert_int_equal(stored + kept->lost_records, calls);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* What was in a chunk file that somebody removed is lost; what comes later is not. */
static void test_process_goes_on_when_its_directory_is_removed(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	char path[80];
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "g", .rank = 0});
	uint32_t call = process_maker_site(&maker, "call", "/a", HK_MEANING_NONE, no_keys);
	uint64_t now = maker.writer.header->start.ticks;
	hk_discovery_run(world.collector);
	struct hk_process *process = world_find(&world, &maker);
	process_maker_call(&maker, 0, call, now, 5, NULL, 0);
	process_maker_call(&maker, 1, call, now + 10, 5, NULL, 0);
	assert_int_equal(hk_drain_seal(world.collector, process), 0);
	snprintf(path, sizeof(path), "%s/store/g", world.base);
	assert_int_equal(hk_jobdir_remove(path), 0);
	process_maker_call(&maker, 0, call, now + 20, 5, NULL, 0);
	assert_int_equal(hk_drain_seal(world.collector, process), -ENOENT);
	assert_int_equal(hk_job_save(world.collector, process->job), 0);
	assert_int_equal(hk_drain_seal(world.collector, process), 0);
	process_maker_call(&maker, 0, call, now + 30, 5, NULL, 0);
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	assert_int_equal(process->state->records_stored, 2);
	assert_int_equal(process->state->lost_records, 2);
	assert_int_equal(stored_records(&world, "g", &maker), 2);
	/* And again, after the last writer has closed the file. */
	assert_int_equal(hk_jobdir_remove(path), 0);
	assert_int_equal(hk_job_save(world.collector, process->job), 0);
	assert_int_equal(process->state->lost_records, 4);
	process_maker_fini(&maker);
	world_remove(&world);
}

/* An object that was still being relocated when it was first looked at is patched later. */
static void test_process_refusals_of_yesterday_are_gone(void **state)
{
	(void)state;
	struct world world;
	struct process_maker maker;
	world_make(&world);
	process_maker_start(&maker,
			    &(struct process_facts){.directory = world.run, .job = "c", .rank = 0});
	struct hk_coverage *coverage = &maker.writer.header->coverage;
	*coverage = (struct hk_coverage){.slots_found = 3, .scans = 1};
	coverage->slots_refused[HK_REFUSED_PENDING] = 2;
	coverage->slots_refused[HK_REFUSED_FOREIGN] = 1;
	hk_discovery_run(world.collector);
	struct hk_process *process = world_find(&world, &maker);
	assert_int_equal(hk_state_refresh(world.collector, process, true), 0);
	assert_int_equal(process->state->coverage->n_refusals, 2);
	coverage->slots_refused[HK_REFUSED_PENDING] = 0;
	coverage->slots_patched = 2;
	coverage->scans = 2;
	assert_int_equal(hk_state_refresh(world.collector, process, false), 0);
	assert_int_equal(process->state->coverage->slots_patched, 2);
	assert_int_equal(process->state->coverage->n_refusals, 1);
	assert_int_equal(process->state->coverage->refusals[0]->reason, HK_REFUSED_FOREIGN);
	process_maker_exit(&maker, 0);
	world_finalise(&world, &maker);
	process_maker_fini(&maker);
	world_remove(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_process_that_exits_leaves_everything_in_its_job),
	    cmocka_unit_test(test_process_that_is_killed_keeps_its_open_calls),
	    cmocka_unit_test(test_process_notice_may_come_before_its_segment_is_seen),
	    cmocka_unit_test(test_process_survives_a_collector_that_dies_anywhere),
	    cmocka_unit_test(test_process_loses_nothing_while_drained_in_time),
	    cmocka_unit_test(test_process_full_store_keeps_records_waiting),
	    cmocka_unit_test(test_process_counts_what_a_full_store_lost_after_a_kill),
	    cmocka_unit_test(test_process_goes_on_when_its_directory_is_removed),
	    cmocka_unit_test(test_process_refusals_of_yesterday_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
