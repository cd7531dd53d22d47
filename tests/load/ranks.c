/* ranks: writes the directory of a job that has ended, of many ranks and functions, without
 * records.
 *
 *   ranks DIRECTORY RANKS FUNCTIONS [hostile]
 *
 * DIRECTORY must be there and empty. Each rank calls each function 64 times and more from its
 * program, with latencies of an octave and a half, and allocates through 12 libraries on the heap
 * and by mmap. With `hostile` every name is one that must not reach a page, a terminal or a
 * spreadsheet as it is. For what shows reports. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/columns.h"
#include "wire/statistics.h"

#define START_NS UINT64_C(1700000000000000000)
#define WALL_NS UINT64_C(60000000000)
#define BUCKETS 48u
#define LIBRARIES 12u
#define PARTS 16u     /* of a memory series */
#define PART_BINS 16u /* bins of a part */
#define SHIFT 28u     /* a bin is 2^28 ns: 256 of them are longer than the job */
#define LEVEL_RECORD 5u

static const char *const hostile[] = {
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "quote\"s and 'apostrophes' and \\backslash",
    "line one\nline two\r\ttab",
    "\033]0;owned\007\033[31mred",
    "\xff\xfe invalid \xc3( \xed\xa0\x80",
    "turned \xe2\x80\xae dlrow",
    "=cmd|' /C calc'!A0",
    "<!--hk:script-->",
    "",
};
#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

struct rank {
	Hk__Process process;
	Hk__Anchor start, end;
	Hk__Coverage coverage;
	Hk__Site *sites, **site_list;
	Hk__Memory memory[2 * (LIBRARIES + 1)], *memory_list[2 * (LIBRARIES + 1)];
	Hk__MemorySeries series[2 * PARTS], *series_list[2 * PARTS];
	uint64_t bins[2 * PARTS][PART_BINS];
	struct hk_columns_builder cells;
};

static char text[4096][96]; /* borrowed until a rank is written: more than one has */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The one text of a number; the names of hostile jobs differ by it, too. */
static char *name_of(bool is_hostile, const char *form, unsigned number)
{
	static unsigned used;
	char *room = text[used++ % 4096];

	if (is_hostile) {
		snprintf(room, sizeof(text[0]), "%s%.0u", hostile[number % HOSTILE],
			 number / (unsigned)HOSTILE);
	} else {
		snprintf(room, sizeof(text[0]), form, number);
	}
	return room;
}

static void cells_fill(struct rank *rank, unsigned number, unsigned functions, bool is_hostile)
{
	static const char *const domains[] = {"mpi", "io", "blas", "memory", "cuda"};
	uint32_t bucket[BUCKETS];
	uint64_t count[BUCKETS];

	for (unsigned i = 0; i < functions; i++) {
		Hk__Site *site = &rank->sites[i];
		struct hk_columns_row row = {
		    .site = i, .min_ns = 1000, .bucket = bucket, .count = count};
		hk__site__init(site);
		site->id = i;
		site->function = name_of(is_hostile, "function_%u", i);
		site->library = name_of(is_hostile, "/opt/solver/lib/libpart%u.so", i % 20);
		site->domain = (char *)(uintptr_t)domains[i % 5];
		site->level = LEVEL_RECORD;
		rank->site_list[i] = site;
		for (unsigned k = 0; k < BUCKETS; k++) {
			bucket[k] = 32 * (6 + i % 12) + k;
			count[k] = 1 + (k * 7 + i * 13 + number * 3) % (k < 24 ? k + 1 : 49 - k);
			row.calls += count[k];
			row.total_ns += count[k] * 2000 * (1 + functions - i);
		}
		row.total_ns += row.total_ns * ((number * 37 + i * 11) % 16) / 32;
		row.self_ns = row.outermost_ns = row.total_ns;
		row.buckets = BUCKETS;
		row.max_ns = UINT64_C(2500) << (i % 12);
		if (hk_columns_add(&rank->cells, &row) < 0) {
			fail("cells");
		}
	}
}

static void memory_fill(struct rank *rank, unsigned number, bool is_hostile)
{
	static const char *const kinds[] = {"heap", "map"};

	for (unsigned i = 0; i < 2 * (LIBRARIES + 1); i++) {
		Hk__Memory *memory = &rank->memory[i];
		unsigned library = i % (LIBRARIES + 1);
		uint64_t bytes =
		    (UINT64_C(1) << 20) * (number % 32 + 4) * (i < LIBRARIES + 1 ? 1 : 3);
		hk__memory__init(memory);
		memory->device = -1;
		memory->kind = (char *)(uintptr_t)kinds[i / (LIBRARIES + 1)];
		memory->library = library == 0
				      ? (char *)(uintptr_t) "*"
				      : name_of(is_hostile, "/usr/lib/libholder%u.so", library);
		memory->allocs = 1000 + number;
		memory->frees = 900;
		memory->at_peak_bytes = library == 0 ? bytes * LIBRARIES : bytes;
		memory->peak_bytes = memory->peak_low = memory->peak_high = memory->at_peak_bytes;
		memory->live_bytes = memory->peak_bytes / 8;
		memory->peak_ticks = START_NS + WALL_NS / 2;
		rank->memory_list[i] = memory;
	}
}

static void series_fill(struct rank *rank)
{
	for (unsigned i = 0; i < 2 * PARTS; i++) {
		Hk__MemorySeries *series = &rank->series[i];
		const Hk__Memory *whole = &rank->memory[i / PARTS * (LIBRARIES + 1)];
		hk__memory_series__init(series);
		series->device = -1;
		series->kind = whole->kind;
		series->part = i % PARTS;
		series->start_ticks = START_NS;
		series->shift = SHIFT;
		for (unsigned k = 0; k < PART_BINS; k++) {
			unsigned bin = i % PARTS * PART_BINS + k;
			rank->bins[i][k] = whole->peak_bytes *
					   (bin < 112 ? bin : 224 - (bin > 224 ? 224 : bin)) / 112;
		}
		series->n_max_bytes = series->n_last_bytes = PART_BINS;
		series->max_bytes = series->last_bytes = rank->bins[i];
		rank->series_list[i] = series;
	}
}

static void process_fill(struct rank *rank, unsigned number, unsigned ranks, bool is_hostile)
{
	Hk__Process *process = &rank->process;
	static uint8_t uid[16];

	hk__process__init(process);
	hk__anchor__init(&rank->start);
	hk__anchor__init(&rank->end);
	hk__coverage__init(&rank->coverage);
	memcpy(uid, &number, sizeof(number));
	uid[15] = 1;
	process->uid = (ProtobufCBinaryData){.len = sizeof(uid), .data = uid};
	rank->start.ticks = rank->start.monotonic_ns = rank->start.realtime_ns = START_NS;
	rank->end.ticks = rank->end.monotonic_ns = rank->end.realtime_ns = START_NS + WALL_NS;
	process->start = &rank->start;
	process->end = process->seen = &rank->end;
	process->tick_ns_q32 = UINT64_C(1) << 32;
	process->pid = 1000 + number;
	process->rank = (int32_t)number;
	process->rank_known = true;
	process->world_size = (int32_t)ranks;
	process->role = HK__ROLE__ROLE_MAIN;
	process->host = name_of(is_hostile, "node%03u", number / 8);
	process->command = process->program = name_of(is_hostile, "/opt/solver/bin/solver", number);
	process->note = is_hostile ? name_of(true, "", number) : NULL;
	process->exit_kind = HK__EXIT_KIND__EXIT_EXITED;
	process->records = process->records_stored = 0;
	process->rss_peak_bytes = (UINT64_C(300) << 20) + number;
	process->cpu_ns = WALL_NS - WALL_NS / 8;
	process->tracing_cost_ns = WALL_NS / 5000;
	rank->coverage.objects = 60;
	rank->coverage.slots_found = rank->coverage.slots_patched = 900;
	process->coverage = &rank->coverage;
}

static void rank_put(struct hk_statistics *statistics, unsigned number, unsigned ranks,
		     unsigned functions, bool is_hostile)
{
	struct rank *rank = calloc(1, sizeof(*rank));

	if (!rank || !(rank->sites = calloc(functions, sizeof(*rank->sites))) ||
	    !(rank->site_list = calloc(functions, sizeof(Hk__Site *)))) {
		fail("memory");
	}
	process_fill(rank, number, ranks, is_hostile);
	cells_fill(rank, number, functions, is_hostile);
	memory_fill(rank, number, is_hostile);
	series_fill(rank);
	rank->process.n_sites = functions;
	rank->process.sites = rank->site_list;
	rank->process.n_memory = 2 * (LIBRARIES + 1);
	rank->process.memory = rank->memory_list;
	rank->process.n_memory_series = 2 * PARTS;
	rank->process.memory_series = rank->series_list;
	rank->process.cells = hk_columns_take(&rank->cells);
	if (hk_statistics_put_process(statistics, &rank->process) < 0) {
		fail("statistics");
	}
	hk__cells__free_unpacked(rank->process.cells, NULL);
	free(rank->sites);
	free(rank->site_list);
	free(rank);
}

int main(int argc, char **argv)
{
	struct hk_statistics *statistics;
	Hk__Job job = HK__JOB__INIT;

	if (argc < 4) {
		fprintf(stderr, "usage: ranks DIRECTORY RANKS FUNCTIONS [hostile]\n");
		return 2;
	}
	unsigned ranks = (unsigned)strtoul(argv[2], NULL, 10);
	unsigned functions = (unsigned)strtoul(argv[3], NULL, 10);
	bool is_hostile = argc > 4 && strcmp(argv[4], "hostile") == 0;
	if (chdir(argv[1]) < 0 || hk_statistics_open(".", &statistics) < 0) {
		fail(argv[1]);
	}
	for (unsigned i = 0; i < ranks; i++) {
		rank_put(statistics, i, ranks, functions, is_hostile);
	}
	job.id = job.key = job.name = (char *)(uintptr_t) "ranks";
	job.command = name_of(is_hostile, "solver --ranks many", 0);
	job.exit = (char *)(uintptr_t) "exit 0";
	job.start_unix_ns = START_NS;
	job.duration_ns = WALL_NS;
	job.world_size = (int32_t)ranks;
	job.closed = true;
	if (hk_statistics_put_job(statistics, &job) < 0) {
		fail("statistics");
	}
	hk_statistics_free(statistics);
	return 0;
}
