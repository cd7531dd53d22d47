/* records: writes the directory of a job that has ended, of as many records as wanted.
 *
 *   records DIRECTORY PROCESSES RECORDS
 *
 * DIRECTORY must be there and empty. Each process has RECORDS calls of 16 functions, the processes'
 * times interleaved. For what reads records: the sums are PROCESSES * RECORDS. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/writer.h"
#include "chunk/read/file.h"
#include "wire/statistics.h"

#define SITES 16u
#define WORDS 2u /* of a record: start; duration, site and kind */
#define BATCH 1024u
#define CALL_NS 400u
#define EVERY_NS 1000u
#define START_NS UINT64_C(1700000000000000000)

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int site_of(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static const char *const names[SITES] = {
	    "read",   "write",	  "send",   "recv",   "open", "close", "poll", "lock",
	    "unlock", "wait_all", "reduce", "gather", "scan", "bcast", "put",  "get"};
	(void)context;
	ret_site->function = names[id % SITES];
	ret_site->library = "/opt/solver/bin/solver";
	ret_site->domain = "user";
	return 0;
}

static int thread_of(void *context, uint64_t uid, char ret_name[HK_CHUNK_NAME_BYTES])
{
	(void)context;
	snprintf(ret_name, HK_CHUNK_NAME_BYTES, "worker%u", (unsigned)uid);
	return 0;
}

static void finish(struct hk_chunk_writer *writer, int fd, uint64_t *end)
{
	const void *bytes;
	size_t size;
	if (hk_chunk_writer_finish(writer, 0, &bytes, &size) < 0 ||
	    hk_chunk_file_append(fd, *end, bytes, size) < 0) {
		fail("chunk");
	}
	*end += size;
}

static void write_chunks(int fd, const uint8_t uid[16], unsigned process, uint64_t records)
{
	const struct hk_chunk_options options = {.ticks_per_ns = 1,
						 .names = {.site = site_of, .thread = thread_of}};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	struct hk_chunk_position chain = {.thread = 1, .tid = 1000 + process};
	uint64_t words[BATCH * WORDS], end = 0, number = 1;
	if (!writer) {
		fail("writer");
	}
	hk_chunk_writer_begin(writer, uid, number);
	for (uint64_t done = 0; done < records;) {
		uint64_t count = records - done < BATCH ? records - done : BATCH;
		for (uint64_t i = 0; i < count; i++) {
			uint64_t k = done + i;
			words[i * WORDS] = START_NS + k * EVERY_NS + process;
			words[i * WORDS + 1] =
			    (CALL_NS + k * 7 % 97) | (k * k % SITES) << 32 | UINT64_C(1) << 52;
		}
		for (size_t at = 0, consumed; at < count * WORDS; at += consumed) {
			int r = hk_chunk_writer_add(writer, &chain, words + at, count * WORDS - at,
						    &consumed);
			if (r < 0 && hk_chunk_writer_records(writer) == 0) {
				fail("record");
			}
			if (r < 0) {
				finish(writer, fd, &end);
				hk_chunk_writer_begin(writer, uid, ++number);
			}
		}
		done += count;
	}
	finish(writer, fd, &end);
	hk_chunk_writer_free(writer);
}

static void put_process(struct hk_statistics *statistics, uint8_t uid[16], unsigned number,
			unsigned processes, uint64_t records)
{
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Anchor start = HK__ANCHOR__INIT, end = HK__ANCHOR__INIT;
	start.ticks = start.monotonic_ns = start.realtime_ns = START_NS;
	end.ticks = end.monotonic_ns = end.realtime_ns = START_NS + records * EVERY_NS;
	process.uid = (ProtobufCBinaryData){.len = 16, .data = uid};
	process.pid = 1000 + number;
	process.rank = (int32_t)number;
	process.rank_known = true;
	process.world_size = (int32_t)processes;
	process.role = HK__ROLE__ROLE_MAIN;
	process.host = (char *)(uintptr_t) "node";
	process.program = process.command = (char *)(uintptr_t) "/opt/solver/bin/solver";
	process.tick_ns_q32 = UINT64_C(1) << 32;
	process.start = &start;
	process.end = process.seen = &end;
	process.exit_kind = HK__EXIT_KIND__EXIT_EXITED;
	process.records = process.records_stored = records;
	if (hk_statistics_put_process(statistics, &process) < 0) {
		fail("statistics");
	}
}

int main(int argc, char **argv)
{
	struct hk_statistics *statistics;
	Hk__Job job = HK__JOB__INIT;
	if (argc != 4) {
		fprintf(stderr, "usage: records DIRECTORY PROCESSES RECORDS\n");
		return 2;
	}
	unsigned processes = (unsigned)strtoul(argv[2], NULL, 10);
	uint64_t records = strtoull(argv[3], NULL, 10);
	if (chdir(argv[1]) < 0 || hk_statistics_open(".", &statistics) < 0) {
		fail(argv[1]);
	}
	for (unsigned i = 0; i < processes; i++) {
		uint8_t uid[16] = {(uint8_t)i, (uint8_t)(i >> 8), 1};
		char name[48];
		int length = 0;
		for (unsigned k = 0; k < 16; k++) {
			length += snprintf(name + length, 3, "%02x", uid[k]);
		}
		snprintf(name + length, sizeof(name) - (size_t)length, ".chunks");
		int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0) {
			fail(name);
		}
		write_chunks(fd, uid, i, records);
		close(fd);
		put_process(statistics, uid, i, processes, records);
	}
	job.id = job.key = job.name = (char *)(uintptr_t) "records";
	job.start_unix_ns = START_NS;
	job.duration_ns = records * EVERY_NS;
	job.world_size = (int32_t)processes;
	job.closed = true;
	if (hk_statistics_put_job(statistics, &job) < 0) {
		fail("statistics");
	}
	hk_statistics_free(statistics);
	return 0;
}
