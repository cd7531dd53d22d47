/* bench_chunk: how fast records become chunks, copied out page by page as a collector does, how
 * small they get, and how fast many processes merge, each beside memcpy of the same bytes in the
 * same run and in clocks of this processor. Prints medians of ROUNDS repeats, interleaved. Exits
 * with 1 if a limit is missed both as a rate and as a multiple of memcpy. Usage: bench_chunk */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chunk/codec/writer.h"
#include "chunk/merge/merge.h"
#include "chunk/read/reader.h"

#define ROUNDS 9
#define CHUNKS 24
#define RECORDS (CHUNKS * HK_CHUNK_RECORDS_MAX)
#define WORDS_PER_RECORD 3 /* header and one payload word: 24 bytes */
#define TICKS_PER_NS 2.3
#define STREAMS 64
#define STREAM_RECORDS 40000
#define PATTERN 40
#define PAGE_WORDS 2031u /* of records, in a page of the ring */
#define CLOCKS 20000000

/* A rate in M records/s, and the multiple of memcpy's time that it was on the machine whose figure
 * it is: a slower one is measured by its own memcpy. */
struct limit {
	double rate, memcpys;
};
static const struct limit encode_limit = {60, 7.1}, zstd_limit = {20, 21}, merge_limit = {70, 4.3};

static uint64_t state = 88172645463325252ull;

static uint64_t random_word(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double uniform(void)
{
	return ((double)(random_word() >> 11) + 0.5) / 9007199254740992.0;
}

/* Log-normal with the given median. */
static double log_normal(double median, double sigma)
{
	return median *
	       exp(sigma * sqrt(-2.0 * log(uniform())) * cos(6.283185307179586 * uniform()));
}

/* Makes the compiler believe that somebody reads what was written there. */
static void keep(const void *bytes)
{
	__asm__ volatile("" ::"r"(bytes) : "memory");
}

static double now_s(void)
{
	struct timespec time;

	/* Of this thread: on a busy machine others have their share of the wall clock. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Clocks per second: of additions that wait for each other each takes one. */
static double clock_rate(void)
{
	double start = now_s();
	uint64_t sum = 0;

	for (int i = 0; i < CLOCKS; i++) {
		sum++;
		__asm__ volatile("" : "+r"(sum));
	}
	return CLOCKS / (now_s() - start);
}

/* Prints a line; whether the limit is met. */
static bool show(const char *what, size_t records, double seconds, double copied,
		 const struct limit *limit)
{
	double rate = (double)records / seconds / 1e6, memcpys = seconds / copied;
	bool met = !limit || rate >= limit->rate || memcpys <= limit->memcpys;

	printf("%-28s %8.1f %9.2f %8.1f", what, rate, memcpys,
	       seconds * clock_rate() / (double)records);
	if (limit) {
		printf("   limit %.0f or %.1f x: %s", limit->rate, limit->memcpys,
		       met ? "met" : "MISSED");
	}
	printf("\n");
	return met;
}

static void show_head(const char *what)
{
	printf("\n%-28s %8s %9s %8s\n", what, "M/s", "x memcpy", "clocks");
}

/* A loop of PATTERN calls that repeats but for 3 % strays; times are log-normal around each call's
 * own median. */
static void make_records(uint64_t *words)
{
	struct {
		uint32_t site;
		double median_ns;
		uint64_t word;
	} calls[PATTERN];
	double ticks = 1e12;

	for (int i = 0; i < PATTERN; i++) {
		calls[i].site = (uint32_t)(random_word() % 20);
		calls[i].median_ns = log_normal(800, 1.5);
		calls[i].word = 8ull << random_word() % 14;
	}
	for (size_t i = 0; i < RECORDS; i++) {
		size_t k = uniform() < 0.03 ? random_word() % PATTERN : i % PATTERN;
		double duration_ns = log_normal(calls[k].median_ns, 0.8);
		ticks += log_normal(300, 1.0) * TICKS_PER_NS;
		words[0] = (uint64_t)ticks;
		words[1] =
		    (uint32_t)duration_ns | (uint64_t)calls[k].site << 32 | 1ull << 52 | 1ull << 56;
		words[2] = calls[k].word;
		ticks += duration_ns * TICKS_PER_NS;
		words += WORDS_PER_RECORD;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

/* Copies out and encodes everything; returns seconds and the bytes made. */
static double encode(struct hk_chunk_writer *writer, const uint64_t *words, uint64_t *ret_bytes)
{
	const uint8_t process[16] = {1};
	struct hk_chunk_position chain = {.thread = 1, .tid = 1};
	const size_t chunk_words = (size_t)HK_CHUNK_RECORDS_MAX * WORDS_PER_RECORD;
	uint64_t page[PAGE_WORDS];
	double start = now_s();

	*ret_bytes = 0;
	for (uint64_t i = 0; i < CHUNKS; i++) {
		const void *bytes;
		size_t size;
		hk_chunk_writer_begin(writer, process, i + 1);
		for (size_t at = 0; at < chunk_words;) {
			size_t piece = chunk_words - at, consumed;
			piece = piece < PAGE_WORDS ? piece : PAGE_WORDS;
			memcpy(page, words + i * chunk_words + at, piece * sizeof(*page));
			if (hk_chunk_writer_add(writer, &chain, page, piece, &consumed) < 0) {
				fprintf(stderr, "bench_chunk: record refused\n");
				exit(1);
			}
			at += consumed;
		}
		if (hk_chunk_writer_finish(writer, 0, &bytes, &size) < 0) {
			exit(1);
		}
		*ret_bytes += size;
	}
	return now_s() - start;
}

static bool bench_encode(void)
{
	size_t bytes = (size_t)RECORDS * WORDS_PER_RECORD * 8;
	uint64_t *words = malloc(bytes), *copy = malloc(bytes);
	struct hk_chunk_options options = {.ticks_per_ns = TICKS_PER_NS};
	struct hk_chunk_writer *packed = hk_chunk_writer_new(&options);
	options.uncompressed = true;
	struct hk_chunk_writer *plain = hk_chunk_writer_new(&options);
	double copies[ROUNDS], plains[ROUNDS], packs[ROUNDS];
	uint64_t plain_bytes = 0, packed_bytes = 0;

	if (!words || !copy || !packed || !plain) {
		exit(1);
	}
	make_records(words);
	memset(copy, 1, bytes);
	for (int i = 0; i < ROUNDS; i++) {
		double start = now_s();
		memcpy(copy, words, bytes);
		keep(copy);
		copies[i] = now_s() - start;
		plains[i] = encode(plain, words, &plain_bytes);
		packs[i] = encode(packed, words, &packed_bytes);
	}
	double copied = median(copies);
	show_head("24-byte records");
	show("memcpy", RECORDS, copied, copied, NULL);
	bool met = show("copy out, columns", RECORDS, median(plains), copied, &encode_limit);
	met &= show("copy out, columns, zstd", RECORDS, median(packs), copied, &zstd_limit);
	printf("bytes a record: %.2f, with zstd %.2f\n", (double)plain_bytes / RECORDS,
	       (double)packed_bytes / RECORDS);
	hk_chunk_writer_free(packed);
	hk_chunk_writer_free(plain);
	free(words);
	free(copy);
	return met;
}

struct source {
	const struct hk_record *records;
	size_t count;
};

static int whole_batch(void *context, const struct hk_record **ret_records, size_t *ret_count)
{
	struct source *source = context;

	*ret_records = source->records;
	*ret_count = source->count;
	source->count = 0;
	return *ret_count > 0;
}

static double merge_all(const struct hk_record *records, uint64_t *ret_sum)
{
	struct source sources[STREAMS];
	struct hk_merge_input inputs[STREAMS];
	struct hk_merge *merge;
	struct hk_merged merged;
	uint64_t sum = 0;
	double start = now_s();

	for (size_t i = 0; i < STREAMS; i++) {
		sources[i] = (struct source){records + i * STREAM_RECORDS, STREAM_RECORDS};
		inputs[i] = (struct hk_merge_input){.batch = whole_batch, .context = &sources[i]};
		inputs[i].clock.ns_per_tick_q32 = (uint64_t)(4294967296.0 / TICKS_PER_NS);
	}
	if (hk_merge_new(inputs, STREAMS, &merge) < 0) {
		exit(1);
	}
	while (hk_merge_next(merge, &merged) > 0) {
		sum += (uint64_t)merged.start_ns + merged.record->site;
	}
	hk_merge_free(merge);
	*ret_sum = sum;
	return now_s() - start;
}

static bool bench_merge(void)
{
	size_t count = (size_t)STREAMS * STREAM_RECORDS;
	struct hk_record *records = calloc(count, sizeof(*records));
	struct hk_record *copy = malloc(count * sizeof(*copy));
	double copies[ROUNDS], merges[ROUNDS];
	uint64_t sum = 0;

	if (!records || !copy) {
		exit(1);
	}
	for (size_t i = 0; i < STREAMS; i++) {
		double ticks = 1e12;
		for (size_t k = 0; k < STREAM_RECORDS; k++) {
			ticks += log_normal(2000, 1.0);
			records[i * STREAM_RECORDS + k].start_ticks = (uint64_t)ticks;
		}
	}
	memset(copy, 1, count * sizeof(*copy));
	for (int i = 0; i < ROUNDS; i++) {
		double start = now_s();
		memcpy(copy, records, count * sizeof(*copy));
		keep(copy);
		copies[i] = now_s() - start;
		merges[i] = merge_all(records, &sum);
	}
	double copied = median(copies);
	show_head("decoded records, 64 streams");
	show("memcpy", count, copied, copied, NULL);
	bool met = show("merge", count, median(merges), copied, &merge_limit);
	printf("sum %llu\n", (unsigned long long)sum);
	free(records);
	free(copy);
	return met;
}

int main(void)
{
	bool met = bench_encode();

	met &= bench_merge();
	return met ? 0 : 1;
}
