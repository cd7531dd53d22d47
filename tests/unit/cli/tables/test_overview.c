/* Overviews of made-up jobs whose calls lie at known times, in chunk files of the real writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/codec/writer.h"
#include "chunk/read/file.h"
#include "cli/tables/overview.h"
#include "hooks/hook.h"
#include "report/build/build.h"

#define PROCESSES_MAX 4
#define MS 1000000u
#define SPAN_MS 100u /* that every process lives */
#define RECORDS_MAX 40000u

enum site { SITE_SEND, SITE_RECV, SITE_READ, SITE_MARK, SITE_COUNT };

static const struct hk_chunk_site sites[SITE_COUNT] = {
    {.id = SITE_SEND, .function = "MPI_Send", .library = "/a", .domain = "mpi"},
    {.id = SITE_RECV, .function = "MPI_Recv", .library = "/a", .domain = "mpi"},
    {.id = SITE_READ, .function = "read", .library = "/a", .domain = "io"},
    {.id = SITE_MARK,
     .function = "mark",
     .library = "/a",
     .domain = "user",
     .meaning = HK_MEANING_MARK},
};

struct process {
	Hk__Process message;
	Hk__Anchor start, end;
	uint8_t uid[16];
	struct hk_chunk_writer *writer;
	int file;
	bool shed; /* its next chunks are given up: tombstones stand for them */
	uint64_t lost;
	uint64_t words[2 * RECORDS_MAX];
	size_t count;
};

/* A job whose times are ticks of 1 ns; it starts at 0. */
struct job {
	char directory[64];
	Hk__Snapshot snapshot;
	Hk__Job message;
	Hk__Process *list[PROCESSES_MAX];
	struct process processes[PROCESSES_MAX];
};

static int describe(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	(void)context;
	if (id >= SITE_COUNT) {
		return -ENOENT;
	}
	*ret_site = sites[id];
	return 0;
}

static void chunks_path(const struct job *job, const struct process *process, char path[PATH_MAX])
{
	int used = snprintf(path, PATH_MAX, "%s/", job->directory);

	for (int i = 0; i < 16; i++) {
		used += snprintf(path + used, (size_t)(PATH_MAX - used), "%02x", process->uid[i]);
	}
	snprintf(path + used, (size_t)(PATH_MAX - used), ".chunks");
}

static void job_make(struct job *job)
{
	memset(job, 0, sizeof(*job));
	snprintf(job->directory, sizeof(job->directory), "/tmp/hk-overview-XXXXXX");
	assert_non_null(mkdtemp(job->directory));
	hk__snapshot__init(&job->snapshot);
	hk__job__init(&job->message);
	job->message.start_unix_ns = 1795000000000000000u;
	job->snapshot.job = &job->message;
	job->snapshot.processes = job->list;
}

static struct process *add_process(struct job *job, int32_t rank, Hk__Role role)
{
	const struct hk_chunk_options options = {.ticks_per_ns = 1.0, .names = {.site = describe}};
	size_t index = job->snapshot.n_processes++;
	struct process *process = &job->processes[index];
	char path[PATH_MAX];

	hk__process__init(&process->message);
	hk__anchor__init(&process->start);
	hk__anchor__init(&process->end);
	process->uid[0] = (uint8_t)(index + 1);
	process->message.uid = (ProtobufCBinaryData){16, process->uid};
	process->message.rank = rank;
	process->message.role = role;
	process->message.tick_ns_q32 = UINT64_C(1) << 32;
	process->start.ticks = process->start.monotonic_ns = 7000;
	process->start.realtime_ns = job->message.start_unix_ns;
	process->end = process->start;
	process->end.ticks += SPAN_MS * MS;
	process->end.monotonic_ns += SPAN_MS * MS;
	process->end.realtime_ns += SPAN_MS * MS;
	process->message.start = &process->start;
	process->message.end = &process->end;
	job->list[index] = &process->message;
	chunks_path(job, process, path);
	process->file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(process->file >= 0);
	process->writer = hk_chunk_writer_new(&options);
	hk_chunk_writer_begin(process->writer, process->uid, 1);
	return process;
}

/* A call, in order of ends. Times in us since the start. */
static void call(struct process *process, enum site site, uint64_t start_us, uint64_t end_us)
{
	assert_true(process->count + 2 <= 2 * RECORDS_MAX);
	process->words[process->count++] = process->start.ticks + start_us * 1000;
	process->words[process->count++] =
	    (end_us - start_us) * 1000 | (uint64_t)site << 32 | (uint64_t)HK_CHUNK_KIND_CALL << 52;
}

/* What was called since the last seal becomes a chunk. */
static void seal(struct process *process)
{
	struct hk_chunk_position chain = {
	    .slot = 0, .thread = 1, .tid = 1, .position = process->message.last_chunk};
	const void *bytes;
	size_t size, consumed = 0;

	if (process->count > 0) {
		assert_int_equal(hk_chunk_writer_add(process->writer, &chain, process->words,
						     process->count, &consumed),
				 0);
		assert_int_equal(consumed, process->count);
	}
	assert_int_equal(hk_chunk_writer_finish(process->writer, process->lost, &bytes, &size), 0);
	uint8_t tombstone[HK_CHUNK_HEADER_BYTES];
	if (process->shed) {
		struct hk_chunk_header header;
		assert_int_equal(hk_chunk_header_read(bytes, size, &header), 0);
		hk_chunk_header_tombstone(&header, 0, tombstone);
		bytes = tombstone;
		size = sizeof(tombstone);
	}
	uint64_t end = (uint64_t)lseek(process->file, 0, SEEK_END);
	assert_int_equal(
	    hk_chunk_file_append(process->file, hk_chunk_file_location(end), bytes, size), 0);
	process->message.last_chunk++;
	process->message.records_stored += process->count / 2;
	process->message.records = process->message.records_stored;
	process->message.lost_records = process->lost;
	process->count = 0;
	hk_chunk_writer_begin(process->writer, process->uid, process->message.last_chunk + 1);
}

static void job_remove(struct job *job)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < job->snapshot.n_processes; i++) {
		struct process *process = &job->processes[i];
		chunks_path(job, process, path);
		unlink(path);
		close(process->file);
		hk_chunk_writer_free(process->writer);
	}
	assert_int_equal(rmdir(job->directory), 0);
	free(job);
}

static struct job *job_new(void)
{
	struct job *job = malloc(sizeof(*job));

	assert_non_null(job);
	job_make(job);
	return job;
}

static struct hk_overview *overview_of(const struct job *job, size_t bins, uint64_t records,
				       uint64_t chunks)
{
	const struct hk_overview_options options = {bins, records, chunks, NULL};
	struct hk_overview *overview;

	assert_int_equal(hk_overview_new(&job->snapshot, job->directory, &options, &overview), 0);
	return overview;
}

static size_t domain_of(const struct hk_overview *overview, const char *name)
{
	for (size_t i = 0; i < overview->domain_count; i++) {
		if (strcmp(overview->domains[i], name) == 0) {
			return i;
		}
	}
	fail();
	return 0;
}

/* Busy ms of NAME in bin BIN of the first rank. */
static double busy_ms(const struct hk_overview *overview, size_t rank, const char *name, size_t bin)
{
	return (double)overview->ranks[rank].bins[bin].busy_ns[domain_of(overview, name)] / 1e6;
}

#define ASSERT_NEAR(got, wanted) assert_true(fabs((got) - (wanted)) < 0.001)

/* 10 bins of 10 ms: MPI in the second and third, I/O from the middle of the fifth to the end of the
 * seventh, one call across all of them inside which calls of its own domain count for nothing. */
static void test_phases_are_where_they_were(void **state)
{
	struct job *job = job_new();
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	for (uint64_t ms = 10; ms < 30; ms++) {
		call(process, SITE_SEND, ms * 1000, ms * 1000 + 600);
	}
	call(process, SITE_MARK, 31000, 31000);
	seal(process);
	call(process, SITE_RECV, 46000, 47000);
	call(process, SITE_READ, 50000, 51000); /* inside the one that follows */
	call(process, SITE_READ, 45000, 70000);
	seal(process);
	struct hk_overview *overview = overview_of(job, 10, 1000, 1000);
	assert_true(overview->complete);
	assert_int_equal(overview->records, 24);
	assert_int_equal(overview->records_there, 24);
	assert_int_equal(overview->records_missing, 0);
	assert_int_equal(overview->rank_count, 1);
	assert_int_equal(overview->bins, 10);
	assert_int_equal(overview->start_ns, 0);
	assert_int_equal(overview->width_ns, 10 * MS);
	const double mpi[10] = {0, 6, 6, 0, 1}, io[10] = {0, 0, 0, 0, 5, 10, 10};
	const uint64_t calls[10] = {0, 10, 10, 0, 2, 1};
	for (size_t i = 0; i < 10; i++) {
		ASSERT_NEAR(busy_ms(overview, 0, "mpi", i), mpi[i]);
		ASSERT_NEAR(busy_ms(overview, 0, "io", i), io[i]);
		assert_int_equal(overview->ranks[0].bins[i].calls, calls[i]);
		assert_true(overview->ranks[0].bins[i].unknown == 0);
		assert_int_equal(overview->ranks[0].bins[i].lost, 0);
	}
	assert_int_equal(overview->domain_count, 2);
	hk_overview_free(overview);
	job_remove(job);
}

/* Helpers and launchers have no row; a rank without records has one without bins. */
static void test_ranks_are_main_processes(void **state)
{
	struct job *job = job_new();
	char path[PATH_MAX];
	(void)state;
	call(add_process(job, 1, HK__ROLE__ROLE_MAIN), SITE_READ, 1000, 2000);
	seal(&job->processes[0]);
	call(add_process(job, 1, HK__ROLE__ROLE_HELPER), SITE_SEND, 1000, 2000);
	seal(&job->processes[1]);
	struct process *silent = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	chunks_path(job, silent, path);
	unlink(path);
	/* What the rank has become by exec: one row for both. */
	struct process *next = add_process(job, 1, HK__ROLE__ROLE_MAIN);
	next->message.start = &next->end;
	next->end.ticks = next->start.ticks;
	next->start.ticks += SPAN_MS * MS;
	call(next, SITE_READ, 1000, 3000);
	seal(next);
	struct hk_overview *overview = overview_of(job, 10, 1000, 1000);
	assert_int_equal(overview->rank_count, 2);
	assert_int_equal(overview->ranks[0].rank, 0);
	assert_null(overview->ranks[0].bins);
	assert_int_equal(overview->ranks[1].rank, 1);
	assert_int_equal(overview->records, 2);
	assert_int_equal(overview->domain_count, 1);
	assert_int_equal(overview->damaged, 0);
	hk_overview_free(overview);
	job_remove(job);
}

/* What was lost or given up is shown where it is missing. */
static void test_what_is_missing_is_marked(void **state)
{
	struct job *job = job_new();
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	process->shed = true;
	call(process, SITE_SEND, 5000, 6000);
	call(process, SITE_SEND, 15000, 25000);
	seal(process);
	process->shed = false;
	process->lost = 7;
	call(process, SITE_SEND, 30000, 35000);
	seal(process);
	process->message.lost_records = 10; /* three after the last chunk */
	struct hk_overview *overview = overview_of(job, 10, 1000, 1000);
	const struct hk_overview_bin *bins = overview->ranks[0].bins;
	ASSERT_NEAR(bins[0].unknown, 1);
	ASSERT_NEAR(bins[1].unknown, 1);
	ASSERT_NEAR(bins[2].unknown, 0.5);
	ASSERT_NEAR(bins[3].unknown, 0);
	assert_int_equal(bins[2].lost, 2);
	assert_int_equal(bins[3].lost, 10);
	assert_int_equal(overview->records_missing, 12);
	assert_int_equal(overview->records_there, 1);
	assert_true(overview->complete);
	hk_overview_free(overview);
	job_remove(job);
}

/* 50 chunks of 2 ms each, of which every fifth may be read: times are estimated from it, and what
 * is not known is said. */
static void test_sampling_is_near_the_truth(void **state)
{
	struct job *job = job_new();
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	for (uint64_t chunk = 0; chunk < 50; chunk++) {
		/* Half of the time in the first half of the job, a tenth in the second. */
		for (uint64_t i = 0; i < 100; i++) {
			uint64_t at_us = chunk * 2000 + i * 20;
			call(process, SITE_SEND, at_us, at_us + (chunk < 25 ? 10 : 2));
		}
		seal(process);
	}
	struct hk_overview *all = overview_of(job, 10, 5000, 1000);
	struct hk_overview *some = overview_of(job, 10, 1000, 1000);
	struct hk_overview *few = overview_of(job, 10, 5000, 10);
	assert_true(all->complete);
	assert_int_equal(all->records, 5000);
	assert_false(some->complete);
	assert_int_equal(some->records, 1000);
	assert_int_equal(some->records_there, 5000);
	assert_int_equal(few->records, 1000);
	for (size_t i = 0; i < 10; i++) {
		double exact = busy_ms(all, 0, "mpi", i);
		ASSERT_NEAR(exact, i < 5 ? 5 : 1);
		assert_true(fabs(busy_ms(some, 0, "mpi", i) - exact) < 0.1 * exact);
		assert_true(fabs(some->ranks[0].bins[i].unknown - 0.8) < 0.02);
		assert_in_range(some->ranks[0].bins[i].calls, 450, 550);
	}
	/* One in fifty: most bins are not known at all, and not made up. */
	struct hk_overview *one = overview_of(job, 10, 100, 1000);
	assert_int_equal(one->records, 100);
	size_t known = 0;
	for (size_t i = 0; i < 10; i++) {
		const struct hk_overview_bin *bin = &one->ranks[0].bins[i];
		known += bin->unknown < 0.99;
		assert_true((bin->unknown < 0.99) == (bin->calls > 0));
	}
	assert_int_equal(known, 1);
	hk_overview_free(all);
	hk_overview_free(some);
	hk_overview_free(few);
	hk_overview_free(one);
	job_remove(job);
}

#define PART 16u
#define PARTS 6u /* of bins of 2^20 ns: a little more than the job */

/* What a collector saw of a process: EACH in every bin, of KIND and DOMAIN. */
static void saw(struct process *process, Hk__ActivityKind kind, const char *domain, uint64_t each)
{
	static Hk__Activity parts[4][PARTS], *list[4 * PARTS];
	static uint64_t values[4][PARTS * PART];
	size_t row = process->message.n_activity / PARTS;

	for (unsigned i = 0; i < PARTS; i++) {
		Hk__Activity *part = &parts[row][i];
		hk__activity__init(part);
		part->kind = kind;
		part->domain = (char *)(uintptr_t)domain;
		part->part = i;
		part->start_ticks = process->start.ticks;
		part->shift = 20;
		part->value = &values[row][(size_t)i * PART];
		for (part->n_value = 0; part->n_value < PART; part->n_value++) {
			part->value[part->n_value] = each;
		}
		list[process->message.n_activity++] = part;
	}
	process->message.activity = list;
}

/* A collector that took over may note a time after the end of the process: no call is left out. */
static void test_what_was_seen_after_the_end_is_in_the_last_bin(void **state)
{
	struct job *job = job_new();
	struct hk_report *report;
	struct hk_overview *overview;
	uint64_t calls = 0;
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	for (uint64_t i = 0; i < 5000; i++) {
		call(process, SITE_SEND, i * 20, i * 20 + 10);
	}
	seal(process);
	saw(process, HK__ACTIVITY_KIND__ACTIVITY_CALLS, "", 52);
	for (size_t i = 0; i < process->message.n_activity; i++) {
		process->message.activity[i]->shift = 21; /* twice as long as the job */
	}
	assert_int_equal(hk_report_new(&job->snapshot, &report), 0);
	struct hk_overview_options options = {100, 100, 1000, report};
	assert_int_equal(hk_overview_new(&job->snapshot, job->directory, &options, &overview), 0);
	assert_true(overview->ranks[0].seen);
	for (size_t i = 0; i < overview->bins; i++) {
		calls += overview->ranks[0].bins[i].calls;
	}
	assert_in_range(calls, 96 * 52 - 1, 96 * 52 + 1);
	hk_overview_free(overview);
	hk_report_free(report);
	job_remove(job);
}

/* A uniform job whose records are not all read is not drawn as spikes: what its collector saw is
 * known of every bin. */
static void test_what_is_not_read_was_seen(void **state)
{
	struct job *job = job_new();
	struct hk_report *report;
	struct hk_overview *overview;
	uint64_t calls = 0;
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	for (uint64_t chunk = 0; chunk < 50; chunk++) {
		for (uint64_t i = 0; i < 100; i++) {
			call(process, SITE_SEND, chunk * 2000 + i * 20, chunk * 2000 + i * 20 + 10);
		}
		seal(process);
	}
	saw(process, HK__ACTIVITY_KIND__ACTIVITY_CALLS, "", 52);
	saw(process, HK__ACTIVITY_KIND__ACTIVITY_DOMAIN, "mpi", 520000);
	assert_int_equal(hk_report_new(&job->snapshot, &report), 0);
	struct hk_overview_options options = {100, 100, 1000, report};
	assert_int_equal(hk_overview_new(&job->snapshot, job->directory, &options, &overview), 0);
	assert_true(overview->ranks[0].seen);
	assert_false(overview->complete);
	assert_int_equal(overview->records, 0);
	assert_int_equal(overview->records_there, 5000);
	for (size_t i = 0; i < overview->bins; i++) {
		const struct hk_overview_bin *bin = &overview->ranks[0].bins[i];
		calls += bin->calls;
		if (i + 1 == overview->bins) {
			break; /* the last bin of what was seen is shorter, and as full */
		}
		assert_in_range(bin->calls, 48, 54);
		assert_true(fabs(busy_ms(overview, 0, "mpi", i) - 0.5) < 0.05);
		assert_true(bin->unknown == 0);
	}
	assert_in_range(calls, 96 * 52 - 1, 96 * 52 + 1);
	hk_overview_free(overview);

	/* Where all is read, records say it more exactly. */
	options.records = 5000;
	assert_int_equal(hk_overview_new(&job->snapshot, job->directory, &options, &overview), 0);
	assert_false(overview->ranks[0].seen);
	assert_true(overview->complete);
	hk_overview_free(overview);
	hk_report_free(report);
	job_remove(job);
}

/* Chunks that are large and small in turns are both read, and about as much as was asked for. */
static void test_chunks_of_two_sizes(void **state)
{
	struct job *job = job_new();
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	for (uint64_t chunk = 0; chunk < 400; chunk++) {
		for (uint64_t i = 0; i < (chunk % 2 ? 1 : 39); i++) {
			call(process, SITE_SEND, chunk * 200 + 5 * i, chunk * 200 + 5 * i + 1);
		}
		seal(process);
	}
	for (uint64_t stride = 2; stride <= 8; stride *= 2) {
		struct hk_overview *overview = overview_of(job, 10, 8000 / stride, 1000);
		double wanted = 8000.0 / (double)stride;
		assert_true(fabs((double)overview->records - wanted) < 0.25 * wanted);
		hk_overview_free(overview);
	}
	job_remove(job);
}

/* ---- JSON ---- */

static json_t *json_of(const struct hk_overview *overview)
{
	char *text = NULL;
	size_t size;
	struct hk_json json = {.output = open_memstream(&text, &size)};

	assert_non_null(json.output);
	hk_overview_write(overview, NULL, &json);
	fclose(json.output);
	json_t *root = json_loads(text, 0, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static void test_json_has_it_all(void **state)
{
	struct job *job = job_new();
	json_int_t start, bins, rank;
	int complete;
	json_t *domains, *calls, *busy, *lost;
	(void)state;
	struct process *process = add_process(job, 4, HK__ROLE__ROLE_MAIN);
	process->lost = 9;
	call(process, SITE_READ, 20000, 25000);
	seal(process);
	struct hk_overview *overview = overview_of(job, 10, 1000, 1000);
	json_t *root = json_of(overview);
	assert_int_equal(json_unpack(root, "{s:I, s:I, s:b, s:o, s:[{s:I, s:o, s:{s:o}, s:o}]}",
				     "start_ns", &start, "bins", &bins, "complete", &complete,
				     "domains", &domains, "ranks", "rank", &rank, "calls", &calls,
				     "busy", "io", &busy, "lost", &lost),
			 0);
	assert_int_equal(start, 0);
	assert_int_equal(bins, 10);
	assert_int_equal(rank, 4);
	assert_true(complete);
	assert_int_equal(json_array_size(domains), 1);
	assert_int_equal(json_array_size(calls), 10);
	assert_int_equal(json_integer_value(json_array_get(calls, 2)), 1);
	assert_int_equal(json_integer_value(json_array_get(busy, 2)), 500);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(lost, 0), 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(lost, 0), 1)), 9);
	assert_null(json_object_get(json_array_get(json_object_get(root, "ranks"), 0), "unknown"));
	json_decref(root);
	hk_overview_free(overview);
	job_remove(job);
}

/* ---- nonsense ---- */

/* Files that are damaged, clocks that lead nowhere: what is left is shown, and how much is damaged.
 */
static void test_damage_is_survived(void **state)
{
	struct job *job = job_new();
	(void)state;
	struct process *process = add_process(job, 0, HK__ROLE__ROLE_MAIN);
	call(process, SITE_READ, 1000, 2000);
	seal(process);
	call(process, SITE_READ, 3000, 4000);
	seal(process);
	struct process *wild = add_process(job, 1, HK__ROLE__ROLE_MAIN);
	call(wild, SITE_READ, 1000, 2000);
	seal(wild);
	wild->message.tick_ns_q32 = UINT64_MAX;
	wild->start.monotonic_ns = UINT64_MAX;
	wild->end.ticks = 0;
	wild->end.realtime_ns = UINT64_MAX;
	/* The body of the first chunk. */
	assert_int_equal(pwrite(process->file, "\xff\xff\xff\xff", 4, HK_CHUNK_HEADER_BYTES), 4);
	struct hk_overview *overview = overview_of(job, 10, 1000, 1000);
	assert_true(overview->damaged > 0);
	assert_false(overview->complete);
	json_decref(json_of(overview));
	hk_overview_free(overview);
	job_remove(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_phases_are_where_they_were),
	    cmocka_unit_test(test_ranks_are_main_processes),
	    cmocka_unit_test(test_what_is_missing_is_marked),
	    cmocka_unit_test(test_sampling_is_near_the_truth),
	    cmocka_unit_test(test_what_is_not_read_was_seen),
	    cmocka_unit_test(test_what_was_seen_after_the_end_is_in_the_last_bin),
	    cmocka_unit_test(test_chunks_of_two_sizes),
	    cmocka_unit_test(test_json_has_it_all),
	    cmocka_unit_test(test_damage_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
