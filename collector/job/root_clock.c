#include "collector/job/root_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"

static int set_boot(ProtobufCBinaryData *boot, const struct hk_collector *collector)
{
	uint8_t *copy = malloc(sizeof(collector->boot));
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, collector->boot, sizeof(collector->boot));
	free(boot->data);
	*boot = (ProtobufCBinaryData){sizeof(collector->boot), copy};
	return 0;
}

static bool is_here(const struct hk_collector *collector, const ProtobufCBinaryData *boot)
{
	return boot->len == sizeof(collector->boot) &&
	       memcmp(boot->data, collector->boot, sizeof(collector->boot)) == 0;
}

int hk_root_clock_set(const struct hk_collector *collector, Hk__Job *job)
{
	const struct hk_clock_point now = hk_clock_now(collector->tsc);
	int r = set_boot(&job->root_boot, collector);
	return r < 0
		   ? r
		   : hk_field_set_anchor(&job->root, now.ticks, now.monotonic_ns, now.realtime_ns);
}

uint64_t hk_root_clock_unix_ns(const Hk__Job *job)
{
	const struct hk_clock_point now = hk_clock_now(false);
	return job->root ? now.monotonic_ns - job->root->monotonic_ns + job->root->realtime_ns
			 : now.realtime_ns;
}

bool hk_root_clock_is_old(const struct hk_collector *collector, const Hk__Job *job)
{
	return job->root && !is_here(collector, &job->root_boot);
}

/* Times before the boot wrap below 0, as readers expect. */
static void shift(Hk__Anchor *anchor, uint64_t by_ns)
{
	if (anchor) {
		anchor->monotonic_ns += by_ns;
	}
}

static bool same_boot(const Hk__ClockMap *map, const Hk__Job *job)
{
	return map && map->root_boot.len == job->root_boot.len &&
	       memcmp(map->root_boot.data, job->root_boot.data, map->root_boot.len) == 0;
}

static int shift_map(const struct hk_collector *collector, Hk__ClockMap *map, uint64_t by_ns)
{
	for (size_t i = 0; i < map->n_offset_ns; i++) {
		map->offset_ns[i] = (int64_t)((uint64_t)map->offset_ns[i] + by_ns);
	}
	return set_boot(&map->root_boot, collector);
}

int hk_root_clock_carry_over(const struct hk_collector *collector, Hk__Snapshot *snapshot)
{
	Hk__Job *job = snapshot->job;
	uint64_t before = job->root->realtime_ns - job->root->monotonic_ns;
	const struct hk_clock_point now = hk_clock_now(collector->tsc);
	uint64_t by_ns = before - (now.realtime_ns - now.monotonic_ns);
	for (size_t i = 0; i < job->n_nodes; i++) {
		Hk__ClockMap *map = job->nodes[i]->clock;
		if (same_boot(map, job) && shift_map(collector, map, by_ns) < 0) {
			return -ENOMEM;
		}
	}
	int r = set_boot(&job->root_boot, collector);
	r = r < 0 ? r
		  : hk_field_set_anchor(&job->root, now.ticks, now.monotonic_ns, now.realtime_ns);
	for (size_t i = 0; r == 0 && i < snapshot->n_processes; i++) {
		Hk__Process *process = snapshot->processes[i];
		if (process->node.len == 0) {
			shift(process->start, by_ns);
			shift(process->end, by_ns);
			shift(process->seen, by_ns);
		}
	}
	return r;
}
