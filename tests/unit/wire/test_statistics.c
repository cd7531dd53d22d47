/* The newest frame of each key wins, whatever happened to the file's tail or middle. */
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

#include "wire/columns.h"
#include "wire/statistics.h"

struct place {
	char dir[32];
	char path[64];
};

static void place_make(struct place *place)
{
	memcpy(place->dir, "/tmp/hk-statist-XXXXXX", 23);
	assert_non_null(mkdtemp(place->dir));
	snprintf(place->path, sizeof(place->path), "%s/%s", place->dir, HK_STATISTICS_FILE);
}

static void place_remove(struct place *place)
{
	unlink(place->path);
	assert_int_equal(rmdir(place->dir), 0); /* also: no temporary file was left */
}

static void put_process(struct hk_statistics *statistics, uint8_t number, uint64_t records)
{
	uint8_t uid[16] = {number, 1};
	Hk__Process process = HK__PROCESS__INIT;
	process.uid.data = uid;
	process.uid.len = sizeof(uid);
	process.records = records;
	process.command = (char *)"a command of some length to give the frame a body";
	assert_int_equal(hk_statistics_put_process(statistics, &process), 0);
}

static void put_job(struct hk_statistics *statistics, const char *id, uint64_t duration_ns)
{
	Hk__Job job = HK__JOB__INIT;
	job.id = (char *)(uintptr_t)id;
	job.start_unix_ns = 1000;
	job.duration_ns = duration_ns;
	assert_int_equal(hk_statistics_put_job(statistics, &job), 0);
}

static uint64_t records_of(const Hk__Snapshot *snapshot, uint8_t number)
{
	uint64_t records = UINT64_MAX;
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		if (snapshot->processes[i]->uid.data[0] == number) {
			assert_true(records == UINT64_MAX); /* once only */
			records = snapshot->processes[i]->records;
		}
	}
	return records;
}

static size_t file_size(const struct place *place)
{
	struct stat st;
	assert_int_equal(stat(place->path, &st), 0);
	return (size_t)st.st_size;
}

static void test_statistics_newest_frame_wins(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	put_process(statistics, 1, 10);
	put_process(statistics, 2, 20);
	put_job(statistics, "first", 5);
	put_process(statistics, 1, 11);
	hk_statistics_free(statistics);
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	put_job(statistics, "second", 7);
	hk_statistics_free(statistics);

	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), 0);
	assert_int_equal(snapshot->n_processes, 2);
	assert_int_equal(records_of(snapshot, 1), 11);
	assert_int_equal(records_of(snapshot, 2), 20);
	assert_string_equal(snapshot->job->id, "second");
	assert_string_equal(snapshot->job->directory, place.dir);
	assert_int_equal(snapshot->now_unix_ns, 1007);
	hk__snapshot__free_unpacked(snapshot, NULL);
	place_remove(&place);
}

static void test_statistics_without_job_frame_names_the_directory(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	hk_statistics_free(statistics);
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), 0);
	assert_int_equal(snapshot->n_processes, 0);
	assert_string_equal(snapshot->job->id, strrchr(place.dir, '/') + 1);
	hk__snapshot__free_unpacked(snapshot, NULL);
	place_remove(&place);
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), -ENOENT);
}

static void test_statistics_torn_at_every_byte_keeps_what_came_before(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	put_process(statistics, 1, 10);
	put_job(statistics, "job", 5);
	size_t whole = file_size(&place);
	put_process(statistics, 1, 11);
	hk_statistics_free(statistics);
	size_t end = file_size(&place);
	uint8_t *bytes = malloc(end);
	int fd = open(place.path, O_RDWR);
	assert_int_equal(pread(fd, bytes, end, 0), end);
	for (size_t cut = whole; cut < end; cut++) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, bytes, cut, 0), cut);
		Hk__Snapshot *snapshot;
		assert_int_equal(hk_statistics_load(place.dir, &snapshot),
				 cut == whole ? 0 : -EBADMSG);
		assert_int_equal(records_of(snapshot, 1), 10);
		hk__snapshot__free_unpacked(snapshot, NULL);
		/* Opening for append cuts the tail, and what is appended then is read. */
		assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
		assert_int_equal(file_size(&place), whole);
		put_process(statistics, 1, 12);
		hk_statistics_free(statistics);
		assert_int_equal(hk_statistics_load(place.dir, &snapshot), 0);
		assert_int_equal(records_of(snapshot, 1), 12);
		hk__snapshot__free_unpacked(snapshot, NULL);
	}
	close(fd);
	free(bytes);
	place_remove(&place);
}

static void test_statistics_flipped_byte_costs_one_frame(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	put_process(statistics, 1, 10);
	size_t first = file_size(&place);
	put_process(statistics, 2, 20);
	size_t second = file_size(&place);
	put_process(statistics, 3, 30);
	hk_statistics_free(statistics);
	int fd = open(place.path, O_RDWR);
	for (size_t at = first; at < second; at++) {
		uint8_t byte;
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		Hk__Snapshot *snapshot;
		assert_int_equal(hk_statistics_load(place.dir, &snapshot), -EBADMSG);
		assert_int_equal(snapshot->n_processes, 2);
		assert_int_equal(records_of(snapshot, 1), 10);
		assert_int_equal(records_of(snapshot, 3), 30);
		hk__snapshot__free_unpacked(snapshot, NULL);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	close(fd);
	place_remove(&place);
}

static void test_statistics_file_stays_within_thrice_its_live_frames(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	put_job(statistics, "job", 5);
	for (uint64_t i = 0; i < 20000; i++) {
		put_process(statistics, (uint8_t)(i % 5), i);
		assert_int_equal(file_size(&place), hk_statistics_file_bytes(statistics));
		assert_true(hk_statistics_file_bytes(statistics) < (256 << 10) + 400);
	}
	hk_statistics_free(statistics);
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), 0);
	assert_int_equal(snapshot->n_processes, 5);
	for (uint8_t i = 0; i < 5; i++) {
		assert_int_equal(records_of(snapshot, i), 19995 + i);
	}
	assert_string_equal(snapshot->job->id, "job");
	hk__snapshot__free_unpacked(snapshot, NULL);
	place_remove(&place);
}

static void test_statistics_foreign_file_is_damage(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	int fd = open(place.path, O_RDWR | O_CREAT, 0600);
	uint32_t magic = 0x53464b48u;
	for (int i = 0; i < 100000; i++) {
		assert_int_equal(write(fd, &magic, sizeof(magic)), sizeof(magic));
	}
	close(fd);
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), -EBADMSG);
	assert_int_equal(snapshot->n_processes, 0);
	hk__snapshot__free_unpacked(snapshot, NULL);
	place_remove(&place);
}

static void test_statistics_rows_of_older_files_become_columns(void **state)
{
	(void)state;
	struct place place;
	place_make(&place);
	struct hk_statistics *statistics;
	uint8_t uid[16] = {7};
	uint32_t bucket[] = {3, 90};
	uint64_t count[] = {5, 6};
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Cell first = HK__CELL__INIT, second = HK__CELL__INIT;
	process.uid = (ProtobufCBinaryData){.len = sizeof(uid), .data = uid};
	first.site = 9;
	first.calls = 12;
	first.bucket = bucket;
	first.bucket_count = count;
	first.n_bucket = first.n_bucket_count = 2;
	second.site = 4;
	second.calls = 1;
	process.old_cells = (Hk__Cell *[]){&first, &second};
	process.n_old_cells = 2;
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	assert_int_equal(hk_statistics_put_process(statistics, &process), 0);
	hk_statistics_free(statistics);
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place.dir, &snapshot), 0);
	const Hk__Process *loaded = snapshot->processes[0];
	struct hk_columns_walk walk = {.columns = loaded->cells};
	struct hk_columns_row row;
	assert_int_equal(loaded->n_old_cells, 0);
	assert_true(hk_columns_next(&walk, &row));
	assert_int_equal(row.site, 4);
	assert_int_equal(row.buckets, 0);
	assert_true(hk_columns_next(&walk, &row));
	assert_int_equal(row.calls, 12);
	assert_int_equal(row.buckets, 2);
	assert_int_equal(row.bucket[1], 90);
	assert_int_equal(row.count[1], 6);
	assert_false(hk_columns_next(&walk, &row));
	hk__snapshot__free_unpacked(snapshot, NULL);
	place_remove(&place);
}

#define MANY 24000u
#define LONG_NAME 900u

/* A process of more sites than a frame has room for. */
struct large {
	Hk__Process process;
	uint8_t uid[16];
	char name[LONG_NAME + 1];
	Hk__Site *sites;
	Hk__Site **list;
	Hk__Cells cells;
	uint32_t site[MANY], buckets[MANY], bucket[MANY];
	uint64_t value[MANY];
};

static struct large *large_make(void)
{
	struct large *large = calloc(1, sizeof(*large));
	assert_non_null(large);
	large->sites = calloc(MANY, sizeof(*large->sites));
	large->list = calloc(MANY, sizeof(Hk__Site *));
	assert_true(large->sites && large->list);
	memset(large->name, 'n', LONG_NAME);
	hk__process__init(&large->process);
	large->uid[0] = 1;
	large->process.uid = (ProtobufCBinaryData){sizeof(large->uid), large->uid};
	hk__cells__init(&large->cells);
	for (uint32_t i = 0; i < MANY; i++) {
		hk__site__init(&large->sites[i]);
		large->list[i] = &large->sites[i];
		large->sites[i].id = i;
		large->sites[i].function = large->name;
		large->site[i] = i;
		large->value[i] = i + 1;
		large->buckets[i] = 1;
		large->bucket[i] = i % 1000;
	}
	Hk__Cells *cells = &large->cells;
	cells->site = large->site;
	cells->buckets = large->buckets;
	cells->bucket = large->bucket;
	cells->calls = cells->errors = cells->total_ns = cells->self_ns = cells->outermost_ns =
	    cells->bytes = cells->min_ns = cells->max_ns = cells->count = large->value;
	cells->n_site = cells->n_calls = cells->n_errors = cells->n_total_ns = cells->n_self_ns =
	    cells->n_outermost_ns = cells->n_bytes = cells->n_min_ns = cells->n_max_ns =
		cells->n_buckets = cells->n_bucket = cells->n_count = MANY;
	large->process.cells = cells;
	large->process.sites = large->list;
	large->process.n_sites = MANY;
	return large;
}

static void large_free(struct large *large)
{
	free(large->sites);
	free(large->list);
	free(large);
}

static void expect_large(const struct place *place, const struct large *large)
{
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place->dir, &snapshot), 0);
	assert_int_equal(snapshot->n_processes, 1);
	const Hk__Process *loaded = snapshot->processes[0];
	struct hk_columns_walk walk = {.columns = loaded->cells};
	struct hk_columns_row row;
	assert_int_equal(loaded->records, large->process.records);
	assert_int_equal(loaded->n_sites, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(loaded->sites[i]->id, i);
		assert_true(hk_columns_next(&walk, &row));
		assert_int_equal(row.site, i);
		assert_int_equal(row.calls, large->value[i]);
		assert_int_equal(row.max_ns, large->value[i]);
		assert_int_equal(row.buckets, 1);
		assert_int_equal(row.bucket[0], i % 1000);
		assert_int_equal(row.count[0], large->value[i]);
	}
	assert_false(hk_columns_next(&walk, &row));
	hk__snapshot__free_unpacked(snapshot, NULL);
}

/* However many sites a process knows, it is saved, and again only what has changed. */
static void test_statistics_large_process_is_saved_in_pieces(void **state)
{
	(void)state;
	struct place place;
	struct hk_statistics *statistics;
	struct large *large = large_make();
	size_t whole = hk__process__get_packed_size(&large->process);
	assert_true(whole > HK_STATISTICS_FRAME_MAX);
	place_make(&place);
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	assert_int_equal(hk_statistics_put_process(statistics, &large->process), 0);
	expect_large(&place, large);
	for (int round = 0; round < 40; round++) {
		size_t before = file_size(&place);
		large->process.records++;
		large->value[round * 500]++;
		assert_int_equal(hk_statistics_put_process(statistics, &large->process), 0);
		size_t after = file_size(&place);
		assert_true(after < before || after - before < 4u << 20);
		assert_true(after < 3 * whole);
	}
	expect_large(&place, large);
	hk_statistics_free(statistics);
	/* The next collector does not know what the file has. */
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	large->value[MANY - 1]++;
	assert_int_equal(hk_statistics_put_process(statistics, &large->process), 0);
	expect_large(&place, large);
	hk_statistics_free(statistics);
	place_remove(&place);
	large_free(large);
}

#define PARTS 500u
#define PLACES 2000u

/* A process with the places of half a million frames, each part another one. */
struct stacks {
	Hk__Process process;
	uint8_t uid[16];
	Hk__StackPlaces places[PARTS], *place_list[PARTS];
	Hk__StackFrames frames[PARTS], *frame_list[PARTS];
	uint32_t numbers[PLACES];
	uint64_t addresses[PLACES];
};

static void stacks_init(struct stacks *stacks)
{
	memset(stacks, 0, sizeof(*stacks));
	hk__process__init(&stacks->process);
	stacks->process.uid = (ProtobufCBinaryData){sizeof(stacks->uid), stacks->uid};
	for (uint32_t i = 0; i < PLACES; i++) {
		stacks->numbers[i] = 1u << 20 | i;
		stacks->addresses[i] = UINT64_C(1) << 50 | i;
	}
	for (uint32_t i = 0; i < PARTS; i++) {
		Hk__StackPlaces *places = stacks->place_list[i] = &stacks->places[i];
		Hk__StackFrames *frames = stacks->frame_list[i] = &stacks->frames[i];
		hk__stack_places__init(places);
		hk__stack_frames__init(frames);
		places->part = frames->part = i;
		places->frame = places->function = places->file = places->line = stacks->numbers;
		places->n_frame = places->n_function = places->n_file = places->n_line = PLACES - i;
		frames->caller = stacks->numbers;
		frames->address = stacks->addresses;
		frames->n_caller = frames->n_address = PLACES - i;
	}
	stacks->process.stack_places = stacks->place_list;
	stacks->process.stack_frames = stacks->frame_list;
	stacks->process.n_stack_places = stacks->process.n_stack_frames = PARTS;
}

static void expect_stacks(const struct place *place, const struct stacks *stacks)
{
	Hk__Snapshot *snapshot;
	assert_int_equal(hk_statistics_load(place->dir, &snapshot), 0);
	assert_int_equal(snapshot->n_processes, 1);
	const Hk__Process *loaded = snapshot->processes[0];
	assert_int_equal(loaded->records, stacks->process.records);
	assert_int_equal(loaded->n_stack_places, PARTS);
	assert_int_equal(loaded->n_stack_frames, PARTS);
	for (uint32_t i = 0; i < PARTS; i++) {
		assert_int_equal(loaded->stack_places[i]->part, i);
		assert_int_equal(loaded->stack_places[i]->n_line, stacks->places[i].n_line);
		assert_int_equal(loaded->stack_frames[i]->part, i);
		assert_int_equal(loaded->stack_frames[i]->n_address, stacks->frames[i].n_address);
		assert_memory_equal(loaded->stack_frames[i]->address, stacks->addresses,
				    loaded->stack_frames[i]->n_address * sizeof(uint64_t));
	}
	hk__snapshot__free_unpacked(snapshot, NULL);
}

/* However many stacks a process has, it is saved, and again only what has changed. */
static void test_statistics_many_stacks_are_saved_in_pieces(void **state)
{
	(void)state;
	struct place place;
	struct hk_statistics *statistics;
	struct stacks *stacks = malloc(sizeof(*stacks));
	assert_non_null(stacks);
	stacks_init(stacks);
	assert_true(hk__process__get_packed_size(&stacks->process) > HK_STATISTICS_FRAME_MAX);
	place_make(&place);
	assert_int_equal(hk_statistics_open(place.dir, &statistics), 0);
	assert_int_equal(hk_statistics_put_process(statistics, &stacks->process), 0);
	expect_stacks(&place, stacks);
	size_t before = file_size(&place);
	stacks->process.records++;
	stacks->places[PARTS - 1].n_line = stacks->places[PARTS - 1].n_file = 7;
	assert_int_equal(hk_statistics_put_process(statistics, &stacks->process), 0);
	size_t after = file_size(&place);
	assert_true(after < before || after - before < 3u << 20);
	expect_stacks(&place, stacks);
	hk_statistics_free(statistics);
	place_remove(&place);
	free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_statistics_newest_frame_wins),
	    cmocka_unit_test(test_statistics_without_job_frame_names_the_directory),
	    cmocka_unit_test(test_statistics_torn_at_every_byte_keeps_what_came_before),
	    cmocka_unit_test(test_statistics_flipped_byte_costs_one_frame),
	    cmocka_unit_test(test_statistics_file_stays_within_thrice_its_live_frames),
	    cmocka_unit_test(test_statistics_foreign_file_is_damage),
	    cmocka_unit_test(test_statistics_rows_of_older_files_become_columns),
	    cmocka_unit_test(test_statistics_large_process_is_saved_in_pieces),
	    cmocka_unit_test(test_statistics_many_stacks_are_saved_in_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
