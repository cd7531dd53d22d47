/* still: writes the directory of a job that has ended, always the same: for pictures that are
 * compared to the letter.
 *
 *   still DIRECTORY RANKS [plain|hostile]
 *
 * DIRECTORY must be there and empty. Up to 32 ranks are on a node. The last rank waits less than
 * the others in MPI_Wait, has twice the memory, and was killed inside of a call. HOSTILE: the names
 * do what they can to a terminal. No rank has records. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hooks/hook.h"
#include "wire/columns.h"
#include "wire/statistics.h"

#define START_NS UINT64_C(1700000000000000000)
#define LASTS_NS UINT64_C(60000000000)
#define SITES 6u
#define RANKS_OF_NODE 32u
#define TEXT(text) ((char *)(uintptr_t)(text))

struct site {
	const char *function, *library, *domain;
	uint64_t calls, mean_ns, errors;
	uint32_t bucket; /* of the mean */
};

static const struct site plain[SITES] = {
    {"MPI_Wait", "/opt/solver/lib/libmesh.so.2", "mpi", 98400, 51000, 0, 361},
    {"MPI_Allreduce", "/opt/solver/lib/libmesh.so.2", "mpi", 1204, 2670000, 0, 544},
    {"MPI_Send", "/opt/solver/bin/solver", "mpi", 98400, 11400, 0, 297},
    {"read", "/opt/solver/bin/solver", "libc", 3600, 21000, 7, 326},
    {"write", "/opt/solver/lib/libio.so", "libc", 120, 400000, 0, 456},
    {"malloc", "/opt/solver/lib/libmesh.so.2", "libc", 250000, 90, 0, 77},
};

static const struct site hostile[SITES] = {
    {"\033[2Jclear\033]0;title\007", "/lib/\033c.so", "mpi", 98400, 51000, 0, 361},
    {"two\nlines\ttab\rreturn", "/lib/new\nline.so", "m\npi", 1204, 2670000, 0, 544},
    {"wide \346\274\242\345\255\227 name", "/lib/\346\274\242.so", "mpi", 98400, 11400, 0, 297},
    {"broken \377\376 bytes \303", "/lib/\200.so", "libc", 3600, 21000, 7, 326},
    {"right \342\200\256 to left", "/lib/e\314\201.so", "libc", 120, 400000, 0, 456},
    {"a name that is much longer than any column of any screen that anybody has, and goes on and "
     "on and on, as names of templates do",
     "/lib/</script>\"'.so", "libc", 250000, 90, 0, 77},
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void set_site(Hk__Site *site, uint32_t id, const struct site *from)
{
	hk__site__init(site);
	site->id = id;
	site->function = TEXT(from->function);
	site->library = TEXT(from->library);
	site->domain = TEXT(from->domain);
	site->provider = TEXT("/usr/lib/libprovider.so");
	site->level = HK_LEVEL_TIME;
}

static Hk__Cells *cells_new(const struct site *sites, unsigned rank, unsigned ranks)
{
	struct hk_columns_builder builder = {0};

	for (uint32_t i = 0; i < SITES; i++) {
		/* Ranks differ by up to a tenth, the last one waits a third as long. */
		uint64_t ns = sites[i].calls * sites[i].mean_ns * (100 + rank * 7 % 11) / 100;
		ns = i == 0 && rank + 1 == ranks ? ns / 3 : ns;
		const uint32_t bucket[] = {sites[i].bucket, sites[i].bucket + 60};
		const uint64_t count[] = {sites[i].calls - sites[i].calls / 50,
					  sites[i].calls / 50};
		const struct hk_columns_row row = {.site = i,
						   .calls = sites[i].calls,
						   .errors = sites[i].errors,
						   .total_ns = ns,
						   .self_ns = ns,
						   .outermost_ns = ns,
						   .min_ns = sites[i].mean_ns / 2,
						   .max_ns = sites[i].mean_ns * 4,
						   .bucket = bucket,
						   .count = count,
						   .buckets = 2};
		if (hk_columns_add(&builder, &row) < 0) {
			fail("cells");
		}
	}
	return hk_columns_take(&builder);
}

static void set_memory(Hk__Memory *memory, const char *library, uint64_t bytes)
{
	hk__memory__init(memory);
	memory->device = -1;
	memory->kind = TEXT("heap");
	memory->library = TEXT(library);
	memory->allocs = 250000;
	memory->frees = 249000;
	memory->live_bytes = bytes;
	memory->peak_bytes = memory->peak_low = memory->peak_high = 2 * bytes;
}

static void set_open(Hk__OpenCall *open, uint32_t tid)
{
	open->thread = 1;
	open->tid = tid;
	open->depth = 1;
	open->site = 1;
	open->start_ticks = START_NS + LASTS_NS - UINT64_C(14000000000);
}

static void put_process(struct hk_statistics *statistics, const struct site *sites, unsigned rank,
			unsigned ranks)
{
	Hk__Process process = HK__PROCESS__INIT;
	Hk__Anchor start = HK__ANCHOR__INIT, end = HK__ANCHOR__INIT;
	Hk__Coverage coverage = HK__COVERAGE__INIT;
	Hk__Site site[SITES], *site_list[SITES];
	Hk__Memory memory[2], *memory_list[] = {&memory[0], &memory[1]};
	Hk__OpenCall open = HK__OPEN_CALL__INIT, *open_list[] = {&open};
	Hk__Thread thread = HK__THREAD__INIT, *thread_list[] = {&thread};
	uint8_t uid[16] = {(uint8_t)rank, (uint8_t)(rank >> 8), 1};
	char host[32];
	bool last = rank + 1 == ranks;

	snprintf(host, sizeof(host), sites == hostile ? "n\033[31m%02u" : "node%02u",
		 rank / RANKS_OF_NODE);
	for (uint32_t i = 0; i < SITES; i++) {
		set_site(&site[i], i, &sites[i]);
		site_list[i] = &site[i];
	}
	set_memory(&memory[0], "*", (uint64_t)(last ? 440 : 212) << 20);
	set_memory(&memory[1], sites[0].library, (uint64_t)(last ? 400 : 180) << 20);
	start.ticks = start.monotonic_ns = start.realtime_ns = START_NS + rank * 1000;
	end.ticks = end.monotonic_ns = end.realtime_ns = START_NS + LASTS_NS;
	thread.uid = 1;
	thread.tid = 1000 + rank;
	thread.name = TEXT(sites == hostile ? "\033[7mmain" : "main");
	set_open(&open, thread.tid);
	coverage.objects = 40;
	coverage.hooks = coverage.slots_found = coverage.slots_patched = SITES;
	process = (Hk__Process){
	    .base = process.base,
	    .uid = {.len = 16, .data = uid},
	    .pid = 1000 + rank,
	    .rank = (int32_t)rank,
	    .rank_known = true,
	    .world_size = (int32_t)ranks,
	    .role = HK__ROLE__ROLE_MAIN,
	    .host = host,
	    .program = TEXT("/opt/solver/bin/solver"),
	    .command = TEXT(sites == hostile ? "./\033[5msolver\033[0m" : "./solver -in mesh.inp"),
	    .job = TEXT(""),
	    .job_source = TEXT(""),
	    .note = TEXT(""),
	    .hooks = TEXT("auto"),
	    .tick_ns_q32 = UINT64_C(1) << 32,
	    .start = &start,
	    .end = &end,
	    .seen = &end,
	    .exit_kind = last ? HK__EXIT_KIND__EXIT_SIGNAL : HK__EXIT_KIND__EXIT_EXITED,
	    .exit_code = last ? 9 : 0,
	    .rss_peak_bytes = UINT64_C(298) << 20,
	    .tracing_cost_ns = LASTS_NS / 500,
	    .coverage = &coverage,
	    .sites = site_list,
	    .n_sites = SITES,
	    .threads = thread_list,
	    .n_threads = 1,
	    .memory = memory_list,
	    .n_memory = 2,
	    .open_calls = open_list,
	    .n_open_calls = last,
	    .cells = cells_new(sites, rank, ranks),
	};
	if (hk_statistics_put_process(statistics, &process) < 0) {
		fail("statistics");
	}
	hk__cells__free_unpacked(process.cells, NULL);
}

int main(int argc, char **argv)
{
	struct hk_statistics *statistics;
	Hk__Job job = HK__JOB__INIT;

	if (argc < 3) {
		fprintf(stderr, "usage: still DIRECTORY RANKS [plain|hostile]\n");
		return 2;
	}
	unsigned ranks = (unsigned)strtoul(argv[2], NULL, 10);
	bool is_hostile = argc > 3 && strcmp(argv[3], "hostile") == 0;
	if (chdir(argv[1]) < 0 || hk_statistics_open(".", &statistics) < 0) {
		fail(argv[1]);
	}
	for (unsigned rank = 0; rank < ranks; rank++) {
		put_process(statistics, is_hostile ? hostile : plain, rank, ranks);
	}
	job.id = job.key = job.name = TEXT(is_hostile ? "j\033[2Job" : "still");
	job.command = TEXT("./solver");
	job.start_unix_ns = START_NS;
	job.duration_ns = LASTS_NS;
	job.world_size = (int32_t)ranks;
	job.closed = true;
	if (hk_statistics_put_job(statistics, &job) < 0) {
		fail("statistics");
	}
	hk_statistics_free(statistics);
	return 0;
}
