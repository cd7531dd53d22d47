#include "collector/level/governor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/level/rules.h"
#include "collector/model/attachment.h"
#include "collector/model/fields.h"
#include "collector/model/process.h"
#include "collector/proc/procfs.h"
#include "collector/process/cost.h"
#include "hooks/hook.h"
#include "hooks/names.h"

#define MS_NS 1000000u
#define LOOK_NS (250u * MS_NS)
#define FIRST_LOOK_NS (10u * MS_NS)   /* age of a process at its first sample */
#define SECOND_LOOK_NS (100u * MS_NS) /* time to the second sample after one above the budget */
#define LOOK_SPACING 200u	      /* sampling takes at most 1/200 of a processor's time */
#define CALM_NS (10000u * (uint64_t)MS_NS)
#define CALM_DOUBLINGS 6u
#define FASTER_MAX 50	/* highest expected speed-up of a loop */
#define STEPS_MAX 256u	/* steps kept of one process */
#define LOWERED_MAX 64u /* sites lowered at one sample */
#define PATTERN_BYTES 1024u

struct site_use {
	uint64_t calls;				  /* at the last sample */
	uint64_t made;				  /* calls between the last two samples */
	uint64_t sum;				  /* calls summed over the cells during a walk */
	uint64_t stacks, stacks_made, stacks_sum; /* the same of calls whose stack was kept */
	uint64_t
	    calm_ns; /* time since which the old level would fit the budget; 0: it does not fit */
	uint32_t lowered; /* number of times the site was lowered */
	uint8_t level;	  /* lower one of the level in force and the level granted */
	uint8_t before;	  /* level before it was lowered; 0: unknown */
	bool fixed;	  /* the user fixed the level */
	bool reported;	  /* a log line has said that a fixed site exceeds the budget */
	const struct hk_site_info *info; /* NULL: not defined yet */
};

struct hk_governor {
	struct site_use *sites; /* by site id */
	uint32_t count;
	uint64_t sampled_ns, due_ns;
	uint64_t gap_ns; /* between two calls, at most: the time since the last sample by calls */
	uint64_t cpu_ns; /* at the last sample above the budget */
	bool begun, suspicious;
};

struct hk_governor *hk_governor_free(struct hk_governor *governor)
{
	if (governor) {
		free(governor->sites);
		free(governor);
	}
	return NULL;
}

/* ---- looking ---- */

static bool reserve(struct hk_governor *governor, uint32_t count)
{
	if (count <= governor->count) {
		return true;
	}
	struct site_use *sites = realloc(governor->sites, count * sizeof(*sites));
	if (!sites) {
		return false;
	}
	memset(sites + governor->count, 0, (count - governor->count) * sizeof(*sites));
	governor->sites = sites;
	governor->count = count;
	return true;
}

/* Returns whether a site's records are needed. The memory ledger needs every allocation, and the
 * numbers of communicators need every call that makes one. */
static bool is_needed(uint8_t meaning)
{
	return (meaning >= HK_MEANING_ALLOC && meaning <= HK_MEANING_REMAP) ||
	       meaning == HK_MEANING_COMM;
}

static void read_site(struct hk_reader *reader, uint32_t id, struct site_use *site)
{
	site->made = site->sum > site->calls ? site->sum - site->calls : 0;
	site->calls = site->sum;
	site->stacks_made = site->stacks_sum > site->stacks ? site->stacks_sum - site->stacks : 0;
	site->stacks = site->stacks_sum;
	site->info = site->made || site->lowered ? hk_reader_site(reader, id) : NULL;
	if (site->info) {
		const struct hk_site_info *info = site->info;
		bool lowered = info->ceiling && !info->pinned && info->ceiling < info->level;
		site->level = lowered ? info->ceiling : info->level;
		site->fixed = info->pinned || is_needed(info->meaning);
	}
}

/* Counts the calls since the last sample. Returns false if the segment cannot be read. */
static bool count_calls(struct hk_process *process)
{
	struct hk_governor *governor = process->segment->governor;
	struct hk_cell_copy cell;
	uint64_t cursor = 0;
	if (hk_reader_refresh(process->segment->reader, &process->segment->status) < 0 ||
	    process->segment->status.sites > HK_SITES_MAX ||
	    !reserve(governor, process->segment->status.sites)) {
		return false;
	}
	for (uint32_t i = 0; i < governor->count; i++) {
		governor->sites[i].sum = governor->sites[i].stacks_sum = 0;
	}
	while (hk_reader_next_cell(process->segment->reader, &cursor, &cell) > 0) {
		if (cell.site < governor->count) {
			governor->sites[cell.site].sum += cell.calls;
			governor->sites[cell.site].stacks_sum += cell.stacks;
		}
	}
	for (uint32_t i = 0; i < governor->count; i++) {
		read_site(process->segment->reader, i, &governor->sites[i]);
	}
	return true;
}

/* Sets the gap of the calls of the last ELAPSED_NS. */
static void set_gap(struct hk_governor *governor, uint64_t elapsed_ns)
{
	uint64_t made = 0;
	for (uint32_t i = 0; i < governor->count; i++) {
		made += governor->sites[i].made;
	}
	governor->gap_ns = made ? elapsed_ns / made : 0;
}

/* Returns the ns that CALLS calls at LEVEL cost more than counting them. */
static double extra_ns(const struct hk_process *process, const struct site_use *site,
		       uint64_t calls, uint8_t level)
{
	struct hk_cost_site kind = {site->info->flags, site->info->key_count};
	uint64_t gap_ns = process->segment->governor->gap_ns;
	uint64_t least = hk_cost_call_ps(&process->segment->status, kind, HK_LEVEL_COUNT, gap_ns);
	uint64_t cost = hk_cost_call_ps(&process->segment->status, kind, level, gap_ns);
	return cost > least ? (double)calls * (double)(cost - least) / 1000 : 0;
}

/* Returns the ns that the calls between the last two samples would cost at LEVEL, less the cost of
 * counting them. */
static double dispensable_ns(const struct hk_process *process, const struct site_use *site,
			     uint8_t level)
{
	uint64_t with = site->stacks_made < site->made ? site->stacks_made : site->made;
	if (level != HK_LEVEL_STACK || site->level != HK_LEVEL_STACK) {
		return extra_ns(process, site, site->made, level);
	}
	/* A limit leaves most calls without a stack. */
	return extra_ns(process, site, with, level) +
	       extra_ns(process, site, site->made - with, HK_LEVEL_ARGS);
}

struct survey {
	double ours_ns;	   /* dispensable cost of the sites that may be lowered */
	double dearest_ns; /* highest cost of one fixed site */
};

static struct survey survey(const struct hk_process *process)
{
	const struct hk_governor *governor = process->segment->governor;
	struct survey survey = {0, 0};
	for (uint32_t i = 0; i < governor->count; i++) {
		const struct site_use *site = &governor->sites[i];
		double ns = site->info ? dispensable_ns(process, site, site->level) : 0;
		if (site->fixed) {
			survey.dearest_ns = ns > survey.dearest_ns ? ns : survey.dearest_ns;
		} else {
			survey.ours_ns += ns;
		}
	}
	return survey;
}

/* Returns the processor time of all threads in ns, or 0 if /proc does not show it. */
static uint64_t cpu_ns(const struct hk_process *process)
{
	struct hk_procfs_stat stat;
	bool known = !process->foreign && hk_procfs_stat(process->state->pid, &stat) == 0;
	return known ? stat.cpu_ns : 0;
}

/* ---- stepping ---- */

static void keep_step(struct hk_process *process, const struct site_use *site, uint8_t to)
{
	Hk__Process *state = process->state;
	const char *provider = site->info->provider;
	const char *slash = strrchr(provider, '/');
	char pattern[PATTERN_BYTES];
	snprintf(pattern, sizeof(pattern), "%s:%s",
		 *provider ? (slash ? slash + 1 : provider) : "*", site->info->function);
	hk_info("governor pid=%" PRIu32 " pattern=%s from=%s to=%s pinned=%d", state->pid, pattern,
		hk_level_name(site->level), hk_level_name(to), site->fixed);
	if (state->n_governor >= STEPS_MAX) {
		return;
	}
	Hk__GovernorStep *step = malloc(sizeof(*step));
	Hk__GovernorStep **steps =
	    realloc(state->governor, (state->n_governor + 1) * sizeof(Hk__GovernorStep *));
	if (steps) {
		state->governor = steps;
	}
	if (!step || !steps) {
		free(step);
		return;
	}
	hk__governor_step__init(step);
	hk_field_set_string(&step->pattern, pattern);
	step->from = site->level;
	step->to = to;
	step->ticks = hk_clock_ticks(state->clock_kind == HK_CLOCK_TSC);
	step->pinned = site->fixed;
	steps[state->n_governor++] = step;
	process->changed = true;
}

static void grant(struct hk_process *process, uint32_t id, uint8_t to, uint8_t ceiling)
{
	struct site_use *site = &process->segment->governor->sites[id];
	keep_step(process, site, to);
	hk_reader_set_ceiling(process->segment->reader, id, ceiling);
	process->segment->ceilings_changed = true;
	site->level = to;
	site->calm_ns = 0;
}

/* Returns the number of the most expensive site that may be lowered, or -1. */
static int64_t dearest(const struct hk_process *process, double *ret_ns)
{
	const struct hk_governor *governor = process->segment->governor;
	int64_t found = -1;
	*ret_ns = 0;
	for (uint32_t i = 0; i < governor->count; i++) {
		const struct site_use *site = &governor->sites[i];
		double ns =
		    site->info && !site->fixed ? dispensable_ns(process, site, site->level) : 0;
		if (ns > *ret_ns) {
			*ret_ns = ns;
			found = i;
		}
	}
	return found;
}

/* Lowers sites until the dispensable cost fits. OURS_NS of the BUSY_NS that the threads ran were
 * dispensable; ALLOWED_NS are granted. */
static void lower(struct hk_process *process, double ours_ns, double busy_ns, double allowed_ns)
{
	for (uint32_t steps = 0; ours_ns > allowed_ns && steps < LOWERED_MAX; steps++) {
		double ns;
		int64_t id = dearest(process, &ns);
		if (id < 0) {
			return;
		}
		struct site_use *site = &process->segment->governor->sites[id];
		uint8_t to = site->level;
		double left_ns = 0;
		/* A loop that makes few other calls runs faster by the time that is saved. */
		double rest_ns =
		    busy_ns - ns > busy_ns / FASTER_MAX ? busy_ns - ns : busy_ns / FASTER_MAX;
		do {
			to = to > HK_LEVEL_TIME ? HK_LEVEL_TIME : (uint8_t)(to - 1);
			left_ns = dispensable_ns(process, site, to) * busy_ns / rest_ns;
		} while (to > HK_LEVEL_COUNT && ours_ns - ns + left_ns > allowed_ns);
		site->before = site->lowered && site->before ? site->before : site->level;
		site->lowered++;
		grant(process, (uint32_t)id, to, to);
		ours_ns += left_ns - ns;
	}
}

/* Logs each fixed site that exceeds the budget, once. */
static void report_fixed(struct hk_process *process, double allowed_ns)
{
	for (uint32_t i = 0; i < process->segment->governor->count; i++) {
		struct site_use *site = &process->segment->governor->sites[i];
		if (site->info && site->fixed && !site->reported &&
		    dispensable_ns(process, site, site->level) > allowed_ns) {
			keep_step(process, site, site->level);
			site->reported = true;
		}
	}
}

/* Raises sites to their old level after they were quiet for a while. Each time a site is lowered
 * again, that time doubles. */
static void raise_quiet(struct hk_process *process, uint64_t now_ns, double ours_ns,
			double allowed_ns)
{
	for (uint32_t i = 0; i < process->segment->governor->count; i++) {
		struct site_use *site = &process->segment->governor->sites[i];
		if (!site->lowered || !site->info || !site->info->ceiling || site->fixed) {
			continue;
		}
		double then_ns = dispensable_ns(process, site, site->before);
		if (then_ns > allowed_ns / 4 || ours_ns > allowed_ns / 2) {
			site->calm_ns = 0;
			continue;
		}
		uint32_t times = site->lowered - 1;
		uint64_t wait = CALM_NS << (times < CALM_DOUBLINGS ? times : CALM_DOUBLINGS);
		site->calm_ns = site->calm_ns ? site->calm_ns : now_ns;
		if (now_ns - site->calm_ns >= wait) {
			grant(process, i, site->before, HK_LEVEL_DEFAULT);
		}
	}
}

/* ---- one look ---- */

static void judge(struct hk_process *process, uint64_t now_ns)
{
	struct hk_governor *governor = process->segment->governor;
	struct survey found = survey(process);
	double elapsed_ns = (double)(now_ns - governor->sampled_ns);
	double allowed_ns = elapsed_ns * (double)process->state->budget_ppm / 1e6;
	bool too_much = found.ours_ns > allowed_ns || found.dearest_ns > allowed_ns;
	if (too_much) {
		uint64_t cpu = cpu_ns(process);
		double busy =
		    cpu > governor->cpu_ns ? (double)(cpu - governor->cpu_ns) / elapsed_ns : 1;
		governor->cpu_ns = cpu;
		/* Only the second of two samples in a row shows how many cores the process kept
		 * busy. */
		if (governor->suspicious) {
			busy = busy > 1 ? busy : 1;
			lower(process, found.ours_ns, busy * elapsed_ns, busy * allowed_ns);
			report_fixed(process, busy * allowed_ns);
		}
	} else {
		raise_quiet(process, now_ns, found.ours_ns, allowed_ns);
	}
	governor->suspicious = too_much;
}

/* Returns the processor time of this thread. Time spent waiting for a processor is not counted. */
static uint64_t spent_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Takes the first sample, of all calls since the process began, because a process with many calls
 * may end soon. Returns false if the process is younger than FIRST_LOOK_NS. */
static bool begin(struct hk_process *process, uint64_t now_ns)
{
	struct hk_governor *governor = process->segment->governor;
	uint64_t start_ns = hk_reader_identity(process->segment->reader)->start.monotonic_ns;
	if (start_ns == 0 || start_ns > now_ns) {
		return true; /* In a time namespace, the time of the calls so far is unknown. */
	}
	if (now_ns - start_ns < FIRST_LOOK_NS) {
		governor->due_ns = start_ns + FIRST_LOOK_NS;
		return false;
	}
	governor->sampled_ns = start_ns;
	governor->suspicious = true;
	return true;
}

void hk_governor_check(struct hk_process *process, uint64_t now_ns)
{
	if (!process->segment->governor) {
		process->segment->governor = calloc(1, sizeof(*process->segment->governor));
	}
	struct hk_governor *governor = process->segment->governor;
	if (process->state->budget_ppm == 0 || !governor || now_ns < governor->due_ns) {
		return;
	}
	if (!governor->begun && !begin(process, now_ns)) {
		return;
	}
	uint64_t begin_ns = spent_ns();
	if (count_calls(process)) {
		if (governor->sampled_ns) {
			set_gap(governor, now_ns - governor->sampled_ns);
			judge(process, now_ns);
		}
		governor->begun = true;
		governor->sampled_ns = now_ns;
	}
	hk_rules_publish(process);
	uint64_t wait = (spent_ns() - begin_ns) * LOOK_SPACING;
	uint64_t least = governor->suspicious ? SECOND_LOOK_NS : LOOK_NS;
	governor->due_ns = now_ns + (wait > least ? wait : least);
}
