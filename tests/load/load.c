/* load: plays the leaves of a large job to a root, or to a stream engine (URL "nats://..."),
 * through the real messages.
 *
 *   load URL [--ranks N] [--leaves N] [--sites N] [--ticks N] [--period MS] [--calls N] [--times N]
 *            [--job KEY] [--collectives N] [--silent N]
 *
 * Every period each rank has made --calls calls at each of its call sites, --times times each; its
 * leaf reports what has changed, in reports of about a MiB as a leaf's are, one after the other.
 * The first period's reports are about whole processes, the last one's end them and complete the
 * job. Prints one line of JSON: what the root must have (`calls`, `total_ns`, of all sites and
 * ranks together), the bytes sent, how many periods were missed, and the milliseconds that one
 * round of reports took. With --collectives, every rank enters so many of MPI_Allreduce in a
 * period; the last rank is 1 ms late in each, and the others spread over 100 us. The first --silent
 * ranks never enter. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carrier.h"
#include "hooks/hook.h"
#include "wire/change.h"
#include "wire/columns.h"
#include "wire/message.h"

#define REPORT_BYTES (1u << 20)
#define SPREAD 48u /* buckets that a site's calls fall into */
#define CALLS_MAX 64u
#define CORNERS 32u /* of a node's clock map */
#define LATE_NS 1000000u
#define SPREAD_NS 100000u
#define BOUND_NS 20000u

struct options {
	const char *url, *job;
	unsigned ranks, leaves, sites, ticks, period_ms, calls, times, collectives, silent;
};

struct rank {
	Hk__Process *told; /* all that has been told of it, without its cells */
	uint32_t *count;   /* of each site, of each of its buckets */
	uint64_t *total_ns;
	uint64_t calls; /* at each site */
};

struct leaf {
	unsigned place; /* from 0 */
	uint8_t id[16];
	char host[16];
	unsigned first, end; /* ranks */
	uint64_t number;
};

struct load {
	struct options options;
	struct carrier *carrier;
	struct rank *ranks;
	struct leaf *leaves;
	uint32_t seed;
	uint64_t start_ns, epoch_ns, opened_unix_ns;
	uint64_t bytes, reports, missed;
	double *round_ms;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(1);
}

static void *need(void *memory)
{
	if (!memory) {
		fail("memory", strerror(ENOMEM));
	}
	return memory;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint32_t draw(struct load *load, uint32_t below)
{
	load->seed = load->seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(load->seed >> 8) * below) >> 24);
}

/* ---- what a rank says ---- */

/* First bucket of SITE, and what a call in bucket K of it is taken to last: a value of the bucket.
 */
static uint32_t first_bucket(uint32_t site)
{
	return 200 + site * 7 % 400;
}

static uint64_t bucket_ns(uint32_t bucket)
{
	return bucket < 64 ? bucket : (32u + bucket % 32u) * (UINT64_C(1) << (bucket / 32u - 1));
}

/* Makes the calls of one period at SITE and gives the row of what has changed. BUCKET, COUNT: room
 * for SPREAD values. */
static struct hk_columns_row make_calls(struct load *load, struct rank *rank, uint32_t site,
					uint32_t *bucket, uint64_t *count)
{
	uint32_t *counts = rank->count + (size_t)site * SPREAD;
	uint64_t touched = 0;
	struct hk_columns_row row = {.site = site, .bucket = bucket, .count = count};
	for (unsigned i = 0; i < load->options.calls; i++) {
		/* The sum of two draws: most calls are in the middle. */
		uint32_t k = draw(load, SPREAD / 2) + draw(load, SPREAD / 2);
		counts[k] += load->options.times;
		touched |= UINT64_C(1) << k;
		rank->total_ns[site] += load->options.times * bucket_ns(first_bucket(site) + k);
	}
	for (uint32_t k = 0; k < SPREAD; k++) {
		if (touched >> k & 1) {
			bucket[row.buckets] = first_bucket(site) + k;
			count[row.buckets++] = counts[k];
		}
	}
	row.calls = rank->calls;
	row.total_ns = row.self_ns = row.outermost_ns = rank->total_ns[site];
	row.min_ns = bucket_ns(first_bucket(site));
	row.max_ns = bucket_ns(first_bucket(site) + SPREAD);
	return row;
}

static Hk__Cells *make_cells(struct load *load, struct rank *rank)
{
	struct hk_columns_builder builder = {0};
	uint32_t bucket[SPREAD];
	uint64_t count[SPREAD];
	rank->calls += (uint64_t)load->options.calls * load->options.times;
	for (uint32_t site = 0; site < load->options.sites; site++) {
		struct hk_columns_row row = make_calls(load, rank, site, bucket, count);
		if (hk_columns_add(&builder, &row) < 0) {
			fail("memory", strerror(ENOMEM));
		}
	}
	return hk_columns_take(&builder);
}

static char *text(const char *format, unsigned number)
{
	char *string;
	return asprintf(&string, format, number) < 0 ? need(NULL) : string;
}

static Hk__Anchor *anchor(void)
{
	Hk__Anchor *now = need(malloc(sizeof(*now)));
	hk__anchor__init(now);
	now->monotonic_ns = now->ticks = clock_ns(CLOCK_MONOTONIC);
	now->realtime_ns = clock_ns(CLOCK_REALTIME);
	return now;
}

static Hk__Site *make_site(uint32_t id)
{
	static const char *const domains[] = {"mpi", "io", "sync", "user"};
	Hk__Site *site = need(malloc(sizeof(*site)));
	hk__site__init(site);
	site->id = id;
	site->function = text("function_%u", id);
	site->library = text("/opt/solver/lib/libpart%u.so", id % 10);
	site->domain = need(strdup(domains[id % 4]));
	site->provider = text("/usr/lib/x86_64-linux-gnu/libprovider%u.so.1", id % 7);
	site->level = 4; /* time */
	return site;
}

/* The facts of rank NUMBER; cells are not among them. */
static Hk__Process *make_process(const struct load *load, const struct leaf *leaf, unsigned number)
{
	Hk__Process *process = need(malloc(sizeof(*process)));
	hk__process__init(process);
	process->uid = (ProtobufCBinaryData){16, need(calloc(1, 16))};
	/* Spread as random ones are. */
	memcpy(process->uid.data, &(uint32_t){number * 2654435761u}, 4);
	memcpy(process->uid.data + 8, &load->epoch_ns, 8);
	process->pid = 1000 + number;
	process->rank = (int32_t)number;
	process->rank_known = true;
	process->world_size = (int32_t)load->options.ranks;
	process->role = HK__ROLE__ROLE_MAIN;
	process->host = need(strdup(leaf->host));
	process->program = need(strdup("/opt/solver/bin/solver"));
	process->command = need(strdup("/opt/solver/bin/solver --input /data/case/large.inp"));
	process->hooks = need(strdup("auto"));
	process->tick_ns_q32 = UINT64_C(1) << 32;
	process->start = anchor();
	process->coverage = need(malloc(sizeof(*process->coverage)));
	hk__coverage__init(process->coverage);
	process->coverage->objects = 40;
	process->coverage->slots_found = process->coverage->slots_patched = load->options.sites;
	process->coverage->hooks = load->options.sites;
	process->sites = need(calloc(load->options.sites, sizeof(Hk__Site *)));
	for (uint32_t site = 0; site < load->options.sites; site++) {
		process->sites[process->n_sites++] = make_site(site);
	}
	return process;
}

/* What has changed of rank NUMBER this period. */
static Hk__Process *make_change(struct load *load, const struct leaf *leaf, unsigned number,
				bool last)
{
	struct rank *rank = &load->ranks[number];
	Hk__Process *change, *now = rank->told;
	if (!now) {
		now = rank->told = make_process(load, leaf, number);
		if (hk_change_make(now, NULL, &change) < 0) {
			fail("change", strerror(ENOMEM));
		}
	} else if (hk_change_begin(now, &change) < 0) {
		fail("change", strerror(ENOMEM));
	} else {
		change->rank = now->rank;
		change->rank_known = true;
		change->world_size = now->world_size;
		change->pid = now->pid;
		change->role = now->role;
		change->tick_ns_q32 = now->tick_ns_q32;
	}
	change->cells = make_cells(load, rank);
	change->seen = anchor();
	change->cpu_ns = change->seen->monotonic_ns - now->start->monotonic_ns;
	if (last) {
		change->end = anchor();
		change->exit_kind = HK__EXIT_KIND__EXIT_EXITED;
	}
	return change;
}

/* The collectives of rank NUMBER in period TICK, which ends at END_NS. */
static Hk__Arrivals *make_arrivals(struct load *load, const Hk__Process *rank, unsigned number,
				   unsigned tick, uint64_t end_ns)
{
	Hk__Arrivals *arrivals = need(malloc(sizeof(*arrivals)));
	unsigned count = load->options.collectives;
	uint64_t period_ns = load->options.period_ms * UINT64_C(1000000), before_ns = 0;
	hk__arrivals__init(arrivals);
	arrivals->process = (ProtobufCBinaryData){16, need(malloc(16))};
	memcpy(arrivals->process.data, rank->uid.data, 16);
	arrivals->comm = need(calloc(1, sizeof(*arrivals->comm)));
	arrivals->function = need(calloc(1, sizeof(char *)));
	arrivals->comm[0] = HK_COMM_WORLD;
	arrivals->function[0] = need(strdup("MPI_Allreduce"));
	arrivals->n_comm = arrivals->n_function = 1;
	arrivals->kind = need(calloc(count, sizeof(*arrivals->kind)));
	arrivals->number = need(calloc(count, sizeof(*arrivals->number)));
	arrivals->enter_ns = need(calloc(count, sizeof(*arrivals->enter_ns)));
	arrivals->duration_ns = need(calloc(count, sizeof(*arrivals->duration_ns)));
	arrivals->n_kind = arrivals->n_number = arrivals->n_enter_ns = arrivals->n_duration_ns =
	    count;
	for (unsigned i = 0; i < count; i++) {
		uint64_t begun_ns = end_ns - period_ns + i * period_ns / count;
		uint64_t after_ns =
		    number + 1 == load->options.ranks ? LATE_NS : draw(load, SPREAD_NS);
		arrivals->number[i] = (uint64_t)tick * count + i;
		arrivals->enter_ns[i] = (int64_t)(begun_ns + after_ns - before_ns);
		arrivals->duration_ns[i] = LATE_NS + SPREAD_NS - after_ns;
		before_ns = begun_ns + after_ns;
	}
	return arrivals;
}

/* The boot id of this machine, whose clock all nodes of the load have. */
static void read_boot(uint8_t boot[16])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	for (unsigned i = 0; file && i < 16; i++) {
		unsigned byte;
		if (fscanf(file, i % 2 == 0 && i >= 4 && i <= 10 ? "-%2x" : "%2x", &byte) != 1) {
			fail("boot_id", "unreadable");
		}
		boot[i] = (uint8_t)byte;
	}
	if (!file) {
		fail("boot_id", strerror(errno));
	}
	fclose(file);
}

/* Fills MAP, of nodes whose clock is the root's but for its error. */
static void make_map(const struct load *load, Hk__ClockMap *map)
{
	static uint64_t monotonic_ns[CORNERS], fit_ns[CORNERS], bound_ns[CORNERS];
	static int64_t offset_ns[CORNERS];
	static uint8_t boot[16];
	read_boot(boot);
	hk__clock_map__init(map);
	for (unsigned i = 0; i < CORNERS; i++) {
		monotonic_ns[i] = load->start_ns + i * UINT64_C(1000000);
		fit_ns[i] = 1000;
		bound_ns[i] = BOUND_NS;
	}
	map->n_monotonic_ns = map->n_offset_ns = map->n_fit_error_ns = map->n_bound_ns = CORNERS;
	map->monotonic_ns = monotonic_ns;
	map->offset_ns = offset_ns;
	map->fit_error_ns = fit_ns;
	map->bound_ns = bound_ns;
	map->root_boot = (ProtobufCBinaryData){sizeof(boot), boot};
}

/* ---- what a leaf says ---- */

/* What one report brings of its ranks. */
struct bundle {
	Hk__Process **changes;
	Hk__Arrivals **arrivals;
	size_t count, bytes;
	size_t silent; /* of the first ranks */
};

/* Brings the report of LEAF that REQUEST is. An engine says nothing about it. */
static void bring(struct load *load, const struct leaf *leaf, const Hk__Request *request)
{
	size_t size;
	Hk__Response *response = carrier_bring(load->carrier, leaf->place, request, &size);
	bool complete = request->report->jobs[0]->complete;
	load->bytes += size;
	load->reports++;
	if (!response) {
		return;
	}
	const Hk__LeafReply *reply = response->leaf;
	if (response->error < 0 || !reply || reply->n_jobs != 1 || reply->jobs[0]->error < 0 ||
	    (complete && !reply->jobs[0]->saved)) {
		fail("report refused", response->text);
	}
	hk__response__free_unpacked(response, NULL);
}

/* Sends BUNDLE in one report, and empties it. */
static void report(struct load *load, struct leaf *leaf, struct bundle *bundle, bool resume,
		   bool complete)
{
	Hk__ClockMap map;
	Hk__Node node = HK__NODE__INIT;
	Hk__Job job = HK__JOB__INIT;
	Hk__LeafJob part = HK__LEAF_JOB__INIT, *parts[] = {&part};
	Hk__LeafReport message = HK__LEAF_REPORT__INIT;
	Hk__Request request = HK__REQUEST__INIT;
	node.id = node.boot = (ProtobufCBinaryData){16, leaf->id};
	node.host = leaf->host;
	node.version = (char *)HK_VERSION;
	job.id = job.key = job.name = (char *)(uintptr_t)load->options.job;
	job.opened_unix_ns = job.start_unix_ns = load->opened_unix_ns;
	job.world_size = (int32_t)load->options.ranks;
	job.have_exit = complete;
	part.job = &job;
	part.processes = bundle->changes;
	part.n_processes = bundle->count;
	if (load->options.collectives > 0) {
		make_map(load, &map);
		node.clock = &map;
		part.arrivals = bundle->arrivals + bundle->silent;
		part.n_arrivals = bundle->count - bundle->silent;
	}
	part.complete = complete;
	message.node = &node;
	message.jobs = parts;
	message.n_jobs = 1;
	message.resume = resume;
	message.epoch = load->epoch_ns;
	message.number = ++leaf->number;
	request.version = (char *)HK_VERSION;
	request.what_case = HK__REQUEST__WHAT_REPORT;
	request.report = &message;
	bring(load, leaf, &request);
	for (size_t i = 0; i < bundle->count; i++) {
		hk__process__free_unpacked(bundle->changes[i], NULL);
		if (bundle->arrivals[i]) {
			hk__arrivals__free_unpacked(bundle->arrivals[i], NULL);
		}
	}
	bundle->count = bundle->bytes = bundle->silent = 0;
}

static void tick_leaf(struct load *load, struct leaf *leaf, unsigned tick)
{
	bool first = tick == 0, last = tick + 1 == load->options.ticks;
	size_t room = leaf->end - leaf->first + 1;
	uint64_t end_ns = load->start_ns + tick * load->options.period_ms * UINT64_C(1000000);
	struct bundle bundle = {.changes = need(calloc(room, sizeof(Hk__Process *))),
				.arrivals = need(calloc(room, sizeof(Hk__Arrivals *)))};
	for (unsigned number = leaf->first; number < leaf->end; number++) {
		Hk__Process *change = make_change(load, leaf, number, last);
		size_t size = hk__process__get_packed_size(change);
		if (bundle.count > 0 && bundle.bytes + size > REPORT_BYTES) {
			report(load, leaf, &bundle, first, false);
		}
		bundle.bytes += size;
		bundle.arrivals[bundle.count] =
		    load->options.collectives > 0 && number >= load->options.silent
			? make_arrivals(load, load->ranks[number].told, number, tick, end_ns)
			: NULL;
		bundle.silent += !bundle.arrivals[bundle.count];
		bundle.changes[bundle.count++] = change;
	}
	report(load, leaf, &bundle, first, last);
	free(bundle.changes);
	free(bundle.arrivals);
}

static void run(struct load *load)
{
	const uint64_t period_ns = load->options.period_ms * UINT64_C(1000000);
	load->start_ns = clock_ns(CLOCK_MONOTONIC);
	for (unsigned tick = 0; tick < load->options.ticks; tick++) {
		uint64_t due_ns = load->start_ns + tick * period_ns;
		uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
		struct timespec due = {(time_t)(due_ns / 1000000000u),
				       (long)(due_ns % 1000000000u)};
		load->missed += begun_ns > due_ns + period_ns;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
		}
		begun_ns = clock_ns(CLOCK_MONOTONIC);
		for (unsigned i = 0; i < load->options.leaves; i++) {
			tick_leaf(load, &load->leaves[i], tick);
		}
		load->round_ms[tick] = (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / 1e6;
	}
}

/* ---- the whole ---- */

static void open_leaves(struct load *load)
{
	const struct options *options = &load->options;
	for (unsigned i = 0; i < options->leaves; i++) {
		struct leaf *leaf = &load->leaves[i];
		/* Its first bytes give an engine's partition: leaves take turns. */
		leaf->place = i;
		memcpy(leaf->id, &i, sizeof(i));
		memcpy(leaf->id + 8, &load->epoch_ns, 8);
		snprintf(leaf->host, sizeof(leaf->host), "node%03u", i);
		leaf->first = (unsigned)((uint64_t)options->ranks * i / options->leaves);
		leaf->end = (unsigned)((uint64_t)options->ranks * (i + 1) / options->leaves);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print(struct load *load)
{
	const struct options *options = &load->options;
	uint64_t calls = 0, total_ns = 0;
	for (unsigned i = 0; i < options->ranks; i++) {
		calls += load->ranks[i].calls * options->sites;
		for (unsigned site = 0; site < options->sites; site++) {
			total_ns += load->ranks[i].total_ns[site];
		}
	}
	qsort(load->round_ms, options->ticks, sizeof(*load->round_ms), by_value);
	printf("{\"calls\": %" PRIu64 ", \"total_ns\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"reports\": %" PRIu64 ", \"missed\": %" PRIu64 ", \"round_ms\": %.1f}\n",
	       calls, total_ns, load->bytes, load->reports, load->missed,
	       load->round_ms[options->ticks / 2]);
}

static unsigned number(const char *argument, unsigned most)
{
	char *end;
	unsigned long value = strtoul(argument, &end, 10);
	if (*end || value < 1 || value > most) {
		fail(argument, "no such number");
	}
	return (unsigned)value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
	    {"ranks", 1, NULL, 'r'},  {"leaves", 1, NULL, 'l'}, {"sites", 1, NULL, 's'},
	    {"ticks", 1, NULL, 't'},  {"period", 1, NULL, 'p'}, {"calls", 1, NULL, 'c'},
	    {"times", 1, NULL, 'm'},  {"job", 1, NULL, 'j'},	{"collectives", 1, NULL, 'C'},
	    {"silent", 1, NULL, 'S'}, {NULL, 0, NULL, 0},
	};
	struct options options = {.job = "load",
				  .ranks = 64,
				  .leaves = 4,
				  .sites = 200,
				  .ticks = 5,
				  .period_ms = 1000,
				  .calls = 10,
				  .times = 1};
	for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (option) {
		case 'r':
			options.ranks = number(optarg, 65536);
			break;
		case 'l':
			options.leaves = number(optarg, 4096);
			break;
		case 's':
			options.sites = number(optarg, 65536);
			break;
		case 't':
			options.ticks = number(optarg, 1000000);
			break;
		case 'p':
			options.period_ms = number(optarg, 60000);
			break;
		case 'c':
			options.calls = number(optarg, CALLS_MAX);
			break;
		case 'm':
			options.times = number(optarg, 1000000);
			break;
		case 'C':
			options.collectives = number(optarg, 100000);
			break;
		case 'S':
			options.silent = number(optarg, 65536);
			break;
		case 'j':
			options.job = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (optind + 1 != argc) {
		fail("usage", "load URL [OPTION VALUE]...");
	}
	options.url = argv[optind];
	options.leaves = options.leaves < options.ranks ? options.leaves : options.ranks;
	return options;
}

int main(int argc, char **argv)
{
	struct load load = {.options = parse(argc, argv), .seed = 1};
	const struct options *options = &load.options;
	load.epoch_ns = load.opened_unix_ns = clock_ns(CLOCK_REALTIME);
	load.ranks = need(calloc(options->ranks, sizeof(*load.ranks)));
	load.leaves = need(calloc(options->leaves, sizeof(*load.leaves)));
	load.round_ms = need(calloc(options->ticks, sizeof(*load.round_ms)));
	for (unsigned i = 0; i < options->ranks; i++) {
		struct rank *rank = &load.ranks[i];
		rank->count = need(calloc((size_t)options->sites * SPREAD, sizeof(uint32_t)));
		rank->total_ns = need(calloc(options->sites, sizeof(uint64_t)));
	}
	open_leaves(&load);
	load.carrier = carrier_open(options->url, options->leaves);
	run(&load);
	print(&load);
	carrier_free(load.carrier);
	for (unsigned i = 0; i < options->ranks; i++) {
		hk__process__free_unpacked(load.ranks[i].told, NULL);
		free(load.ranks[i].count);
		free(load.ranks[i].total_ns);
	}
	free(load.ranks);
	free(load.leaves);
	free(load.round_ms);
	return 0;
}
