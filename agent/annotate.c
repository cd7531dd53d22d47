#define HOOKTRACE_AGENT
#include "agent/annotate.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/call/count.h"
#include "agent/call/enter.h"
#include "agent/call/measure.h"
#include "agent/device/work.h"
#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/frame/site.h"
#include "agent/frame/spare.h"
#include "agent/hooktrace.h"
#include "agent/memory/arena.h"
#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "base/clock.h"

#define NAME_BYTES 128u	     /* of what programs name, with the NUL */
#define ACTIVITY_BYTES 1024u /* of what a device's library names */
#define NAMES_MAX 4096u
#define SLOTS (2u * NAMES_MAX)
#define ACTIVITY_VALUES 7u
#define CLOCK_TRIES 4u
#define CLOCK_NEAR_NS 500u
#define EXPORTED __attribute__((visibility("default")))

/* Uses of a name. One name may be a range and a counter. */
enum use {
	USE_RANGE,
	USE_MARK,
	USE_STEP,
	USE_COUNTER,
	USE_KERNEL,
	USE_COPY,
	USE_SET,
	USE_NCCL,
	USE_TRANSFER,
	USE_COUNT,
};

#define ACTIVITY(what, where)                                                                 \
	{                                                                                     \
		.library = "*", .symbol = "*", .domain = (where), .flags = HK_HOOK_DESCRIBED, \
		.meaning = (what), .value_count = ACTIVITY_VALUES,                            \
		.values = {{.key = HK_KEY_DEVICE}, {.key = HK_KEY_STREAM},                    \
			   {.key = HK_KEY_BYTES},  {.key = HK_KEY_SUBMITTED},                 \
			   {.key = HK_KEY_BEGAN},  {.key = HK_KEY_DURATION},                  \
			   {.key = HK_KEY_THREAD}},                                           \
	}

/* Hooks of annotations, as a line of the hooks language would describe them. */
static const struct hk_hook hooks[] = {
    [USE_RANGE] = {.library = "*",
		   .symbol = "*",
		   .domain = "user",
		   .flags = HK_HOOK_DESCRIBED,
		   .meaning = HK_MEANING_RANGE},
    [USE_MARK] = {.library = "*",
		  .symbol = "*",
		  .domain = "user",
		  .flags = HK_HOOK_DESCRIBED,
		  .meaning = HK_MEANING_MARK},
    [USE_STEP] = {.library = "*",
		  .symbol = "*",
		  .domain = "user",
		  .flags = HK_HOOK_DESCRIBED,
		  .meaning = HK_MEANING_MARK,
		  .value_count = 1,
		  .values = {{.key = HK_KEY_STEP}}},
    [USE_COUNTER] = {.library = "*",
		     .symbol = "*",
		     .domain = "user",
		     .flags = HK_HOOK_DESCRIBED,
		     .meaning = HK_MEANING_COUNTER,
		     .value_count = 1,
		     .values = {{.key = HK_KEY_VALUE}}},
    [USE_KERNEL] = ACTIVITY(HK_MEANING_DEVICE_KERNEL, "device"),
    [USE_COPY] = ACTIVITY(HK_MEANING_DEVICE_COPY, "device"),
    [USE_SET] = ACTIVITY(HK_MEANING_DEVICE_SET, "device"),
    [USE_NCCL] = ACTIVITY(HK_MEANING_DEVICE_KERNEL, "nccl.event"),
    [USE_TRANSFER] = {.library = "*",
		      .symbol = "*",
		      .domain = "nccl.transfer",
		      .flags = HK_HOOK_DESCRIBED,
		      .value_count = 1,
		      .values = {{.key = HK_KEY_BYTES}}},
    [USE_COUNT] = {.library = "*",
		   .symbol = "*",
		   .domain = "nccl.event",
		   .flags = HK_HOOK_DESCRIBED,
		   .meaning = HK_MEANING_MARK},
};

#define SITE_UNKNOWN (~0u) /* looked up at the next use of the name */

/* A name and the object that uses it. Names are never freed. */
struct name {
	uintptr_t caller;
	_Atomic uint32_t site; /* HK_THUNKS: there is none */
	uint8_t use;	       /* enum use */
	char text[];
};

static struct name *_Atomic names[SLOTS];
static _Atomic uint32_t name_count;
static uint8_t names_level;

void hk_annotate_start(uint8_t level)
{
	names_level = level;
}

/* ---- names to sites ---- */

/* Copies NAME as far as it fits into BYTES. Returns the hash of the whole name. A name that is cut
 * ends in its hash, so that no two of them look alike, if BYTES are more than NAME_BYTES. */
static uint32_t copy_name(const char *name, char *text, uint32_t bytes)
{
	uint64_t hash = 14695981039346656037ULL;
	uint32_t length = 0, kept = 0;
	bool whole = bytes > NAME_BYTES;

	for (; name && name[length] && (whole || length + 1 < bytes); length++) {
		hash = (hash ^ (uint8_t)name[length]) * 1099511628211ULL;
		if (kept + 1 < bytes) {
			text[kept++] = name[length];
		}
	}
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);
	text[kept] = 0;
	for (uint32_t i = 0; i < 8 && kept < length; i++) {
		text[kept - 1 - i] = "0123456789abcdef"[folded >> 4 * i & 15];
	}
	if (kept < length) {
		text[kept - 9] = '~';
	}
	return folded;
}

struct search {
	uintptr_t address;
	char path[1024];
};

static int is_holder(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD &&
		    search->address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
			size_t length = strlen(info->dlpi_name);
			length = length < sizeof(search->path) ? length : sizeof(search->path) - 1;
			memcpy(search->path, info->dlpi_name, length);
			search->path[length] = 0;
			return 1;
		}
	}
	return 0;
}

/* Returns the site of the new name TEXT used at CALLER, or HK_THUNKS if there is none. LIBRARY, if
 * not NULL, stands for the object there. */
static uint32_t bind(const char *text, enum use use, uintptr_t caller, const char *library)
{
	struct search search = {.address = caller};
	uint32_t refusal;

	if (!library) {
		hk_loader_iterate(is_holder, &search);
		library = search.path[0] ? search.path : hk_process.writer.header->program;
	}
	const struct hk_site_request request = {
	    .hook = &hooks[use],
	    .function = text,
	    .library = library,
	    .provider = "",
	    .level = names_level,
	};
	uint32_t site = hk_site_index(hk_site_bind(&request, &refusal));
	return site < HK_SPARE_FIRST ? site : HK_THUNKS;
}

/* Returns the name in the table, or NULL and the free slot for it. */
static struct name *look_up(const char *text, uint32_t hash, enum use use, uintptr_t caller,
			    uint32_t *ret_slot)
{
	uint32_t at = (hash ^ (uint32_t)caller * 0x9e3779b1u ^ use) % SLOTS;

	for (;; at = (at + 1) % SLOTS) { /* the table is never more than half full */
		struct name *found = atomic_load_explicit(&names[at], memory_order_acquire);
		if (!found || (found->caller == caller && found->use == use &&
			       strcmp(found->text, text) == 0)) {
			*ret_slot = at;
			return found;
		}
	}
}

/* Two threads may make the same name at once. Both get the same site, and one name is kept. */
static struct name *make_name(const char *text, uint32_t hash, enum use use, uintptr_t caller,
			      const char *library)
{
	size_t bytes = strlen(text) + 1;
	struct name *made = hk_arena_take(sizeof(*made) + bytes), *none;
	struct name *found;
	uint32_t slot;

	if (!made) {
		return NULL;
	}
	made->caller = caller;
	made->use = (uint8_t)use;
	memcpy(made->text, text, bytes);
	made->site = bind(text, use, caller, library);
	do {
		found = look_up(text, hash, use, caller, &slot);
		none = NULL;
	} while (!found && !atomic_compare_exchange_strong_explicit(&names[slot], &none, made,
								    memory_order_release,
								    memory_order_relaxed));
	return found ? found : made;
}

/* Returns the site of NAME used at CALLER, or NULL if it has none. LIBRARY: as for bind. WHOLE: the
 * name may be long. */
static struct hk_site_hot *site_in(const char *name, enum use use, uintptr_t caller,
				   const char *library, bool whole)
{
	char text[ACTIVITY_BYTES];
	uint32_t slot, bytes = whole ? ACTIVITY_BYTES : NAME_BYTES;
	uint32_t hash = copy_name(name, text, bytes);
	struct name *found = look_up(text, hash, use, caller, &slot);

	if (!found && atomic_load_explicit(&name_count, memory_order_relaxed) >= NAMES_MAX) {
		hash = copy_name("(more names)", text, NAME_BYTES);
		caller = 0;
		found = look_up(text, hash, use, caller, &slot);
	}
	if (!found && !hk_process.sealed) { /* a sandbox has no memory for more */
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
		found = make_name(text, hash, use, caller, library);
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
	}
	if (found && found->site == SITE_UNKNOWN && !hk_process.sealed) {
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		found->site = bind(text, use, caller, library);
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
	}
	uint32_t site = found ? found->site : SITE_UNKNOWN;
	return site < HK_THUNKS ? &hk_hot[site] : NULL;
}

static struct hk_site_hot *site_of(const char *name, enum use use, uintptr_t caller)
{
	return site_in(name, use, caller, NULL, false);
}

void hk_annotate_forget(struct hk_span span)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct name *name = atomic_load_explicit(&names[i], memory_order_acquire);
		if (name && hk_span_holds(span, name->caller)) {
			name->site = SITE_UNKNOWN;
		}
	}
}

/* ---- what is left of them ---- */

/* Prepares the thread, the cell and CALL to count at SITE. Returns false if that fails; the call
 * then goes uncounted. */
static bool prepare(struct hk_call *call, struct hk_site_hot *site)
{
	struct hk_thread *thread = hk_thread_current;

	if (!site) {
		return false;
	}
	if ((!thread->ready || !thread->cells[site->index] ||
	     atomic_load_explicit(thread->generation, memory_order_relaxed) !=
		 thread->generation_seen) &&
	    !hk_call_prepare(call, site)) {
		return false;
	}
	if (__atomic_load_n(&site->control, __ATOMIC_RELAXED) == HK_CONTROL_PASS) {
		return false;
	}
	call->thread = hk_thread_current;
	call->cell = call->thread->cells[site->index];
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

static void note_instant(const char *name, enum use use, uintptr_t caller, uint64_t value)
{
	struct hk_call call = {0};

	if (is_usable() && prepare(&call, site_of(name, use, caller))) {
		hk_call_note_instant(&call, &value);
	}
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

int hk_annotate_push(const char *text, uint32_t group, uintptr_t caller)
{
	struct hk_call call = {0};
	int around = 0;

	if (!is_usable()) {
		return -1;
	}
	bool ready = prepare(&call, site_of(text, USE_RANGE, caller));
	struct hk_thread *thread = hk_thread_current;
	if (!thread->ready) {
		return -1;
	}
	for (uint32_t i = 0; i < thread->range_depth && i < HK_RANGES; i++) {
		around += thread->ranges[i].group == group;
	}
	if (thread->range_depth < HK_RANGES) {
		struct hk_range *range = &thread->ranges[thread->range_depth++];
		atomic_signal_fence(memory_order_seq_cst); /* ranges of handlers lie above */
		range->group = group;
		range->site = ready ? call.site->index : HK_THUNKS;
		if (ready) {
			hk_call_begin_range(&call, range);
		}
	} else {
		hk_process_untracked();
		thread->range_depth++;
	}
	return around;
}

/* Ends the range of THREAD at AT. One below others gives nothing back to them. */
static void end_range(struct hk_thread *thread, uint32_t at)
{
	struct hk_range *range = &thread->ranges[at];
	if (at + 1 == thread->range_depth) {
		if (range->site < HK_THUNKS) {
			hk_call_end_range(thread, range);
		}
		atomic_signal_fence(memory_order_seq_cst); /* until here they lie above */
		thread->range_depth = at;
		return;
	}
	if (range->site < HK_THUNKS) {
		uint64_t child_ns = thread->child_ns, domains = thread->domains;
		thread->child_ns = 0;
		hk_call_end_range(thread, range);
		thread->child_ns = child_ns;
		thread->domains = domains;
	}
	range->site = HK_THUNKS;
	range->group = HK_RANGE_ENDED;
}

int hk_annotate_pop(uint32_t group)
{
	struct hk_thread *thread = hk_thread_current;
	int around = -1;

	if (!is_usable() || !thread->ready || !thread->range_depth) {
		return -1;
	}
	if (thread->range_depth > HK_RANGES) { /* it was not kept */
		return (int)--thread->range_depth;
	}
	uint32_t at = thread->range_depth;
	while (at > 0 && thread->ranges[at - 1].group != group) {
		at--;
	}
	for (uint32_t i = 0; i < at; i++) {
		around += thread->ranges[i].group == group;
	}
	if (at > 0) {
		end_range(thread, at - 1);
	}
	/* Those that ended before are on top now. */
	while (thread->range_depth &&
	       thread->ranges[thread->range_depth - 1].group == HK_RANGE_ENDED) {
		thread->range_depth--;
	}
	return around;
}

EXPORTED void hk_range_push(const char *name)
{
	hk_annotate_push(name, 0, CALLER);
}

EXPORTED void hk_range_pop(void)
{
	hk_annotate_pop(0);
}

/* ---- ranges of the process ---- */

#define PROCESS_RANGES 1024u

/* A range that began, and may end on any thread. Its number has its place in the low bits. */
static struct process_range {
	_Atomic uint64_t number; /* 0: free, 1: being written */
	uint32_t site;
	uint64_t start_ticks, tag;
} process_ranges[PROCESS_RANGES];
static _Atomic uint64_t process_range_count;

uint64_t hk_annotate_start_range(const char *text, uintptr_t caller, uint64_t tag)
{
	struct hk_call call = {0};
	bool ready = is_usable() && prepare(&call, site_of(text, USE_RANGE, caller));
	for (uint32_t tries = 0; tries < PROCESS_RANGES; tries++) {
		uint64_t number = atomic_fetch_add(&process_range_count, 1) + PROCESS_RANGES;
		struct process_range *range = &process_ranges[number % PROCESS_RANGES];
		uint64_t none = 0;
		if (!atomic_compare_exchange_strong(&range->number, &none, 1)) {
			continue;
		}
		range->site = ready ? call.site->index : HK_THUNKS;
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

bool hk_annotate_end_range(uint64_t number, uint64_t *ret_tag)
{
	struct process_range *range = &process_ranges[number % PROCESS_RANGES];
	struct hk_call call = {0};
	if (number < PROCESS_RANGES ||
	    !atomic_compare_exchange_strong(&range->number, &number, 1)) {
		return false;
	}
	*ret_tag = range->tag;
	if (range->site < HK_THUNKS && is_usable() && prepare(&call, &hk_hot[range->site])) {
		const struct hk_range of_thread = {.site = range->site,
						   .start_ticks = range->start_ticks,
						   .child_ns = 0,
						   .domains = call.thread->domains};
		uint64_t child_ns = call.thread->child_ns, domains = call.thread->domains;
		call.thread->child_ns = 0; /* what it called is not known */
		hk_call_end_range(call.thread, &of_thread);
		call.thread->child_ns = child_ns;
		call.thread->domains = domains;
	}
	atomic_store(&range->number, 0);
	return true;
}

void hk_annotate_mark(const char *text, uintptr_t caller)
{
	note_instant(text, USE_MARK, caller, 0);
}

EXPORTED void hk_mark(const char *name)
{
	note_instant(name, USE_MARK, CALLER, 0);
}

EXPORTED void hk_step(uint64_t step)
{
	note_instant("step", USE_STEP, CALLER, step);
	if (is_usable() && !hk_process_forked()) {
		atomic_store_explicit(&hk_process.writer.header->step, step + 1,
				      memory_order_relaxed);
	}
}

EXPORTED void hk_counter(const char *name, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	note_instant(name, USE_COUNTER, CALLER, bits);
}

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

static void note_activity(const struct hk_activity *activity, enum use use, uintptr_t caller)
{
	struct hk_call call = {0};

	if (!is_usable() || !prepare(&call, site_of(activity->name, use, caller))) {
		return;
	}
	uint64_t now = hk_process.timeless ? 0 : start_of(&call);
	uint64_t end = activity->end_ns < now ? activity->end_ns : now;
	const uint64_t values[ACTIVITY_VALUES] = {
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
		if (prepare(&call, &hk_hot[work->sites[i]])) {
			hk_count_add(&call.cell->device_ns, ns);
		}
	}
}

void hk_annotate_work(const struct hk_device_work *work)
{
	struct hk_call call = {0};

	if (!is_usable() || !prepare(&call, site_in(work->name, USE_KERNEL + (enum use)work->kind,
						    work->library, NULL, true))) {
		return;
	}
	uint64_t now = call.start_ticks;
	uint64_t began_ns = ago_ticks(now, work->start_ticks);
	const uint64_t values[ACTIVITY_VALUES] = {
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
		note_activity(activity, USE_KERNEL + (enum use)activity->kind, CALLER);
	}
}

/* ---- NCCL ---- */

void hk_annotate_nccl(const struct hk_activity *activity, uintptr_t caller)
{
	note_activity(activity, USE_NCCL, caller);
}

void hk_annotate_count(const char *name, uintptr_t caller)
{
	note_instant(name, USE_COUNT, caller, 0);
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
	char name[NAME_BYTES], library[64];
	char *at = put_text(name, func);

	put_number(put_text(at, " 2^"), bytes > 1 ? 63 - (unsigned)__builtin_clzll(bytes) : 0, 10,
		   1);
	at = put_number(put_text(library, "comm "), comm, 16, 16);
	put_text(put_number(put_text(at, " of "), (uint64_t)(uint32_t)ranks, 10, 1), " ranks");
	/* No code lies at such an address: the name never belongs to a library that is unloaded. */
	uintptr_t caller = (uintptr_t)(comm | 1ULL << 63);
	if (is_usable() && prepare(&call, site_in(name, USE_TRANSFER, caller, library, false))) {
		hk_call_note_duration(&call, ns, bytes);
	}
}
