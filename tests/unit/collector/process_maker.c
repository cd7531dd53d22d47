#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/proc/procfs.h"

#include "process_maker.h"

static void fork_child(struct process_maker *maker)
{
	maker->pid = fork();
	assert_true(maker->pid >= 0);
	if (maker->pid == 0) {
		/* Not longer than the test, whatever becomes of that. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			pause();
		}
	}
	maker->owned = true;
}

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

void process_maker_start(struct process_maker *maker, const struct process_facts *facts)
{
	static struct hk_segment_header header;
	struct hk_procfs_stat stat;
	memset(maker, 0, sizeof(*maker));
	memset(&header, 0, sizeof(header));
	maker->pid = facts->same_pid;
	if (maker->pid == 0) {
		fork_child(maker);
	}
	assert_int_equal(getrandom(header.uid, sizeof(header.uid), 0), sizeof(header.uid));
	assert_int_equal(hk_procfs_stat((uint32_t)maker->pid, &stat), 0);
	if (facts->parent) {
		memcpy(header.parent, facts->parent, sizeof(header.parent));
	}
	header.pid = (uint32_t)maker->pid;
	header.ppid = facts->ppid ? facts->ppid : (uint32_t)getpid();
	header.pid_namespace = hk_procfs_pid_namespace();
	header.pid_start = stat.start_ticks;
	header.rank = facts->rank;
	header.world_size = facts->world_size;
	header.local_rank = -1;
	header.clock_kind = HK_CLOCK_MONOTONIC;
	header.tick_ns_q32 = 1ull << 32;
	header.default_level = HK_LEVEL_RECORD;
	struct hk_clock_point now = hk_clock_now(false);
	header.start = (struct hk_anchor){now.ticks, now.monotonic_ns, now.realtime_ns};
	copy(header.job, sizeof(header.job), facts->job);
	copy(header.host, sizeof(header.host), "testhost");
	copy(header.command, sizeof(header.command), facts->command ? facts->command : "prog -x");
	if (facts->program) {
		copy(header.program, sizeof(header.program), facts->program);
	} else {
		assert_int_equal(
		    hk_procfs_program((uint32_t)getpid(), header.program, sizeof(header.program)),
		    0);
	}
	maker->blocks_max = facts->blocks_max ? facts->blocks_max : 1024;
	maker->pool_room = calloc(2 * (size_t)maker->blocks_max, sizeof(uint32_t));
	assert_non_null(maker->pool_room);
	assert_int_equal(hk_writer_create(&maker->writer, facts->directory, &header,
					  maker->blocks_max, maker->pool_room),
			 0);
}

uint32_t process_maker_site(struct process_maker *maker, const char *function, const char *library,
			    enum hk_meaning meaning, const uint8_t keys[4])
{
	struct hk_site *site = hk_writer_site(&maker->writer);
	assert_non_null(site);
	assert_true(maker->sites < PROCESS_MAKER_SITES);
	site->id = maker->sites++;
	site->function = hk_writer_string(&maker->writer, function);
	site->library = hk_writer_string(&maker->writer, library);
	snprintf(site->domain, sizeof(site->domain), "test");
	site->meaning = (uint8_t)meaning;
	atomic_store(&site->level, HK_LEVEL_RECORD);
	for (; site->key_count < 4 && keys[site->key_count]; site->key_count++) {
		site->keys[site->key_count] = keys[site->key_count];
	}
	atomic_store_explicit(&maker->writer.header->sites, maker->sites, memory_order_release);
	return site->id;
}

static void ensure_thread(struct process_maker *maker, unsigned thread)
{
	if (maker->thread[thread].slot) {
		return;
	}
	struct hk_thread_slot *slot =
	    hk_writer_thread(&maker->writer, &maker->thread[thread].number);
	assert_non_null(slot);
	atomic_store(&slot->uid, thread + 1);
	atomic_store(&slot->tid, (uint32_t)maker->pid + thread);
	atomic_store_explicit(&slot->state, HK_SLOT_LIVE, memory_order_release);
	maker->thread[thread].slot = slot;
}

static void count(struct process_maker *maker, unsigned thread, uint32_t site, uint64_t duration)
{
	struct hk_cell *cell = maker->thread[thread].cell[site];
	if (!cell) {
		cell = hk_writer_cell(&maker->writer);
		assert_non_null(cell);
		cell->slot = maker->thread[thread].number;
		__atomic_store_n(&cell->site, site + 1, __ATOMIC_RELEASE);
		maker->thread[thread].cell[site] = cell;
	}
	uint32_t bucket = hk_histogram_index(duration), octave = bucket / HK_OCTAVE_BUCKETS;
	if (cell->octave[octave] == 0) {
		cell->octave[octave] = hk_writer_octave(&maker->writer);
		assert_true(cell->octave[octave] != 0);
	}
	uint64_t *buckets =
	    (uint64_t *)(void *)((char *)maker->writer.header + cell->octave[octave]);
	buckets[bucket % HK_OCTAVE_BUCKETS]++;
	cell->calls++;
	cell->total_ns += duration;
	cell->self_ns += duration;
	cell->outermost_ns += duration;
	cell->min_ns = duration < cell->min_ns ? duration : cell->min_ns;
	cell->max_ns = duration > cell->max_ns ? duration : cell->max_ns;
}

bool process_maker_call(struct process_maker *maker, unsigned thread, uint32_t site, uint64_t start,
			uint64_t duration, const uint64_t *words, uint32_t word_count)
{
	ensure_thread(maker, thread);
	count(maker, thread, site, duration);
	uint32_t stream = words ? HK_STREAM_MEMORY : HK_STREAM_CALLS;
	uint32_t total = HK_RECORD_HEADER_WORDS + word_count;
	struct hk_chain_end *end = &maker->thread[thread].end[stream];
	struct hk_chain *shared = &maker->thread[thread].slot->chain[stream];
	uint64_t *at = hk_chain_room(end, total);
	if (!at) {
		struct hk_page *page = hk_writer_page(&maker->writer, maker->thread[thread].number,
						      stream, hk_chain_position(end), thread + 1,
						      (uint32_t)maker->pid + thread);
		if (!page) {
			atomic_fetch_add(&shared->lost, 1);
			return false;
		}
		hk_chain_extend(end, shared, page, hk_writer_block_of(&maker->writer, page));
		at = hk_chain_room(end, total);
	}
	at[0] = start;
	at[1] = hk_record_word1((uint32_t)duration, site, HK_RECORD_CALL, word_count);
	if (word_count > 0) {
		memcpy(at + 2, words, word_count * sizeof(*words));
	}
	hk_chain_publish(end, at + total);
	return true;
}

void process_maker_open(struct process_maker *maker, unsigned thread, uint32_t site, uint64_t start)
{
	ensure_thread(maker, thread);
	struct hk_thread_slot *slot = maker->thread[thread].slot;
	uint32_t depth = atomic_load(&slot->depth);
	atomic_store(&slot->open[depth].site, site);
	atomic_store(&slot->open[depth].start_ticks, start);
	atomic_store_explicit(&slot->depth, depth + 1, memory_order_release);
}

static void reap(struct process_maker *maker)
{
	if (maker->owned) {
		maker->owned = false;
		kill(maker->pid, SIGKILL);
		assert_int_equal(waitpid(maker->pid, NULL, 0), maker->pid);
	}
}

void process_maker_exit(struct process_maker *maker, int32_t code)
{
	struct hk_clock_point now = hk_clock_now(false);
	struct hk_segment_header *header = maker->writer.header;
	header->exit_code = code;
	header->end = (struct hk_anchor){now.ticks, now.monotonic_ns, now.realtime_ns};
	atomic_store_explicit(&header->state, HK_STATE_EXITED, memory_order_release);
	reap(maker);
}

void process_maker_kill(struct process_maker *maker)
{
	reap(maker);
}

void process_maker_fini(struct process_maker *maker)
{
	reap(maker);
	munmap(maker->writer.header, (size_t)maker->blocks_max * HK_BLOCK_BYTES);
	free(maker->pool_room);
}
