/* report --by thread: what threads are called, of a made-up process with a chunk file of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/codec/writer.h"
#include "chunk/read/file.h"
#include "cli/tables/thread_table.h"

#define THREADS 2

static char directory[] = "/tmp/hk-threads-XXXXXX";
static char path[96];
static uint8_t uid[16] = {1};
/* What the chunk says of each. */
static const char *const stored[THREADS] = {"", "stored"};

static int describe(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	(void)context;
	*ret_site =
	    (struct hk_chunk_site){.id = id, .function = "read", .library = "/a", .domain = "io"};
	return 0;
}

static int name(void *context, uint64_t thread, char ret_name[HK_CHUNK_NAME_BYTES])
{
	(void)context;
	snprintf(ret_name, HK_CHUNK_NAME_BYTES, "%s", stored[thread - 1]);
	return *ret_name ? 0 : -1;
}

/* One call of each thread. */
static void write_chunk(void)
{
	const struct hk_chunk_options options = {.ticks_per_ns = 1.0,
						 .names = {.site = describe, .thread = name}};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	const void *bytes;
	size_t size;
	int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

	assert_true(writer && file >= 0);
	hk_chunk_writer_begin(writer, uid, 1);
	for (uint32_t i = 0; i < THREADS; i++) {
		const uint64_t words[] = {1000, 50 | (uint64_t)HK_CHUNK_KIND_CALL << 52};
		struct hk_chunk_position chain = {
		    .slot = i, .thread = i + 1, .tid = 100 + i, .position = 0};
		size_t consumed;
		assert_int_equal(hk_chunk_writer_add(writer, &chain, words, 2, &consumed), 0);
	}
	assert_int_equal(hk_chunk_writer_finish(writer, 0, &bytes, &size), 0);
	assert_int_equal(hk_chunk_file_append(file, hk_chunk_file_location(0), bytes, size), 0);
	hk_chunk_writer_free(writer);
	close(file);
}

static void test_threads_have_the_name_that_is_known_of_them(void **state)
{
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	Hk__Job message = HK__JOB__INIT;
	Hk__Process process = HK__PROCESS__INIT, *processes[] = {&process};
	Hk__Thread threads[THREADS] = {HK__THREAD__INIT, HK__THREAD__INIT};
	Hk__Thread *list[THREADS] = {&threads[0], &threads[1]};
	struct hk_job job = {.snapshot = &snapshot};
	char *text;
	size_t size;
	(void)state;

	write_chunk();
	for (uint32_t i = 0; i < THREADS; i++) {
		threads[i].uid = i + 1;
		threads[i].name = i == 0 ? "named-later" : "renamed";
	}
	process.uid = (ProtobufCBinaryData){sizeof(uid), uid};
	process.last_chunk = 1;
	process.threads = list;
	process.n_threads = THREADS;
	snapshot.job = &message;
	snapshot.processes = processes;
	snapshot.n_processes = 1;
	snprintf(job.directory, sizeof(job.directory), "%s", directory);
	FILE *output = open_memstream(&text, &size);
	assert_int_equal(hk_thread_table_write(&job, output, false), 0);
	fclose(output);
	assert_non_null(strstr(text, " 100  named-later "));
	assert_non_null(strstr(text, " 101  stored "));
	free(text);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/01000000000000000000000000000000.chunks", directory);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_threads_have_the_name_that_is_known_of_them),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
