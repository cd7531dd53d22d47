#include "agent/device/reader.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/call/launches.h"
#include "agent/device/clock.h"
#include "agent/device/source.h"
#include "agent/memory/arena.h"
#include "agent/memory/mapping.h"
#include "agent/record/process.h"
#include "ring/kernel.h"

#define CALLS (1u << 15) /* remembered by their correlation numbers; the newest stay */
#define WAITING 8192u	 /* pieces of work whose call is not known yet */
#define PATIENT_TRIES 20000
#define PAUSE_NS 50000

/* A call that submitted work, by its record. */
struct call {
	uint64_t correlation; /* 0: none */
	uint64_t ticks;	      /* its middle */
	uint64_t reach;	      /* ticks from there to its end */
	uint64_t length;
	uint32_t thread;
};

struct waiting {
	struct hk_device_work work;
	uint64_t correlation;
	uint32_t turn; /* in which it came */
};

struct tables {
	struct call calls[CALLS];
	struct waiting waiting[WAITING];
};

static struct hk_device_opened library;
static struct hk_device_clock times;
static void (*hand_on)(const struct hk_device_work *work);
static struct tables *tables;
static uint32_t waiting_count, turn;
static atomic_bool *locked; /* on a page that a fork wipes */

/* ---- the lock ---- */

static bool lock(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (int tries = 0; tries < PATIENT_TRIES; tries++) {
		if (!atomic_exchange_explicit(locked, true, memory_order_acquire)) {
			return true;
		}
		hk_kernel(SYS_nanosleep, &pause, 0, 0, 0, 0, 0);
	}
	return false;
}

static void unlock(void)
{
	atomic_store_explicit(locked, false, memory_order_release);
}

bool hk_device_reader_begin(void (*feed)(const struct hk_device_work *work))
{
	hand_on = feed;
	locked = hk_mapping_private(sizeof(*locked));
	tables = hk_arena_take(sizeof(*tables));
	return locked && tables;
}

void hk_device_reader_use(const struct hk_device_opened *opened, uint64_t (*now)(void),
			  bool counts_ns)
{
	if (lock()) {
		library = *opened;
		hk_device_clock_begin(&times, now, counts_ns);
		unlock();
	}
}

/* ---- fields ---- */

static uint64_t u64_at(const uint8_t *record, uint16_t offset)
{
	uint64_t value = 0;
	if (offset) {
		memcpy(&value, record + offset, sizeof(value));
	}
	return value;
}

static uint32_t u32_at(const uint8_t *record, uint16_t offset)
{
	uint32_t value = 0;
	if (offset) {
		memcpy(&value, record + offset, sizeof(value));
	}
	return value;
}

static uint64_t correlation_of(const struct hk_device_record *layout, const uint8_t *record)
{
	return layout->correlation_bytes == 8 ? u64_at(record, layout->correlation)
					      : u32_at(record, layout->correlation);
}

/* ---- joining ---- */

/* Of a runtime's call and the driver's call within, which have one number, the shorter one says
 * more exactly when the work was submitted. */
static void note_call(const struct hk_device_record *layout, const uint8_t *record)
{
	uint64_t start = u64_at(record, layout->start), end = u64_at(record, layout->end);
	uint64_t correlation = correlation_of(layout, record);
	struct call *call = &tables->calls[correlation % CALLS];
	if (!correlation || !start || end < start ||
	    (call->correlation == correlation && call->length <= end - start)) {
		return;
	}
	uint64_t ticks = hk_device_clock_ticks(&times, start + (end - start) / 2);
	*call = (struct call){
	    .correlation = correlation,
	    .ticks = ticks,
	    .reach = hk_device_clock_ticks(&times, end) - ticks,
	    .length = end - start,
	    .thread = u32_at(record, layout->thread),
	};
}

/* Returns whether the call of WORK is known and has returned. */
static bool join(struct hk_device_work *work, uint64_t correlation)
{
	const struct call *call = &tables->calls[correlation % CALLS];
	struct hk_launch_found found;
	if (!correlation || call->correlation != correlation ||
	    !hk_launches_find(call->thread, call->ticks, call->reach, &found)) {
		return false;
	}
	work->submitted_ticks = call->ticks;
	work->thread = found.thread;
	/* A call that names none uses the default one. */
	work->stream = found.stream == HK_LAUNCH_NO_STREAM ? 0 : found.stream;
	work->site_count = found.count;
	memcpy(work->sites, found.sites, sizeof(work->sites));
	return true;
}

static void give(const struct hk_device_work *work)
{
	hk_device_source_add(&hk_device_source()->activities, 1);
	if (!work->site_count) {
		hk_device_source_add(&hk_device_source()->unlinked, 1);
	}
	hand_on(work);
}

/* Whether the call of WAITING has returned long ago, and was seen by no hook. */
static bool is_unseen(const struct waiting *waiting)
{
	const struct call *call = &tables->calls[waiting->correlation % CALLS];

	return turn - waiting->turn > 1 && waiting->correlation &&
	       call->correlation == waiting->correlation;
}

/* Hands on the work whose call is known by now or was not seen, and with ALL also the rest. */
static void give_waiting(bool all)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < waiting_count; i++) {
		struct waiting *waiting = &tables->waiting[i];
		if (join(&waiting->work, waiting->correlation) || all || is_unseen(waiting)) {
			give(&waiting->work);
		} else {
			tables->waiting[kept++] = *waiting;
		}
	}
	waiting_count = kept;
}

/* Without room for more, the older half is handed on unjoined. */
static void wait_for_call(const struct hk_device_work *work, uint64_t correlation)
{
	if (waiting_count == WAITING) {
		for (uint32_t i = 0; i < WAITING / 2; i++) {
			give(&tables->waiting[i].work);
		}
		waiting_count = WAITING / 2;
		memmove(&tables->waiting[0], &tables->waiting[waiting_count],
			waiting_count * sizeof(tables->waiting[0]));
	}
	tables->waiting[waiting_count++] =
	    (struct waiting){.work = *work, .correlation = correlation, .turn = turn};
}

/* ---- records ---- */

static const char *name_of(const struct hk_device_record *layout, const uint8_t *record)
{
	const char *name = (const char *)(uintptr_t)u64_at(record, layout->name);
	switch (layout->class) {
	case HK_DEVICE_CLASS_COPY:
		return hk_device_copy_name(layout->direction ? record[layout->direction] : 0);
	case HK_DEVICE_CLASS_SET:
		return "Memset";
	default:
		return name ? name : "(kernel without a name)";
	}
}

static void read_work(const struct hk_device_record *layout, const uint8_t *record)
{
	uint64_t start = u64_at(record, layout->start), end = u64_at(record, layout->end);
	if (!start || end < start) { /* a forced flush gives unfinished ones too */
		hk_device_source_add(&hk_device_source()->skipped, 1);
		return;
	}
	struct hk_device_work work = {
	    .name = name_of(layout, record),
	    .kind = layout->class == HK_DEVICE_CLASS_COPY  ? HK_DEVICE_WORK_COPY
		    : layout->class == HK_DEVICE_CLASS_SET ? HK_DEVICE_WORK_SET
							   : HK_DEVICE_WORK_KERNEL,
	    .library = (uintptr_t)library.functions[HK_DEVICE_NEXT],
	    .device = (int32_t)u32_at(record, layout->device),
	    .stream = u32_at(record, layout->stream),
	    .bytes = u64_at(record, layout->bytes),
	    .start_ticks = hk_device_clock_ticks(&times, start),
	    .duration_ns = hk_device_clock_ns(&times, end - start),
	};
	uint64_t correlation = correlation_of(layout, record);
	if (join(&work, correlation)) {
		give(&work);
	} else {
		wait_for_call(&work, correlation);
	}
}

/* Reads the records of BUFFER: calls, or else work. */
static void read_records(uint8_t *buffer, size_t valid, bool calls)
{
	int (*next)(uint8_t *, size_t, uint8_t **) =
	    (int (*)(uint8_t *, size_t, uint8_t **))library.functions[HK_DEVICE_NEXT];
	uint8_t *record = NULL;
	while (next(buffer, valid, &record) == 0 && record >= buffer &&
	       record + sizeof(uint32_t) <= buffer + valid) {
		uint32_t kind;
		memcpy(&kind, record, sizeof(kind));
		const struct hk_device_record *layout = hk_device_layout_find(library.layout, kind);
		if (!layout || record + layout->least > buffer + valid) {
			continue;
		}
		if (calls && layout->class == HK_DEVICE_CLASS_API) {
			note_call(layout, record);
		} else if (!calls && layout->class != HK_DEVICE_CLASS_API) {
			read_work(layout, record);
		}
	}
}

bool hk_device_reader_read(uint8_t *buffer, size_t valid)
{
	if (!buffer || !valid) {
		return true;
	}
	if (!lock()) {
		hk_device_source_add(&hk_device_source()->skipped, 1);
		return false;
	}
	if (library.library) {
		hk_device_clock_pair(&times);
		read_records(buffer, valid, true);
		give_waiting(false);
		read_records(buffer, valid, false);
	}
	unlock();
	return true;
}

void hk_device_reader_turn(bool all)
{
	/* A handler's call of the device would wait here for the thread that it interrupted. */
	uint64_t signals = hk_process_block_signals();
	if (lock()) {
		turn++;
		give_waiting(all);
		unlock();
	}
	hk_process_restore_signals(signals);
}
