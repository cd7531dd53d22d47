/* Identity, status, sites, strings, cells, octaves, threads of a good segment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/reader.h"
#include "segment_maker.h"

static struct segment_maker maker;
static struct hk_reader *reader;

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

static struct hk_segment_status refresh(void)
{
	struct hk_segment_status status;
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
	return status;
}

static void test_identity_is_copied_and_printable(void **state)
{
	(void)state;
	open_reader();
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	assert_int_equal(identity->uid[14], 14);
	assert_int_equal(identity->uid[15], 0xff);
	assert_int_equal(identity->pid, 4242);
	assert_int_equal(identity->ppid, 4241);
	assert_int_equal(identity->pid_namespace, 4026531836u);
	assert_int_equal(identity->pid_start, 987654);
	assert_int_equal(identity->rank, 3);
	assert_int_equal(identity->world_size, 4);
	assert_int_equal(identity->local_rank, 1);
	assert_int_equal(identity->tick_ns_q32, 1431655765);
	assert_int_equal(identity->start.realtime_ns, 3000);
	assert_string_equal(identity->job, "job-1");
	assert_string_equal(identity->host, "node7");
	assert_string_equal(identity->command, "./a.out ?[31m -n 3");
	assert_string_equal(identity->note, "");
}

static void test_status_follows_the_process(void **state)
{
	struct hk_segment_header *header = segment_maker_header(&maker);

	(void)state;
	open_reader();
	struct hk_segment_status status = refresh();
	assert_int_equal(status.state, HK_STATE_OPEN);
	assert_int_equal(status.blocks, 1);
	assert_int_equal(status.bytes, HK_BLOCK_BYTES);
	segment_maker_fill(&maker);
	header->coverage.slots_patched = 17;
	header->coverage.slots_refused[HK_REFUSED_FOREIGN] = 2;
	header->exit_code = -3;
	header->end = (struct hk_anchor){7, 8, 9};
	header->calls_untracked = 5;
	header->state = HK_STATE_EXITED;
	status = refresh();
	assert_int_equal(status.state, HK_STATE_EXITED);
	assert_int_equal(status.exit_code, -3);
	assert_int_equal(status.end.realtime_ns, 9);
	assert_int_equal(status.sites, 3);
	assert_int_equal(status.calls_untracked, 5);
	assert_int_equal(status.coverage.slots_patched, 17);
	assert_int_equal(status.coverage.slots_refused[HK_REFUSED_FOREIGN], 2);
	assert_int_equal(status.blocks, header->blocks);
	assert_int_equal(hk_reader_damage(reader), 0);
}

static void test_sites_are_found_when_counted(void **state)
{
	(void)state;
	open_reader();
	assert_null(hk_reader_site(reader, 0));
	segment_maker_fill(&maker);
	segment_maker_header(&maker)->sites = 2;
	refresh();
	const struct hk_site_info *send = hk_reader_site(reader, 0);
	assert_non_null(send);
	assert_string_equal(send->function, "MPI_Send");
	assert_string_equal(send->library, "/usr/bin/a.out");
	assert_string_equal(send->provider, "/lib/libmpi.so.40");
	assert_string_equal(send->domain, "mpi");
	assert_int_equal(send->id, 0);
	assert_int_equal(send->flags, 0x10);
	assert_int_equal(send->meaning, 2);
	assert_int_equal(send->key_count, 2);
	assert_int_equal(send->keys[1], 9);
	assert_null(hk_reader_site(reader, 2));
	segment_maker_header(&maker)->sites = 3;
	const struct hk_site_info *weird = hk_reader_site(reader, 2);
	assert_non_null(weird);
	assert_string_equal(weird->function, "we?ird");
	assert_string_equal(weird->provider, "");
	assert_null(hk_reader_site(reader, 3));
	assert_null(hk_reader_site(reader, UINT32_MAX));
	assert_int_equal(hk_reader_damage(reader), 0);
}

static void test_many_sites_keep_their_place(void **state)
{
	const struct hk_site_info *first = NULL;
	const char *first_name = NULL;
	char name[32];

	(void)state;
	open_reader();
	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		struct hk_site *site = segment_maker_site(&maker, name, "/lib/x.so", NULL);
		refresh();
		const struct hk_site_info *info = hk_reader_site(reader, i);
		assert_non_null(info);
		assert_string_equal(info->function, name);
		if (i == 0) {
			first = info;
			first_name = info->function;
			assert_int_equal(info->level, 5);
			site->level = 2;
		}
	}
	/* Neither the copy nor its strings moved; the level is what is in force now. */
	assert_ptr_equal(hk_reader_site(reader, 0), first);
	assert_ptr_equal(first->function, first_name);
	assert_string_equal(first_name, "function_0");
	assert_int_equal(first->level, 2);
	/* Definitions do not change once copied. */
	segment_maker_header(&maker)->sites = 0;
	assert_int_equal(hk_reader_site(reader, 1999)->id, 1999);
}

static void test_cells_and_octaves(void **state)
{
	uint64_t cursor = 0;
	uint64_t buckets[HK_OCTAVE_BUCKETS];
	struct hk_cell_copy cell;
	uint32_t seen = 0;

	(void)state;
	segment_maker_fill(&maker);
	/* Taken but not owned yet: passed over in silence. */
	segment_maker_cell(&maker, 0, 0)->site = 0;
	open_reader();
	while (hk_reader_next_cell(reader, &cursor, &cell) == 1) {
		assert_int_equal(cell.slot, seen / 3);
		assert_int_equal(cell.site, seen % 3);
		assert_int_equal(cell.calls, 1000 + cell.site);
		assert_int_equal(cell.total_ns, 5000000000u + cell.site);
		assert_int_equal(cell.bytes, 1ull << 40);
		assert_int_equal(cell.min_ns, 12);
		assert_int_equal(cell.max_ns, 99999);
		assert_int_equal(cell.octave[0], 0);
		assert_int_equal(hk_reader_octave(reader, cell.octave[5], buckets), 0);
		for (uint32_t i = 0; i < HK_OCTAVE_BUCKETS; i++) {
			assert_int_equal(buckets[i], cell.slot * 1000 + cell.site * 100 + i);
		}
		seen++;
	}
	assert_int_equal(seen, 9);
	assert_int_equal(hk_reader_damage(reader), 0);
}

static void test_items_over_many_blocks(void **state)
{
	uint64_t cursor = 0;
	struct hk_cell_copy cell;
	struct hk_thread_copy thread;
	uint32_t seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		segment_maker_thread(&maker, i % 3, i, i + 1);
	}
	for (uint32_t i = 0; i < 500; i++) {
		segment_maker_cell(&maker, i % 200, i);
	}
	open_reader();
	while (hk_reader_next_cell(reader, &cursor, &cell) == 1) {
		assert_int_equal(cell.site, seen);
		seen++;
	}
	assert_int_equal(seen, 500);
	cursor = 0;
	for (uint32_t i = 0; i < 200; i++) {
		if (i % 3 == HK_SLOT_FREE) {
			continue;
		}
		assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), 1);
		assert_int_equal(thread.slot, i);
		assert_int_equal(thread.tid, i);
		assert_int_equal(thread.uid, i + 1);
		assert_int_equal(thread.state, i % 3);
	}
	assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), 0);
	assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), 0);
}

static void test_threads_with_open_calls(void **state)
{
	uint64_t cursor = 0;
	struct hk_thread_copy thread;

	(void)state;
	struct hk_thread_slot *slot = segment_maker_thread(&maker, HK_SLOT_LIVE, 9, 8);
	slot->depth = 40;
	for (uint32_t i = 0; i < HK_OPEN_CALLS; i++) {
		slot->open[i].site = i + 100;
		slot->open[i].start_ticks = i + 1;
	}
	slot->open[9].site = HK_OPEN_UNKNOWN;
	slot->chain[1].lost = 6;
	slot = segment_maker_thread(&maker, HK_SLOT_VACANT, 10, 9);
	slot->depth = 1;
	slot->open[0].site = 5;
	slot->open[1].site = 6;
	open_reader();
	assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), 1);
	assert_int_equal(thread.depth, 40);
	/* Of 40 the 16 innermost: a ring, and one of them is not known. */
	assert_int_equal(thread.open_count, 15);
	assert_int_equal(thread.open[0].site, 108);
	assert_int_equal(thread.open[0].depth, 25);
	assert_int_equal(thread.open[1].site, 110);
	assert_int_equal(thread.open[1].depth, 27);
	assert_int_equal(thread.open[14].site, 107);
	assert_int_equal(thread.open[14].depth, 40);
	assert_int_equal(thread.open[14].start_ticks, 8);
	assert_int_equal(thread.lost[1], 6);
	assert_int_equal(hk_reader_next_thread(reader, &cursor, &thread), 1);
	assert_int_equal(thread.open_count, 1);
	assert_int_equal(thread.open[0].site, 5);
	assert_int_equal(thread.state, HK_SLOT_VACANT);
}

static void test_collector_fields_reach_the_agent(void **state)
{
	struct hk_segment_header *header = segment_maker_header(&maker);

	(void)state;
	open_reader();
	hk_reader_beat(reader, 31, 123456789);
	hk_reader_raise_generation(reader);
	hk_reader_raise_generation(reader);
	assert_int_equal(header->attached, 31);
	assert_int_equal(header->heartbeat_ns, 123456789);
	assert_int_equal(header->generation, 2);
}

static void test_control_reaches_the_agent_whole(void **state)
{
	struct hk_segment_header *header = segment_maker_header(&maker);
	struct hk_rule rules[2] = {{.pattern = "libm.so*:cos", .level = 2},
				   {.pattern = "free", .level = 5}};

	(void)state;
	header->control_version = 7; /* of a collector that died while it wrote */
	struct hk_site *site = segment_maker_site(&maker, "cos", "/lib/x.so", NULL);
	open_reader();
	assert_int_equal(hk_reader_site(reader, 0)->ceiling, 0);
	hk_reader_set_ceiling(reader, 0, 2);
	hk_reader_set_ceiling(reader, 1, 2);
	hk_reader_publish(reader, rules, 2, HK_SEGMENT_OFF);
	assert_int_equal(site->ceiling, 2);
	assert_int_equal(hk_reader_site(reader, 0)->ceiling, 2);
	assert_int_equal(header->control_version, 8);
	assert_int_equal(header->control_flags, HK_SEGMENT_OFF);
	assert_int_equal(header->generation, 1);
	assert_string_equal(header->rules[1].pattern, "free");
	assert_int_equal(header->rules[1].level, 5);
	hk_reader_publish(reader, rules, 1, 0);
	assert_int_equal(header->control_version, 10);
	assert_int_equal(header->control_flags, 0);
	assert_int_equal(header->rules[0].level, 2);
	assert_int_equal(header->rules[1].level, 0);
	assert_int_equal(header->generation, 2);
}

static void test_only_own_regular_files_named_by_uid_open(void **state)
{
	static const char *const names[] = {
	    "000102030405060708090a0b0c0d0efe.seg", "000102030405060708090A0B0C0D0EFF.seg",
	    "000102030405060708090a0b0c0d0eff.seg2", "x.seg", "../x"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) - 1; i++) {
		assert_int_equal(linkat(maker.dirfd, maker.name, maker.dirfd, names[i], 0), 0);
		assert_int_equal(hk_reader_open(maker.dirfd, names[i], &reader), -EPROTO);
		unlinkat(maker.dirfd, names[i], 0);
	}
	assert_true(hk_reader_open(maker.dirfd, "../x", &reader) < 0);
	const char *other = names[0];
	assert_int_equal(symlinkat(maker.name, maker.dirfd, other), 0);
	assert_int_equal(hk_reader_open(maker.dirfd, other, &reader), -ELOOP);
	unlinkat(maker.dirfd, other, 0);
	assert_int_equal(mkfifoat(maker.dirfd, other, 0600), 0);
	assert_int_equal(hk_reader_open(maker.dirfd, other, &reader), -EPROTO);
	unlinkat(maker.dirfd, other, 0);
	assert_int_equal(hk_reader_open(maker.dirfd, other, &reader), -ENOENT);
	open_reader();
}

static void test_unfinished_segment_is_asked_for_later(void **state)
{
	(void)state;
	segment_maker_header(&maker)->magic = 0;
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), -EAGAIN);
	segment_maker_header(&maker)->magic = HK_SEGMENT_MAGIC;
	open_reader();
	hk_reader_free(reader);
	assert_int_equal(ftruncate(maker.fd, HK_BLOCK_BYTES - 1), 0);
	reader = NULL;
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), -EAGAIN);
	assert_int_equal(ftruncate(maker.fd, 0), 0);
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &reader), -EAGAIN);
}

static struct hk_untraced *untraced_at(uint32_t number)
{
	return (struct hk_untraced *)(void *)(maker.map + HK_UNTRACED_OFFSET) + number;
}

static void untraced_entries_are_copied_when_complete(void **state)
{
	struct hk_untraced_copy entry;
	(void)state;
	*untraced_at(0) = (struct hk_untraced){.state = HK_STATE_EXITED,
					       .error = -EACCES,
					       .pid = 11,
					       .ppid = 10,
					       .pid_start = 12,
					       .start = {13, 14, 15},
					       .exit_code = 16};
	*untraced_at(1) = (struct hk_untraced){.state = 0, .error = -EACCES};
	*untraced_at(2) = (struct hk_untraced){.state = 3, .error = -EACCES};
	*untraced_at(3) = (struct hk_untraced){.state = HK_STATE_OPEN, .error = 13};
	*untraced_at(4) = (struct hk_untraced){.state = HK_STATE_OPEN, .error = INT32_MIN};
	*untraced_at(HK_UNTRACED_MAX - 1) =
	    (struct hk_untraced){.state = HK_STATE_OPEN, .error = -ENOSPC};
	segment_maker_header(&maker)->untraced = 100;
	open_reader();
	assert_int_equal(refresh().untraced, 100);
	assert_true(hk_reader_untraced(reader, 0, &entry));
	assert_int_equal(entry.state, HK_STATE_EXITED);
	assert_int_equal(entry.error, -EACCES);
	assert_int_equal(entry.pid, 11);
	assert_int_equal(entry.ppid, 10);
	assert_int_equal(entry.pid_start, 12);
	assert_int_equal(entry.start.realtime_ns, 15);
	assert_int_equal(entry.exit_code, 16);
	for (uint32_t i = 1; i < 5; i++) {
		assert_false(hk_reader_untraced(reader, i, &entry));
	}
	assert_true(hk_reader_untraced(reader, HK_UNTRACED_MAX - 1, &entry));
	assert_int_equal(entry.error, -ENOSPC);
}

static struct hk_bare_table *bare_table(void)
{
	return (struct hk_bare_table *)(void *)(maker.map + HK_BARE_OFFSET);
}

static void programs_without_the_agent_are_copied_when_valid(void **state)
{
	struct hk_bare_copy entry;
	struct hk_bare_table *table = bare_table();
	(void)state;
	table->asked = 100;
	table->entry[0] = (struct hk_bare){.reason = HK_BARE_STATIC, .times = 3, .program = "prog"};
	table->entry[1] = (struct hk_bare){.reason = 0, .times = 1, .program = "incomplete"};
	table->entry[2] = (struct hk_bare){.reason = 5, .times = 1, .program = "of no reason"};
	table->entry[3] = (struct hk_bare){.reason = 1, .times = 0, .program = "withdrawn"};
	table->entry[4] = (struct hk_bare){.reason = 1, .times = 1, .program = ""};
	table->entry[HK_BARE_MAX - 1] = (struct hk_bare){.reason = 4, .times = 1};
	memset(table->entry[HK_BARE_MAX - 1].program, 'x', HK_BARE_PROGRAM_BYTES);
	open_reader();
	assert_int_equal(refresh().bare, 100);
	assert_true(hk_reader_bare(reader, 0, &entry));
	assert_int_equal(entry.reason, HK_BARE_STATIC);
	assert_int_equal(entry.times, 3);
	assert_string_equal(entry.program, "prog");
	for (uint32_t i = 1; i < 5; i++) {
		assert_false(hk_reader_bare(reader, i, &entry));
	}
	assert_true(hk_reader_bare(reader, HK_BARE_MAX - 1, &entry));
	assert_int_equal(strlen(entry.program), HK_BARE_PROGRAM_BYTES - 1);
}

/* The pool runs short earlier where the file can grow no more. */
static void pool_follows_the_limit_of_the_file(void **state)
{
	uint64_t used, all, most;
	(void)state;
	open_reader();
	hk_reader_pool(reader, &used, &all);
	assert_int_equal(all, 256 / 2 * HK_BLOCK_BYTES);
	segment_maker_header(&maker)->blocks_limit = 64;
	refresh();
	hk_reader_pool(reader, &used, &most);
	assert_int_equal(most, 64 / 2 * HK_BLOCK_BYTES);
	segment_maker_header(&maker)->blocks_limit = UINT32_MAX;
	refresh();
	hk_reader_pool(reader, &used, &most);
	assert_int_equal(most, all);
}

int main(void)
{
#define READER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    READER_TEST(test_identity_is_copied_and_printable),
	    READER_TEST(test_status_follows_the_process),
	    READER_TEST(test_sites_are_found_when_counted),
	    READER_TEST(test_many_sites_keep_their_place),
	    READER_TEST(test_cells_and_octaves),
	    READER_TEST(test_items_over_many_blocks),
	    READER_TEST(test_threads_with_open_calls),
	    READER_TEST(test_collector_fields_reach_the_agent),
	    READER_TEST(test_control_reaches_the_agent_whole),
	    READER_TEST(test_only_own_regular_files_named_by_uid_open),
	    READER_TEST(test_unfinished_segment_is_asked_for_later),
	    READER_TEST(untraced_entries_are_copied_when_complete),
	    READER_TEST(programs_without_the_agent_are_copied_when_valid),
	    READER_TEST(pool_follows_the_limit_of_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
