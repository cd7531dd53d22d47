/* Whole exports of a made-up job: chunk files written by the real writer from random call trees,
 * exported in both formats, then read by export_check.py (Google's protobuf runtime, Python's json)
 * against the counts of the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chunk/codec/writer.h"
#include "chunk/read/file.h"
#include "cli/timeline/timeline.h"
#include "hooks/hook.h"
#include "text/json_stream.h"

#define PROCESSES 4
#define THREADS 2
#define SITES 3
#define CALLS 3000		/* per thread */
#define TICK_NS_Q32 1431655766u /* 3 GHz */
#define MS_TICKS 3000000u
#define WORDS_MAX (CALLS * 6)

static const struct {
	const char *host;
	uint32_t pid;
	int32_t rank;
	Hk__Role role;
	const char *report_role;
	uint64_t base_ticks;
} tracks[PROCESSES] = {
    /* Out of order on purpose; two hosts use one pid. */
    {"n02", 4711, 1, HK__ROLE__ROLE_MAIN, "main", 900000000000u},
    {"n01", 4700, -1, HK__ROLE__ROLE_LAUNCHER, "launcher", 3000000000000u},
    {"n01", 4720, 0, HK__ROLE__ROLE_HELPER, "helper", 3000000000000u},
    {"n01", 4711, 0, HK__ROLE__ROLE_MAIN, "main", 3000000000000u},
};

static const struct hk_chunk_site sites[SITES] = {
    {.id = 0,
     .key_count = 3,
     .keys = {HK_KEY_BYTES, HK_KEY_PEER, HK_KEY_COMM},
     .function = "MPI_Send",
     .library = "/opt/liblammps.so.0",
     .domain = "mpi"},
    {.id = 1,
     .function = "say \"hi\\\" \033[31m",
     .library = "/opt/b\xff"
		"ad",
     .domain = "odd"},
    {.id = 2,
     .key_count = 1,
     .keys = {HK_KEY_POINTER},
     .function = "malloc",
     .library = "/usr/bin/lmp",
     .domain = "memory"},
};

struct model {
	char directory[64];
	Hk__Snapshot snapshot;
	Hk__Job job;
	Hk__Process processes[PROCESSES];
	Hk__Process *process_list[PROCESSES];
	Hk__Anchor starts[PROCESSES], ends[PROCESSES];
	uint8_t uids[PROCESSES][16];
	uint64_t calls[PROCESSES][SITES], total_ns[PROCESSES][SITES];
	uint64_t lost; /* by process 0, noted in its last chunk */
	uint64_t seed;
};

static unsigned int next_random(struct model *model, unsigned int bound)
{
	model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(model->seed >> 33) % bound;
}

/* ---- records ---- */

struct thread {
	struct model *model;
	unsigned int process;
	uint64_t now; /* ticks */
	unsigned int left;
	uint64_t words[WORDS_MAX];
	size_t count;
};

static void put_record(struct thread *thread, unsigned int site, uint64_t start)
{
	uint64_t duration_ns = (thread->now - start) * TICK_NS_Q32 >> 32;
	unsigned int words = sites[site].key_count;

	thread->words[thread->count++] = start;
	thread->words[thread->count++] = duration_ns | (uint64_t)site << 32 |
					 (uint64_t)HK_CHUNK_KIND_CALL << 52 | (uint64_t)words << 56;
	for (unsigned int i = 0; i < words; i++) {
		thread->words[thread->count++] = i == 1 ? (uint32_t)-1 : UINT64_MAX - i;
	}
	thread->model->calls[thread->process][site]++;
	thread->model->total_ns[thread->process][site] += duration_ns;
}

/* A call and what it calls; a call may be so short that several fall into one nanosecond. */
static void call(struct thread *thread, unsigned int depth)
{
	unsigned int site = next_random(thread->model, SITES);
	uint64_t start = thread->now;

	thread->left--;
	thread->now += next_random(thread->model, 40);
	while (thread->left && depth < 20 && next_random(thread->model, 3) == 0) {
		call(thread, depth + 1);
		thread->now += next_random(thread->model, 5);
	}
	if (next_random(thread->model, 200) == 0) {
		thread->now += 30 * MS_TICKS; /* goes to the section of long calls */
	}
	thread->now += next_random(thread->model, 40);
	put_record(thread, site, start);
}

static int describe(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	(void)context;
	if (id >= SITES) {
		return -ENOENT;
	}
	*ret_site = sites[id];
	return 0;
}

static void append(struct model *model, unsigned int process, struct hk_chunk_writer *writer,
		   int file, uint64_t number)
{
	const void *bytes;
	size_t size;

	assert_int_equal(hk_chunk_writer_finish(writer, process ? 0 : model->lost, &bytes, &size),
			 0);
	assert_int_equal(
	    hk_chunk_file_append(file, (uint64_t)lseek(file, 0, SEEK_END), bytes, size), 0);
	hk_chunk_writer_begin(writer, model->uids[process], number + 1);
}

static void chunks_path(const struct model *model, unsigned int process, char path[PATH_MAX])
{
	int used = snprintf(path, PATH_MAX, "%s/", model->directory);

	for (int i = 0; i < 16; i++) {
		used += snprintf(path + used, (size_t)(PATH_MAX - used), "%02x",
				 model->uids[process][i]);
	}
	snprintf(path + used, (size_t)(PATH_MAX - used), ".chunks");
}

/* Both threads in turn, a chunk after each 4,000 words. */
static void write_process(struct model *model, unsigned int process)
{
	static struct thread threads[THREADS];
	struct hk_chunk_options options = {.ticks_per_ns = 3.0, .names = {.site = describe}};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	struct hk_chunk_position chains[THREADS] = {{0}};
	size_t done[THREADS] = {0};
	uint64_t number = 1;
	char path[PATH_MAX];
	int file;

	chunks_path(model, process, path);
	file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(file >= 0);
	hk_chunk_writer_begin(writer, model->uids[process], number);
	for (unsigned int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){.model = model, .process = process, .left = CALLS};
		threads[i].now = tracks[process].base_ticks + MS_TICKS + i;
		while (threads[i].left) {
			call(&threads[i], 0);
		}
		chains[i].slot = i;
		chains[i].thread = i + 1;
		chains[i].tid = tracks[process].pid + i;
	}
	while (done[0] < threads[0].count || done[1] < threads[1].count) {
		for (unsigned int i = 0; i < THREADS; i++) {
			size_t left = threads[i].count - done[i], consumed;

			/* A part may end inside a record: the writer leaves its rest for the next.
			 */
			int rc = hk_chunk_writer_add(writer, &chains[i], threads[i].words + done[i],
						     left < 4000 ? left : 4000, &consumed);

			assert_true(rc == 0 || (rc == -EBADMSG && left > 4000));
			done[i] += consumed;
		}
		append(model, process, writer, file, number++);
	}
	close(file);
	hk_chunk_writer_free(writer);
}

/* ---- the job ---- */

static void make_process(struct model *model, unsigned int index)
{
	Hk__Process *process = &model->processes[index];

	hk__process__init(process);
	hk__anchor__init(&model->starts[index]);
	hk__anchor__init(&model->ends[index]);
	for (unsigned int i = 0; i < 16; i++) {
		model->uids[index][i] = (uint8_t)(index * 16 + i);
	}
	process->uid.data = model->uids[index];
	process->uid.len = 16;
	process->pid = tracks[index].pid;
	process->rank = tracks[index].rank;
	process->role = tracks[index].role;
	process->host = (char *)tracks[index].host;
	process->command = "lmp -in \xfe in.lj";
	process->tick_ns_q32 = TICK_NS_Q32;
	process->lost_records = index ? 0 : model->lost;
	model->starts[index].ticks = tracks[index].base_ticks;
	model->starts[index].monotonic_ns = 5000000000u;
	/* The launcher began before anybody knew of the job. */
	model->starts[index].realtime_ns = model->job.start_unix_ns + 1000;
	process->start = &model->starts[index];
	/* 100 s and a drift of 40 ppm. */
	model->ends[index].ticks = tracks[index].base_ticks + 300000000000u;
	model->ends[index].monotonic_ns = 5000000000u + 100004000000u;
	model->ends[index].realtime_ns = model->starts[index].realtime_ns + 100004000000u;
	process->end = &model->ends[index];
	model->process_list[index] = process;
}

static void write_report(const struct model *model)
{
	char path[PATH_MAX];
	FILE *output;
	struct hk_json json = {0};

	snprintf(path, sizeof(path), "%s/report.json", model->directory);
	output = fopen(path, "w");
	assert_non_null(output);
	json.output = output;
	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "open_calls", '[');
	hk_json_close(&json, ']');
	hk_json_open(&json, "ranks", '[');
	hk_json_open(&json, NULL, '{');
	hk_json_uint(&json, "lost_records", model->lost);
	hk_json_close(&json, '}');
	hk_json_close(&json, ']');
	hk_json_open(&json, "calls", '[');
	for (unsigned int i = 0; i < PROCESSES * SITES; i++) {
		hk_json_open(&json, NULL, '{');
		hk_json_int(&json, "rank", tracks[i / SITES].rank);
		hk_json_string(&json, "role", tracks[i / SITES].report_role);
		hk_json_string(&json, "domain", sites[i % SITES].domain);
		hk_json_string(&json, "function", sites[i % SITES].function);
		hk_json_string(&json, "library", sites[i % SITES].library);
		hk_json_uint(&json, "calls", model->calls[i / SITES][i % SITES]);
		hk_json_uint(&json, "total_ns", model->total_ns[i / SITES][i % SITES]);
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_close(&json, '}');
	fclose(output);
}

static void make_job(struct model *model, uint64_t seed, uint64_t lost)
{
	*model = (struct model){.seed = seed, .lost = lost, .directory = "/tmp/hk-timeline-XXXXXX"};
	assert_non_null(mkdtemp(model->directory));
	hk__snapshot__init(&model->snapshot);
	hk__job__init(&model->job);
	model->job.id = "lmp-1";
	model->job.command = "mpirun -n 2 lmp";
	model->job.start_unix_ns = 1795000000000000000u;
	for (unsigned int i = 0; i < PROCESSES; i++) {
		make_process(model, i);
		write_process(model, i);
	}
	model->starts[1].monotonic_ns -= 2000;
	model->starts[1].realtime_ns -= 2000;
	model->snapshot.job = &model->job;
	model->snapshot.n_processes = PROCESSES;
	model->snapshot.processes = model->process_list;
	write_report(model);
}

static void remove_job(const struct model *model)
{
	static const char *const names[] = {"report.json", "perfetto", "chrome"};
	char path[PATH_MAX];

	for (unsigned int i = 0; i < PROCESSES; i++) {
		chunks_path(model, i, path);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", model->directory, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(model->directory), 0);
}

static struct hk_timeline_result export_job(const struct model *model, const char *format,
					    const struct hk_timeline_options *options)
{
	struct hk_timeline_result result = {0};
	char path[PATH_MAX];
	struct hk_export_target target = {.path = path};

	snprintf(path, sizeof(path), "%s/%s", model->directory, format);
	target.output = fopen(path, "w");
	assert_non_null(target.output);
	assert_int_equal(hk_timeline_export(&model->snapshot, model->directory,
					    hk_exporter_find(format), &target, options, &result),
			 0);
	assert_int_equal(fclose(target.output), 0);
	return result;
}

static int check(const struct model *model)
{
	char command[PATH_MAX * 2];

	snprintf(command, sizeof(command),
		 "/usr/bin/python3 %s/tests/integration/export_check.py %s/report.json %s/perfetto "
		 "%s/chrome",
		 HK_SOURCE_DIR, model->directory, model->directory, model->directory);
	return system(command);
}

static const struct hk_timeline_options whole = {.from_ns = INT64_MIN, .to_ns = INT64_MAX};

static void test_exports_hold_what_the_report_counts(void **state)
{
	struct model model;

	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		make_job(&model, seed, 0);
		struct hk_timeline_result result = export_job(&model, "perfetto", &whole);

		assert_true(result.calls == PROCESSES * THREADS * CALLS);
		assert_true(result.records == result.calls);
		assert_int_equal(result.damaged + result.lost + result.too_deep, 0);
		assert_int_equal(result.processes, PROCESSES);
		assert_int_equal(result.unrecorded, 0);
		result = export_job(&model, "chrome", &whole);
		assert_true(result.calls == PROCESSES * THREADS * CALLS);
		assert_int_equal(check(&model), 0);
		remove_job(&model);
	}
}

/* The check itself must be able to fail. */
static void test_one_call_too_few_is_noticed(void **state)
{
	struct model model;

	(void)state;
	make_job(&model, 4, 0);
	model.calls[3][0]++;
	write_report(&model);
	export_job(&model, "perfetto", &whole);
	export_job(&model, "chrome", &whole);
	int status = check(&model);

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	remove_job(&model);
}

static void test_lost_records_are_marked(void **state)
{
	struct model model;

	(void)state;
	make_job(&model, 5, 17);
	assert_true(export_job(&model, "perfetto", &whole).lost == 17);
	assert_true(export_job(&model, "chrome", &whole).lost == 17);
	assert_int_equal(check(&model), 0);
	remove_job(&model);
}

static void test_ranks_and_times_limit_the_export(void **state)
{
	struct hk_span_ranks first = {.first = 0, .last = 0};
	struct hk_timeline_options options = whole;
	struct model model;

	(void)state;
	make_job(&model, 6, 0);
	options.ranks = &first;
	options.rank_count = 1;
	struct hk_timeline_result result = export_job(&model, "perfetto", &options);

	assert_int_equal(result.processes, 2); /* main and helper */
	assert_true(result.calls == 2 * THREADS * CALLS);

	options = whole;
	options.to_ns = -1000000;
	assert_int_equal(export_job(&model, "chrome", &options).calls, 0);
	options.to_ns = INT64_MAX;
	options.from_ns = 100000000000000;
	assert_int_equal(export_job(&model, "chrome", &options).calls, 0);
	remove_job(&model);
}

static void test_damage_is_left_out_and_counted(void **state)
{
	struct hk_timeline_result result;
	struct model model;
	char path[PATH_MAX];
	uint8_t byte;
	int file;

	(void)state;
	make_job(&model, 7, 0);
	chunks_path(&model, 0, path);
	file = open(path, O_RDWR);
	/* In the first chunk's body, behind header and section table. */
	assert_int_equal(pread(file, &byte, 1, 700), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(file, &byte, 1, 700), 1);
	close(file);
	chunks_path(&model, 2, path);
	unlink(path);
	result = export_job(&model, "perfetto", &whole);
	assert_true(result.damaged > 0);
	assert_int_equal(result.unrecorded, 1);
	assert_true(result.calls < 3 * THREADS * CALLS && result.calls > 2 * THREADS * CALLS);
	remove_job(&model);
}

static void test_full_disk_is_an_error(void **state)
{
	struct hk_timeline_result result;
	struct model model;
	struct hk_export_target full = {.output = fopen("/dev/full", "w")};

	(void)state;
	if (!full.output) {
		skip();
	}
	make_job(&model, 8, 0);
	assert_int_equal(hk_timeline_export(&model.snapshot, model.directory, &hk_chrome_exporter,
					    &full, &whole, &result),
			 -ENOSPC);
	clearerr(full.output);
	assert_int_equal(hk_timeline_export(&model.snapshot, model.directory, &hk_perfetto_exporter,
					    &full, &whole, &result),
			 -ENOSPC);
	fclose(full.output);
	remove_job(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exports_hold_what_the_report_counts),
	    cmocka_unit_test(test_one_call_too_few_is_noticed),
	    cmocka_unit_test(test_lost_records_are_marked),
	    cmocka_unit_test(test_ranks_and_times_limit_the_export),
	    cmocka_unit_test(test_damage_is_left_out_and_counted),
	    cmocka_unit_test(test_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
