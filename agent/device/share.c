#include "agent/device/share.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "agent/call/launches.h"
#include "agent/device/buffers.h"
#include "agent/device/calls.h"
#include "agent/device/reader.h"
#include "agent/device/source.h"
#include "agent/memory/mapping.h"
#include "base/clock.h"

#define KINDS 64u
#define FORCED 1u /* flag of a flush */

/* What another tool does with a library. */
struct other {
	hk_device_requested *_Atomic requested;
	void *_Atomic completed; /* NULL: it has registered none */
	_Atomic uint64_t kinds;	 /* enabled, a bit each */
	_Atomic bool left;	 /* it flushed after its last kind was disabled */
};

static struct other others[HK_DEVICE_LIBRARIES];
static atomic_bool subscribed; /* CUPTI has a subscriber, which may be about to ask for records */
static atomic_bool unreadable; /* a subscriber has callbacks of its own, which cannot be shared */
static enum hk_device_which which_opened;
static struct hk_device_opened library;
/* On a page that a fork wipes: a child has no use of the library. */
static struct mine {
	atomic_bool began; /* the library is opened */
	atomic_bool owns;  /* the agent's kinds are enabled */
	atomic_bool busy;  /* a thread is beginning again */
} * mine;
static uint64_t (*_Atomic stamp)(void); /* the other tool's clock */

static bool has_begun(void)
{
	return mine && atomic_load(&mine->began);
}

/* Returns whether the agent's own kinds are enabled. */
static bool owns_kinds(void)
{
	return mine && atomic_load(&mine->owns);
}

/* ---- the library's functions ---- */

#define CALL(function, type) ((type)library.functions[function])

static int set_kind(enum hk_device_function function, uint32_t kind)
{
	return CALL(function, int (*)(uint32_t))(kind);
}

/* Foreign code runs on this thread: hooked calls pass through. Returns what to put back. */
static uint32_t enter(uint64_t *ret_signals)
{
	uint32_t inside = hk_in_agent;
	*ret_signals = hk_process_block_signals();
	hk_in_agent = 2;
	return inside;
}

static void leave(uint32_t inside, uint64_t signals)
{
	hk_in_agent = inside;
	hk_process_restore_signals(signals);
}

/* ---- clocks ---- */

static uint64_t own_clock(void)
{
	uint64_t now = 0;
	/* Calls that the library makes within are not the program's. */
	uint32_t inside = hk_in_agent;
	hk_in_agent = 2;
	CALL(HK_DEVICE_TIMESTAMP, int (*)(uint64_t *))(&now);
	hk_in_agent = inside;
	return now;
}

static uint64_t real_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void use_clock(void)
{
	uint64_t (*theirs)(void) = atomic_load(&stamp);
	uint64_t (*own)(void) = library.functions[HK_DEVICE_TIMESTAMP] ? own_clock : real_time;
	hk_device_reader_use(&library, theirs ? theirs : own, !theirs);
}

/* ---- callbacks ---- */

static bool is_other_active(const struct other *other)
{
	return atomic_load(&other->completed) && (atomic_load(&other->kinds) || !owns_kinds());
}

static void request(enum hk_device_which which, uint8_t **buffer, size_t *size, size_t *most)
{
	hk_device_requested *theirs = atomic_load(&others[which].requested);
	if (theirs && is_other_active(&others[which])) {
		theirs(buffer, size, most);
		return;
	}
	*buffer = hk_device_buffer_take();
	*size = *buffer ? HK_DEVICE_BUFFER_BYTES : 0;
	*most = 0;
}

static void read(uint8_t *buffer, size_t valid)
{
	uint64_t signals;
	uint32_t inside = enter(&signals);
	if (inside != 1) { /* else a signal handler interrupted the agent */
		hk_in_agent = 0;
		hk_device_reader_read(buffer, valid);
	}
	leave(inside, signals);
}

static void count_dropped(void *context, uint32_t stream)
{
	size_t dropped = 0;
	int (*ask)(void *, uint32_t, size_t *) =
	    CALL(HK_DEVICE_DROPPED, int (*)(void *, uint32_t, size_t *));
	if (ask && ask(context, stream, &dropped) == 0) {
		hk_device_source_add(&hk_device_source()->dropped, dropped);
	}
}

/* Returns whether the buffer is the agent's own, and done with. */
static bool complete(void *context, uint32_t stream, uint8_t *buffer, size_t valid)
{
	if (has_begun()) {
		read(buffer, valid);
	}
	if (!hk_device_buffer_give(buffer)) {
		return false;
	}
	count_dropped(context, stream);
	return true;
}

static void cupti_requested(uint8_t **buffer, size_t *size, size_t *most)
{
	request(HK_DEVICE_CUPTI, buffer, size, most);
}

static void cupti_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid)
{
	hk_device_completed *theirs =
	    (hk_device_completed *)atomic_load(&others[HK_DEVICE_CUPTI].completed);
	if (!complete(context, stream, buffer, valid) && theirs) {
		theirs(context, stream, buffer, size, valid);
	}
}

static void mspti_requested(uint8_t **buffer, size_t *size, size_t *most)
{
	request(HK_DEVICE_MSPTI, buffer, size, most);
}

static void mspti_completed(uint8_t *buffer, size_t size, size_t valid)
{
	hk_device_completed_plain *theirs =
	    (hk_device_completed_plain *)atomic_load(&others[HK_DEVICE_MSPTI].completed);
	if (!complete(NULL, 0, buffer, valid) && theirs) {
		theirs(buffer, size, valid);
	}
}

static hk_device_requested *const requesters[] = {cupti_requested, mspti_requested};
static void *const completers[] = {(void *)cupti_completed, (void *)mspti_completed};

/* ---- the agent's own use ---- */

/* Enables the records of calls: of chosen ones, or of all where they cannot be chosen. */
static int enable_calls(void)
{
	int (*runtime)(uint32_t, uint8_t) =
	    CALL(HK_DEVICE_RUNTIME_CALL, int (*)(uint32_t, uint8_t));
	int (*driver)(uint32_t, uint8_t) = CALL(HK_DEVICE_DRIVER_CALL, int (*)(uint32_t, uint8_t));
	if (runtime && driver) {
		hk_device_choose_runtime(runtime);
		hk_device_choose_driver(driver);
		return 0;
	}
	int status = 0;
	for (uint32_t i = 0; i < library.layout->count && !status; i++) {
		if (library.layout->records[i].class == HK_DEVICE_CLASS_API) {
			status = set_kind(HK_DEVICE_ENABLE, library.layout->records[i].kind);
		}
	}
	return status;
}

/* CUPTI_ACTIVITY_KIND_KERNEL makes kernels run one by one: it is only read, never enabled. */
static bool is_enabled(const struct hk_device_record *record)
{
	bool serial = library.library == &hk_device_cupti && record->kind == 3;
	return record->class != HK_DEVICE_CLASS_API && !serial;
}

/* Calls first, so that no work comes without its call. */
static int enable_own(void)
{
	int status = enable_calls();
	for (uint32_t i = 0; i < library.layout->count && !status; i++) {
		if (is_enabled(&library.layout->records[i])) {
			status = set_kind(HK_DEVICE_ENABLE, library.layout->records[i].kind);
		}
	}
	return status;
}

static void disable(const struct hk_device_layout *layout, bool calls)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		bool is_call = layout->records[i].class == HK_DEVICE_CLASS_API;
		if (calls ? is_call : is_enabled(&layout->records[i])) {
			set_kind(HK_DEVICE_DISABLE, layout->records[i].kind);
		}
	}
}

static void disable_own(void)
{
	disable(library.layout, false);
	disable(library.layout, true);
}

static int take(void)
{
	int (*set)(hk_device_requested *, void *) =
	    CALL(HK_DEVICE_REGISTER, int (*)(hk_device_requested *, void *));
	int status = set(requesters[which_opened], completers[which_opened]);
	atomic_store(&mine->owns, true);
	status = status ? status : enable_own();
	if (status) {
		disable_own();
		atomic_store(&mine->owns, false);
	}
	hk_device_source_set(status ? HK_DEVICE_FAILED : HK_DEVICE_ON);
	return status;
}

static bool is_used(void)
{
	const struct other *other = &others[which_opened];
	return subscribed || unreadable ||
	       (atomic_load(&other->completed) && !atomic_load(&other->left));
}

static void say_shared(void)
{
	hk_device_source_set(subscribed || unreadable ||
				     !atomic_load(&others[which_opened].completed)
				 ? HK_DEVICE_YIELDED
				 : HK_DEVICE_SHARED);
}

int hk_device_share_begin(enum hk_device_which which, const struct hk_device_opened *opened)
{
	uint64_t signals;
	int status = 0;
	mine = hk_mapping_private(sizeof(*mine));
	if (!mine) {
		return -ENOMEM;
	}
	which_opened = which;
	library = *opened;
	use_clock();
	atomic_store(&mine->began, true);
	if (is_used()) {
		say_shared();
		return 0;
	}
	uint32_t inside = enter(&signals);
	status = take();
	leave(inside, signals);
	return status;
}

void hk_device_share_flush(bool forced)
{
	uint64_t signals;
	uint32_t inside = enter(&signals);
	if (owns_kinds()) {
		CALL(HK_DEVICE_FLUSH, int (*)(uint32_t))(forced ? FORCED : 0);
		count_dropped(NULL, 0);
	}
	leave(inside, signals);
}

void hk_device_share_resume(void)
{
	uint64_t signals;
	if (!has_begun() || owns_kinds() || is_used() || atomic_exchange(&mine->busy, true)) {
		return;
	}
	uint32_t inside = enter(&signals);
	use_clock();
	take();
	leave(inside, signals);
	atomic_store(&mine->busy, false);
}

/* Leaves WHICH to the other tool, after the agent's own records came. */
static void yield_to_other(enum hk_device_which which)
{
	uint64_t signals;
	bool own = true;
	if (which != which_opened || !has_begun()) {
		return;
	}
	uint32_t inside = enter(&signals);
	if (atomic_compare_exchange_strong(&mine->owns, &own, false)) {
		disable_own();
		CALL(HK_DEVICE_FLUSH, int (*)(uint32_t))(FORCED);
		hk_in_agent = 0;
		hk_device_reader_turn(true);
		atomic_fetch_add(&hk_device_source()->yields, 1);
	}
	leave(inside, signals);
}

/* ---- the other tool ---- */

/* The next outermost call of the device's API has the agent begin again. Here the other tool may
 * hold its own locks, or be inside of a callback of the library. */
static void begin_again_soon(void)
{
	if (has_begun()) {
		atomic_store(&hk_launches_due, 0);
	}
}

void hk_device_share_register(enum hk_device_which which, hk_device_requested **requested,
			      void **completed)
{
	struct other *other = &others[which];
	if (!*requested || !*completed) {
		return; /* the library will refuse it */
	}
	yield_to_other(which);
	atomic_store(&other->left, false);
	atomic_store(&other->requested, *requested);
	atomic_store(&other->completed, *completed);
	*requested = requesters[which];
	*completed = completers[which];
	if (has_begun() && which == which_opened) {
		say_shared();
	}
}

void hk_device_share_enable(enum hk_device_which which, uint32_t kind)
{
	yield_to_other(which);
	atomic_store(&others[which].left, false);
	atomic_fetch_or(&others[which].kinds, 1ULL << kind % KINDS);
	if (has_begun() && which == which_opened) {
		say_shared();
	}
}

void hk_device_share_disable(enum hk_device_which which, uint32_t kind)
{
	atomic_fetch_and(&others[which].kinds, ~(1ULL << kind % KINDS));
}

/* A subscriber that flushed needs no more records, though it may stay one: Kineto of torch 2.11
 * never unsubscribes. Callbacks of API calls, which it may still get, do not depend on records. */
void hk_device_share_flushed(enum hk_device_which which)
{
	if (!atomic_load(&others[which].kinds)) {
		atomic_store(&others[which].left, true);
		if (which == HK_DEVICE_CUPTI) {
			atomic_store(&subscribed, false);
		}
		begin_again_soon();
	}
}

void hk_device_share_clock(uint64_t (*now)(void))
{
	atomic_store(&stamp, now);
	if (has_begun() && which_opened == HK_DEVICE_CUPTI) {
		yield_to_other(HK_DEVICE_CUPTI);
		use_clock();
	}
}

void hk_device_share_subscribe(bool on)
{
	if (on) {
		yield_to_other(HK_DEVICE_CUPTI);
	}
	atomic_store(&subscribed, on);
	if (!on) {
		atomic_store(&unreadable, false);
		begin_again_soon();
	}
	if (on && has_begun() && which_opened == HK_DEVICE_CUPTI) {
		say_shared();
	}
}

void hk_device_share_apart(void)
{
	atomic_store(&unreadable, true);
	hk_device_share_subscribe(true);
}

void hk_device_share_finalize(void)
{
	struct other *other = &others[HK_DEVICE_CUPTI];
	yield_to_other(HK_DEVICE_CUPTI);
	atomic_store(&other->completed, NULL);
	atomic_store(&other->requested, NULL);
	atomic_store(&other->kinds, 0);
	atomic_store(&other->left, false);
	atomic_store(&stamp, NULL);
	atomic_store(&subscribed, false);
	atomic_store(&unreadable, false);
	hk_device_buffers_reset();
	begin_again_soon();
}
