#include "cli/drift/latencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps/steps.h"
#include "cli/timeline/timeline.h"
#include "hooks/hook.h"
#include "report/model/domains.h"
#include "ring/segment.h"
#include "sketch/histogram.h"

#define FINE_PER_BUCKET 8u /* buckets of sketch/histogram.h in one of ours */
#define CACHE 256u

/* What a site's calls are added to. */
struct cached {
	const struct hk_export_site *site;
	struct hk_latency *latency; /* NULL: nothing */
};

struct hk_exporter {
	struct hk_latencies *latencies;
	uint64_t origin_ns, part_ns;
	struct cached cache[CACHE]; /* by address */
};

struct pass {
	struct hk_latencies *latencies;
	uint64_t duration_ns;
};

void hk_latency_add(struct hk_latency_part *part, uint64_t duration_ns)
{
	uint32_t bucket = hk_histogram_index(duration_ns) / FINE_PER_BUCKET;

	part->calls++;
	part->total_ns += (double)duration_ns;
	part->bucket[bucket < HK_LATENCY_BUCKETS ? bucket : HK_LATENCY_BUCKETS - 1]++;
}

double hk_latency_p99(const struct hk_latency_part *part)
{
	uint64_t above = part->calls / 100, seen = 0;
	uint32_t bucket = HK_LATENCY_BUCKETS;

	while (bucket > 0 && seen <= above) {
		seen += part->bucket[--bucket];
	}
	return (double)hk_histogram_lower_ns(bucket * FINE_PER_BUCKET);
}

/* Whether the time in calls of SITE is spent in its function. */
static bool counts(const struct hk_export_site *site)
{
	return site->meaning != HK_MEANING_RANGE && !hk_steps_waits(site) &&
	       !hk_domain_is_idle(site->domain);
}

/* Finds what calls of FUNCTION are added to; makes it if necessary. *RET_LATENCY: NULL without
 * room. Returns 0 or -ENOMEM. */
static int find(struct hk_latencies *latencies, const char *function,
		struct hk_latency **ret_latency)
{
	struct hk_latency *latency;

	HASH_FIND_STR(latencies->functions, function, latency);
	*ret_latency = latency;
	if (latency || HASH_COUNT(latencies->functions) == HK_LATENCY_FUNCTIONS) {
		return 0;
	}
	latency = calloc(1, sizeof(*latency));
	if (latency) {
		latency->function = strdup(function);
	}
	if (latency && latency->function) {
		HASH_ADD_KEYPTR(hh, latencies->functions, latency->function,
				strlen(latency->function), latency);
	}
	if (!latency || !latency->function || !latency->hh.tbl) {
		free(latency ? latency->function : NULL);
		free(latency);
		return -ENOMEM;
	}
	*ret_latency = latency;
	return 0;
}

static struct hk_exporter *latencies_create(const struct hk_export_target *target)
{
	const struct pass *pass = target->context;
	struct hk_exporter *exporter = calloc(1, sizeof(*exporter));

	if (exporter) {
		exporter->latencies = pass->latencies;
		exporter->part_ns = pass->duration_ns / HK_LATENCY_PARTS + 1;
	}
	return exporter;
}

static int latencies_begin(struct hk_exporter *exporter, const struct hk_export_job *job)
{
	exporter->origin_ns = job->origin_ns;
	return 0;
}

static int latencies_open(struct hk_exporter *exporter, struct hk_export_thread *thread,
			  const struct hk_slice *slice)
{
	struct cached *cached = &exporter->cache[((uintptr_t)slice->site >> 4) % CACHE];

	(void)thread;
	if (cached->site != slice->site) {
		struct hk_latency *latency = NULL;
		int rc = counts(slice->site)
			     ? find(exporter->latencies, slice->site->function, &latency)
			     : 0;
		if (rc < 0) {
			return rc;
		}
		*cached = (struct cached){slice->site, latency};
	}
	if (cached->latency && slice->start_ns >= exporter->origin_ns) {
		uint64_t part = (slice->start_ns - exporter->origin_ns) / exporter->part_ns;
		part = part < HK_LATENCY_PARTS ? part : HK_LATENCY_PARTS - 1;
		hk_latency_add(&cached->latency->parts[part], slice->end_ns - slice->start_ns);
	}
	return 0;
}

static int latencies_close(struct hk_exporter *exporter, struct hk_export_thread *thread,
			   const struct hk_slice *slice)
{
	(void)exporter;
	(void)thread;
	(void)slice;
	return 0;
}

static int latencies_mark(struct hk_exporter *exporter, const struct hk_export_process *process,
			  uint64_t time_ns, const struct hk_export_gap *gap)
{
	(void)process;
	(void)time_ns;
	(void)gap;
	exporter->latencies->incomplete = true;
	return 0;
}

static int latencies_end(struct hk_exporter *exporter)
{
	(void)exporter;
	return 0;
}

static void latencies_free(struct hk_exporter *exporter)
{
	free(exporter);
}

static const struct hk_exporter_ops ops = {
    .format = "latencies",
    .suffix = "",
    .create = latencies_create,
    .begin = latencies_begin,
    .open = latencies_open,
    .close = latencies_close,
    .mark = latencies_mark,
    .end = latencies_end,
    .free = latencies_free,
};

int hk_latencies_read(const Hk__Snapshot *snapshot, const char *directory, uint64_t duration_ns,
		      struct hk_latencies *ret_latencies)
{
	const struct hk_timeline_options options = {
	    .from_ns = INT64_MIN, .to_ns = INT64_MAX, .ranks_own = true};
	struct pass pass = {ret_latencies, duration_ns};
	const struct hk_export_target target = {.context = &pass};
	struct hk_timeline_result result;

	*ret_latencies = (struct hk_latencies){0};
	int rc = hk_timeline_export(snapshot, directory, &ops, &target, &options, &result);
	return rc < 0 ? rc : result.damaged > 0 ? -EBADMSG : 0;
}

void hk_latencies_fini(struct hk_latencies *latencies)
{
	struct hk_latency *latency, *next;

	HASH_ITER (hh, latencies->functions, latency, next) {
		HASH_DEL(latencies->functions, latency);
		free(latency->function);
		free(latency);
	}
}
