#define HOOKTRACE_AGENT
#include "agent/annotate.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/annotate_names.h"
#include "agent/call/control.h"
#include "agent/call/count.h"
#include "agent/call/enter.h"
#include "agent/call/measure.h"
#include "agent/call/plain_call.h"
#include "agent/device/device.h"
#include "agent/device/work.h"
#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/spare.h"
#include "agent/hooktrace.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "base/clock.h"

#define CLOCK_TRIES 4u
#define CLOCK_NEAR_NS 500u
#define EXPORTED __attribute__((visibility("default")))

static struct hk_site_hot *site_of(const char *name, enum hk_annotate_use use, uintptr_t caller)
{
	return hk_annotate_names_site(name, use, caller, NULL, false);
}

/* Prepares the thread, the cell and CALL to count at SITE. Returns false if that fails; the call
 * then goes uncounted. */
static bool prepare(struct hk_call *call, struct hk_site_hot *site)
{
	struct hk_thread *thread = hk_thread_current;

	if (!site) {
		return false;
	}
	if ((!thread->ready || !hk_call_cell(thread, site) ||
	     atomic_load_explicit(thread->generation, memory_order_relaxed) !=
		 thread->generation_seen) &&
	    !hk_call_prepare(call, site)) {
		return false;
	}
	if (__atomic_load_n(&site->control, __ATOMIC_RELAXED) == HK_CONTROL_PASS) {
		return false;
	}
	call->thread = hk_thread_current;
	call->cell = hk_call_cell(call->thread, site);
	call->site = site;
	call->depth = call->thread->depth;
	call->start_ticks = hk_process_ticks();
	return true;
}

/* Returns whether annotations are recorded. Those made inside the agent are not. */
static bool is_usable(void)
{
	return hk_process.on && !hk_in_agent;
}

static void note_instant(const char *name, enum hk_annotate_use use, uintptr_t caller,
			 uint64_t value)
{
	struct hk_call call = {0};

	if (is_usable() && prepare(&call, site_of(name, use, caller))) {
		hk_call_note_instant(&call, &value);
	}
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* Returns how many of THREAD's ranges up to number END are of GROUP. */
static int count_group(const struct hk_thread *thread, uint32_t end, uint32_t group)
{
	int count = 0;
	for (uint32_t i = 0; i < end && i < HK_RANGES; i++) {
		count += thread->ranges[i].group == group;
	}
	return count;
}

/* Makes the state of this thread for a range of SITE. Returns the thread, or NULL if that fails. */
static struct hk_thread *make_thread(struct hk_site_hot *site)
{
	struct hk_call call;

	if (site) {
		hk_call_prepare(&call, site);
	}
	return hk_thread_current->ready ? hk_thread_current : NULL;
}

/* Begins a range. Returns its thread, or NULL if there is none. */
static inline struct hk_thread *push(const char *text, uint32_t group, uintptr_t caller)
{
	struct hk_thread *thread = hk_thread_current;

	if (!is_usable()) {
		return NULL;
	}
	struct hk_site_hot *site = site_of(text, HK_USE_RANGE, caller);
	if (unlikely(!thread->ready) && !(thread = make_thread(site))) {
		return NULL;
	}
	uint32_t at = thread->range_depth++;
	if (unlikely(at >= HK_RANGES)) {
		hk_process_untracked();
		return thread;
	}
	atomic_signal_fence(memory_order_seq_cst); /* ranges of handlers lie above */
	struct hk_range *range = &thread->ranges[at];
	range->call.thread = NULL;
	range->group = group;
	if (likely(site)) {
		hk_plain_call_begin_range(&range->call, site);
	}
	return thread;
}

int hk_annotate_push(const char *text, uint32_t group, uintptr_t caller)
{
	const struct hk_thread *thread = push(text, group, caller);
	uint32_t depth = thread ? thread->range_depth : 0;
	return depth ? count_group(thread, depth - 1, group) : -1;
}

/* Ends the range of THREAD at AT. One below others gives nothing back to them. */
static void end_range(struct hk_thread *thread, uint32_t at)
{
	struct hk_range *range = &thread->ranges[at];
	if (at + 1 == thread->range_depth) {
		hk_plain_call_end_range(&range->call);
		atomic_signal_fence(memory_order_seq_cst); /* until here they lie above */
		thread->range_depth = at;
		return;
	}
	hk_plain_call_end_apart(&range->call);
	range->group = HK_RANGE_ENDED;
}

/* Ends the innermost range of GROUP among those of THREAD, of which some are kept. Returns its
 * place, or -1 if there is none. */
static int pop(struct hk_thread *thread, uint32_t group)
{
	uint32_t at = thread->range_depth;
	while (at > 0 && thread->ranges[at - 1].group != group) {
		at--;
	}
	if (at > 0) {
		end_range(thread, at - 1);
	}
	/* Those that ended before are on top now. */
	while (thread->range_depth &&
	       thread->ranges[thread->range_depth - 1].group == HK_RANGE_ENDED) {
		thread->range_depth--;
	}
	return (int)at - 1;
}

int hk_annotate_pop(uint32_t group)
{
	struct hk_thread *thread = hk_thread_current;

	if (!is_usable() || !thread->ready || !thread->range_depth) {
		return -1;
	}
	if (thread->range_depth > HK_RANGES) { /* it was not kept */
		return (int)--thread->range_depth;
	}
	int at = pop(thread, group);
	return at >= 0 ? count_group(thread, (uint32_t)at, group) : -1;
}

EXPORTED void hk_range_push(const char *name)
{
	push(name, 0, CALLER);
}

EXPORTED void hk_range_pop(void)
{
	struct hk_thread *thread = hk_thread_current;

	if (likely(is_usable() && thread->ready && thread->range_depth &&
		   thread->range_depth <= HK_RANGES)) {
		pop(thread, 0);
	} else {
		hk_annotate_pop(0);
	}
}

/* ---- ranges of the process ---- */

/* Returns the time from THEN to NOW, or 0. */
static uint64_t ago(uint64_t now, uint64_t then)
{
	return then < now ? now - then : 0;
}

/* Returns the ticks from THEN to NOW in ns, or 0. */
static uint64_t ago_ticks(uint64_t now, uint64_t then)
{
	return hk_clock_ticks_to_ns(ago(now, then), hk_process.tick_ns_q32);
}

#define PROCESS_RANGES 1024u

/* A range that began, and may end on any thread. Its number has its place in the low bits. */
static struct process_range {
	_Atomic uint64_t number;  /* 0: free, 1: being written */
	struct hk_site_hot *site; /* NULL: not counted */
	uint64_t start_ticks, tag;
} process_ranges[PROCESS_RANGES];
static _Atomic uint64_t process_range_count;

uint64_t hk_annotate_start_range(const char *text, uintptr_t caller, uint64_t tag)
{
	struct hk_call call = {0};
	bool ready = is_usable() && prepare(&call, site_of(text, HK_USE_RANGE, caller));
	for (uint32_t tries = 0; tries < PROCESS_RANGES; tries++) {
		uint64_t number = atomic_fetch_add(&process_range_count, 1) + PROCESS_RANGES;
		struct process_range *range = &process_ranges[number % PROCESS_RANGES];
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&range->number, &none, 1)) {
			continue;
		}
		range->site = ready ? call.site : NULL;
		range->start_ticks = call.start_ticks;
		range->tag = tag;
		if (ready) {
			hk_count_add(&call.cell->calls, 1);
		}
		atomic_store(&range->number, number);
		return number;
	}
	hk_process_untracked();
	return ~0ULL;
}

/* Measures CALL, which began at START_TICKS, perhaps on another thread. */
static void measure_elsewhere(struct hk_call *call, uint64_t start_ticks)
{
	struct hk_thread *thread = call->thread;
	uint64_t ns = ago_ticks(call->start_ticks, start_ticks), child_ns = thread->child_ns;

	call->start_ticks = start_ticks;
	call->domains = thread->domains;
	if (call->site->level > HK_LEVEL_COUNT) {
		thread->child_ns = 0; /* what it called is not known */
		hk_call_measure_plain(thread, call, ns, false);
		thread->child_ns = child_ns;
	}
}

bool hk_annotate_end_range(uint64_t number, uint64_t *ret_tag)
{
	struct process_range *range = &process_ranges[number % PROCESS_RANGES];
	struct hk_call call = {0};
	if (number < PROCESS_RANGES ||
	    !atomic_compare_exchange_strong(&range->number, &number, 1)) {
		return false;
	}
	*ret_tag = range->tag;
	if (range->site && is_usable() && prepare(&call, range->site)) {
		measure_elsewhere(&call, range->start_ticks);
	}
	atomic_store(&range->number, 0);
	return true;
}

void hk_annotate_mark(const char *text, uintptr_t caller)
{
	note_instant(text, HK_USE_MARK, caller, 0);
}

EXPORTED void hk_mark(const char *name)
{
	note_instant(name, HK_USE_MARK, CALLER, 0);
}

EXPORTED void hk_step(uint64_t step)
{
	note_instant("step", HK_USE_STEP, CALLER, step);
	if (is_usable() && !hk_process_forked()) {
		atomic_store_explicit(&hk_process.writer.header->step, step + 1,
				      memory_order_relaxed);
	}
}

EXPORTED void hk_pause(int paused)
{
	hk_control_pause(paused != 0);
}

EXPORTED int hk_flush(void)
{
	return hk_device_flush();
}

EXPORTED void hk_counter(const char *name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	note_instant(name, HK_USE_COUNTER, CALLER, bits);
}

/* ---- values that ranks agree on ---- */

/* The last step of each group, for its epoch. */
static struct agreed_group {
	_Atomic uint64_t hash; /* of its text, never 0; 0: free */
	_Atomic uint64_t next_step, epoch;
} agreed_groups[HK_AGREEMENT_GROUPS];

static uint64_t hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037ULL;

	while (*text) {
		hash = (hash ^ (uint8_t)*text++) * 1099511628211ULL;
	}
	return hash | 1ULL << 63;
}

/* Returns the group with HASH, or NULL if there are too many. */
static struct agreed_group *group_of(uint64_t hash)
{
	for (uint32_t i = 0; i < HK_AGREEMENT_GROUPS; i++) {
		uint64_t found = 0;
		if (atomic_compare_exchange_strong(&agreed_groups[i].hash, &found, hash) ||
		    found == hash) {
			return &agreed_groups[i];
		}
	}
	return NULL;
}

/* Returns how often the steps of GROUP have begun again, now that STEP is there. */
static uint64_t epoch_of(struct agreed_group *group, uint64_t step)
{
	bool again = step < atomic_exchange(&group->next_step, step + 1);

	return atomic_fetch_add(&group->epoch, again) + again;
}

static void note_agreed(const char *name, enum hk_annotate_use use, const char *group,
			uintptr_t caller, const uint64_t *values)
{
	struct hk_call call = {0};

	if (prepare(&call, hk_annotate_names_site(name, use, caller, group, true))) {
		hk_call_note_instant(&call, values);
	}
}

EXPORTED void hk_agree(const char *group, uint64_t step, const struct hk_agreed *values,
		       size_t count)
{
	size_t single = count > HK_AGREEMENT_TENSORS ? HK_AGREEMENT_TENSORS - 1 : count;
	uint64_t rest = 0, hash = is_usable() && group ? hash_of(group) : 0;
	struct agreed_group *series = hash ? group_of(hash) : NULL;

	if (!series) {
		return;
	}
	/* No code lies at such an address: the name never belongs to a library that is unloaded. */
	uintptr_t caller = (uintptr_t)hash;
	for (size_t i = 0; i < single; i++) {
		note_agreed(values[i].name, HK_USE_DIGEST, group, caller,
			    (const uint64_t[]){step, values[i].digest});
	}
	for (size_t i = single; i < count; i++) {
		rest = (rest ^ values[i].digest) * 1099511628211ULL + i;
	}
	if (single < count) {
		note_agreed("(all others)", HK_USE_DIGEST, group, caller,
			    (const uint64_t[]){step, rest});
	}
	note_agreed("(end)", HK_USE_DIGESTS, group, caller,
		    (const uint64_t[]){step, single + (single < count), epoch_of(series, step)});
}

/* Returns the start of CALL on the monotonic clock. The clocks are read one after the other, again
 * if the thread was interrupted between them. */
static uint64_t start_of(const struct hk_call *call)
{
	uint64_t now = 0, ticks = 0, between_ns = UINT64_MAX;

	for (unsigned i = 0; i < CLOCK_TRIES && between_ns > CLOCK_NEAR_NS; i++) {
		uint64_t before = hk_process_ticks();
		now = hk_clock_monotonic_ns();
		ticks = hk_process_ticks();
		between_ns = hk_clock_ticks_to_ns(ticks - before, hk_process.tick_ns_q32);
	}
	return now - hk_clock_ticks_to_ns(ticks - call->start_ticks, hk_process.tick_ns_q32);
}

static void note_activity(const struct hk_activity *activity, enum hk_annotate_use use,
			  uintptr_t caller)
{
	struct hk_call call = {0};

	if (!is_usable() || !prepare(&call, site_of(activity->name, use, caller))) {
		return;
	}
	uint64_t now = hk_process.timeless ? 0 : start_of(&call);
	uint64_t end = activity->end_ns < now ? activity->end_ns : now;
	const uint64_t values[HK_ANNOTATE_ACTIVITY_VALUES] = {
	    (uint64_t)(int64_t)activity->device,
	    activity->stream,
	    activity->bytes,
	    activity->submitted_ns ? ago(now, activity->submitted_ns) : 0,
	    ago(now, activity->start_ns),
	    ago(end, activity->start_ns),
	    0,
	};
	hk_count_add(&call.cell->device_ns, values[5]);
	hk_call_note_instant(&call, values);
}

/* Adds NS to the device time of the calls at the sites that submitted WORK. */
static void count_submitters(const struct hk_device_work *work, uint64_t ns)
{
	for (uint32_t i = 0; i < work->site_count; i++) {
		struct hk_call call = {0};
		if (prepare(&call, hk_site_table_hot(work->sites[i]))) {
			hk_count_add(&call.cell->device_ns, ns);
		}
	}
}

void hk_annotate_work(const struct hk_device_work *work)
{
	struct hk_call call = {0};

	if (!is_usable() ||
	    !prepare(&call, hk_annotate_names_site(work->name,
						   HK_USE_KERNEL + (enum hk_annotate_use)work->kind,
						   work->library, NULL, true))) {
		return;
	}
	uint64_t now = call.start_ticks;
	uint64_t began_ns = ago_ticks(now, work->start_ticks);
	const uint64_t values[HK_ANNOTATE_ACTIVITY_VALUES] = {
	    (uint64_t)(int64_t)work->device,
	    work->stream,
	    work->bytes,
	    work->submitted_ticks ? ago_ticks(now, work->submitted_ticks) : 0,
	    began_ns,
	    work->duration_ns < began_ns ? work->duration_ns : began_ns,
	    work->thread,
	};
	hk_count_add(&call.cell->device_ns, values[5]);
	hk_call_note_instant(&call, values);
	count_submitters(work, values[5]);
}

EXPORTED void hk_activity(const struct hk_activity *activity)
{
	if (activity && activity->kind >= HK_ACTIVITY_KERNEL && activity->kind <= HK_ACTIVITY_SET) {
		note_activity(activity, HK_USE_KERNEL + (enum hk_annotate_use)activity->kind,
			      CALLER);
	}
}

/* ---- NCCL ---- */

void hk_annotate_nccl(const struct hk_activity *activity, uintptr_t caller)
{
	note_activity(activity, HK_USE_NCCL, caller);
}

void hk_annotate_count(const char *name, uintptr_t caller)
{
	note_instant(name, HK_USE_COUNT, caller, 0);
}

static char *put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length + 1);
	return at + length;
}

static char *put_number(char *at, uint64_t number, unsigned base, unsigned least)
{
	char digits[24];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number > 0 || count < least);
	while (count > 0) {
		*at++ = digits[--count];
	}
	*at = 0;
	return at;
}

void hk_annotate_transfer(const char *func, uint64_t comm, int32_t ranks, uint64_t ns,
			  uint64_t bytes)
{
	struct hk_call call = {0};
	char name[HK_ANNOTATE_NAME_BYTES], library[64];
	char *at = put_text(name, func);

	put_number(put_text(at, " 2^"), bytes > 1 ? 63 - (unsigned)__builtin_clzll(bytes) : 0, 10,
		   1);
	at = put_number(put_text(library, "comm "), comm, 16, 16);
	put_text(put_number(put_text(at, " of "), (uint64_t)(uint32_t)ranks, 10, 1), " ranks");
	/* No code lies at such an address: the name never belongs to a library that is unloaded. */
	uintptr_t caller = (uintptr_t)(comm | 1ULL << 63);
	if (is_usable() &&
	    prepare(&call, hk_annotate_names_site(name, HK_USE_TRANSFER, caller, library, false))) {
		hk_call_note_duration(&call, ns, bytes);
	}
}
