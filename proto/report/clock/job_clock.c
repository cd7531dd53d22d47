#include "report/clock/job_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/strings.h"
#include "wire/message.h"

/* Anchors closer than this give a worse tick length than the process's own calibration. */
#define SPAN_MIN_NS 10000000u

/* 256 ns to the tick: no clock is that slow. */
#define TICK_Q32_MAX (1ull << 40)

/* How far a node's realtime clock is ahead of its monotonic clock, measured by its earliest
 * process. */
struct host {
	uint64_t earliest_ns;
	uint64_t real_minus_monotonic_ns;
};

/* Key of a host: the node's id in hex, or the host's name. */
#define NODE_KEY_BYTES 64u

uint64_t hk_report_clock_origin(const Hk__Snapshot *snapshot)
{
	uint64_t origin = snapshot->job ? snapshot->job->start_unix_ns : 0;

	for (size_t i = 0; origin == 0 && i < snapshot->n_processes; i++) {
		const Hk__Anchor *start = snapshot->processes[i]->start;
		if (start && (origin == 0 || start->realtime_ns < origin)) {
			origin = start->realtime_ns;
		}
	}
	return origin;
}

/* Returns ns per tick, Q32, as the anchors measure it. Returns the process's own value if the
 * anchors are too close, or if the two differ by more than 1 %. */
static uint64_t refined_q32(const Hk__Process *process)
{
	uint64_t own = process->tick_ns_q32;
	if (own == 0 || own > TICK_Q32_MAX) {
		own = 1ull << 32;
	}
	const Hk__Anchor *from = process->start;
	const Hk__Anchor *to = process->end ? process->end : process->seen;

	if (!from || !to || to->ticks <= from->ticks ||
	    to->monotonic_ns < from->monotonic_ns + SPAN_MIN_NS ||
	    to->monotonic_ns < from->monotonic_ns) {
		return own;
	}
	unsigned __int128 span = (unsigned __int128)(to->monotonic_ns - from->monotonic_ns) << 32;
	unsigned __int128 measured = span / (to->ticks - from->ticks);
	uint64_t tolerance = own / 100;
	if (measured + tolerance < own || measured > (unsigned __int128)own + tolerance) {
		return own;
	}
	return (uint64_t)measured;
}

const Hk__Node *hk_report_clock_node(const Hk__Job *job, const Hk__Process *process)
{
	for (size_t i = 0; job && process->node.len > 0 && i < job->n_nodes; i++) {
		const Hk__Node *node = job->nodes[i];
		if (node->id.len == process->node.len &&
		    memcmp(node->id.data, process->node.data, node->id.len) == 0) {
			return node;
		}
	}
	return NULL;
}

size_t hk_report_clock_nodes(const Hk__Snapshot *snapshot)
{
	const Hk__Job *job = snapshot->job;
	size_t nodes = 0, home = 0;

	for (size_t i = 0; i < snapshot->n_processes && home == 0; i++) {
		home = snapshot->processes[i]->node.len == 0;
	}
	for (size_t i = 0; job && i < job->n_nodes; i++) {
		nodes += job->nodes[i]->id.len > 0;
	}
	return nodes + home;
}

static const char *host_key(const Hk__Process *process, char key[NODE_KEY_BYTES])
{
	if (process->node.len == 0) {
		return process->host;
	}
	size_t length = 0;
	for (size_t i = 0; i < process->node.len && length + 3 < NODE_KEY_BYTES; i++) {
		length += (size_t)snprintf(key + length, NODE_KEY_BYTES - length, "%02x",
					   process->node.data[i]);
	}
	return key;
}

/* Finds each process's host; hosts[index[i]] belongs to process i. */
static int hosts_fill(const Hk__Snapshot *snapshot, struct host *hosts, uint32_t *index)
{
	struct hk_report_strings names = {0};
	char key[NODE_KEY_BYTES];
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		int64_t ordinal = hk_report_strings_ordinal(&names, host_key(process, key));
		if (ordinal < 0) {
			r = (int)ordinal;
			break;
		}
		index[i] = (uint32_t)ordinal;
		struct host *host = &hosts[ordinal];
		const Hk__Anchor *start = process->start;
		if (start && (host->earliest_ns == 0 || start->monotonic_ns < host->earliest_ns)) {
			host->earliest_ns = start->monotonic_ns;
			host->real_minus_monotonic_ns = start->realtime_ns - start->monotonic_ns;
		}
	}
	hk_report_strings_fini(&names);
	return r;
}

/* Returns the map of NODE, or NULL if it is invalid or leads to another clock than the root's,
 * which counts the job's times. */
static const Hk__ClockMap *usable_map(const Hk__Job *job, const Hk__Node *node)
{
	const Hk__ClockMap *map = node ? node->clock : NULL;
	if (!job || !job->root || !hk_report_map_valid(map) ||
	    !hk_message_same_bytes(&map->root_boot, &job->root_boot)) {
		return NULL;
	}
	return map;
}

bool hk_report_clock_map(const Hk__Job *job, const Hk__Process *process,
			 const Hk__ClockMap **ret_map)
{
	*ret_map =
	    process->node.len > 0 ? usable_map(job, hk_report_clock_node(job, process)) : NULL;
	return process->node.len == 0 || *ret_map;
}

static const Hk__ClockMap *map_of(const Hk__Job *job, const Hk__Process *process,
				  struct hk_report_map_memory *memory)
{
	const Hk__Process *last = memory->process;
	if (!last || !hk_message_same_bytes(&last->node, &process->node)) {
		memory->process = process;
		memory->map = usable_map(job, hk_report_clock_node(job, process));
	}
	return memory->map;
}

static void clock_begin(const Hk__Snapshot *snapshot, const Hk__Process *process,
			const struct host *host, const Hk__ClockMap *map, bool alone,
			struct hk_report_clock *clock)
{
	const Hk__Anchor *root = snapshot->job ? snapshot->job->root : NULL;
	uint64_t origin = hk_report_clock_origin(snapshot);
	bool at_home = process->node.len == 0;
	clock->ticks = process->start->ticks;
	clock->node_ns = (int64_t)process->start->monotonic_ns;
	if (root && (at_home || map)) {
		clock->root_start_ns = (int64_t)(root->monotonic_ns + (origin - root->realtime_ns));
		clock->map = map;
		clock->since_ns =
		    (int64_t)((uint64_t)clock->node_ns - (uint64_t)clock->root_start_ns);
		if (map) {
			clock->since_ns = hk_report_clock_ns(clock, clock->ticks);
		}
		return;
	}
	clock->since_ns =
	    (int64_t)(process->start->monotonic_ns + host->real_minus_monotonic_ns - origin);
	clock->unsure = !at_home && !alone;
}

int hk_report_clock_all(const Hk__Snapshot *snapshot, struct hk_report_clock **ret_clocks)
{
	size_t count = snapshot->n_processes;
	struct hk_report_clock *clocks = calloc(count + 1, sizeof(*clocks));
	struct host *hosts = calloc(count + 1, sizeof(*hosts));
	uint32_t *index = calloc(count + 1, sizeof(*index));
	struct hk_report_map_memory memory = {0};
	bool alone = hk_report_clock_nodes(snapshot) < 2;
	int r = clocks && hosts && index ? hosts_fill(snapshot, hosts, index) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const Hk__Process *process = snapshot->processes[i];
		clocks[i].tick_ns_q32 = refined_q32(process);
		clocks[i].unsure = !process->start;
		if (process->start) {
			clock_begin(snapshot, process, &hosts[index[i]],
				    map_of(snapshot->job, process, &memory), alone, &clocks[i]);
		}
	}
	free(hosts);
	free(index);
	if (r < 0) {
		free(clocks);
		return r;
	}
	*ret_clocks = clocks;
	return 0;
}

static int64_t saturate(__int128 ns)
{
	if (ns > INT64_MAX) {
		return INT64_MAX;
	}
	return ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

/* Returns the ns that the node's clock advanced from the reference instant to `ticks`. */
static __int128 elapsed(const struct hk_report_clock *clock, uint64_t ticks)
{
	__int128 distance = (__int128)ticks - (__int128)clock->ticks;
	return (distance * (__int128)clock->tick_ns_q32) >> 32;
}

int64_t hk_report_clock_monotonic_ns(const Hk__Process *process, uint64_t ticks)
{
	struct hk_report_clock clock = {.tick_ns_q32 = refined_q32(process)};

	if (!process->start) {
		return 0;
	}
	clock.ticks = process->start->ticks;
	clock.node_ns = (int64_t)process->start->monotonic_ns;
	return hk_report_clock_node_ns(&clock, ticks);
}

int64_t hk_report_clock_node_ns(const struct hk_report_clock *clock, uint64_t ticks)
{
	return saturate(elapsed(clock, ticks) + clock->node_ns);
}

int64_t hk_report_clock_ns(const struct hk_report_clock *clock, uint64_t ticks)
{
	if (!clock->map) {
		return saturate(elapsed(clock, ticks) + clock->since_ns);
	}
	int64_t root_ns = hk_report_map_root_ns(clock->map, hk_report_clock_node_ns(clock, ticks));
	return saturate((__int128)root_ns - clock->root_start_ns);
}

bool hk_report_clock_error(const struct hk_report_clock *clock, uint64_t from, uint64_t to,
			   struct hk_report_error *ret_error)
{
	*ret_error = (struct hk_report_error){0};
	if (clock->map) {
		*ret_error = hk_report_map_error(clock->map, hk_report_clock_node_ns(clock, from),
						 hk_report_clock_node_ns(clock, to));
	}
	return !clock->unsure;
}

bool hk_report_clock_unix_ns(const Hk__Job *job, const Hk__Process *process, uint64_t monotonic_ns,
			     struct hk_report_map_memory *memory, uint64_t *ret_unix_ns)
{
	const Hk__Anchor *root = job ? job->root : NULL;
	uint64_t root_ns = monotonic_ns;
	if (root && process->node.len > 0) {
		const Hk__ClockMap *map = map_of(job, process, memory);
		if (!map || monotonic_ns > INT64_MAX) {
			return false;
		}
		root_ns = (uint64_t)hk_report_map_root_ns(map, (int64_t)monotonic_ns);
	}
	if (!root) {
		return false;
	}
	*ret_unix_ns = root_ns - root->monotonic_ns + root->realtime_ns;
	return true;
}
