#include "agent/device/device.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/call/launches.h"
#include "agent/device/reader.h"
#include "agent/device/share.h"
#include "agent/device/source.h"
#include "agent/frame/plan.h"
#include "agent/frame/site.h"
#include "agent/memory/mapping.h"
#include "base/identity.h"
#include "ring/kernel.h"

#define FLUSH_NS 500000000u
#define PAUSE_NS 200000 /* of a wait for another thread, at most half a second in all */
#define PAUSES 2500

extern int on_exit(void (*function)(int code, void *data), void *data) __attribute__((weak));

enum stage { UNTRIED, TRYING, SETTLED };

static char *const *environment;
static struct own {
	_Atomic uint32_t stage; /* enum stage */
	atomic_bool began;	/* the library is opened */
} * own;			/* on a page that a fork wipes */
static bool tried;		/* here, or before a fork */
static void (*feed)(const struct hk_device_work *work);

/* ---- results ---- */

/* CUptiResult; msptiResult has other numbers, which only say that it failed. */
static enum hk_device_state state_of(int status)
{
	switch (status) {
	case 0:
		return HK_DEVICE_ON;
	case 12: /* CUPTI_ERROR_MAX_LIMIT_REACHED: before CUDA 11 */
	case 39: /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
		return HK_DEVICE_TAKEN;
	case 15: /* CUPTI_ERROR_NOT_INITIALIZED */
		return HK_DEVICE_OLD_DRIVER;
	case 35: /* CUPTI_ERROR_INSUFFICIENT_PRIVILEGES */
	case 40: /* the same for virtual devices */
		return HK_DEVICE_NO_RIGHT;
	case 999: /* CUPTI_ERROR_UNKNOWN: what it answers without a driver */
		return HK_DEVICE_NO_DRIVER;
	default:
		return HK_DEVICE_FAILED;
	}
}

/* ---- flushing ---- */

/* Whether the library is opened, and not by a process that this one was forked from. */
static bool began_here(void)
{
	return atomic_load(&own->began);
}

static void set_due(void)
{
	uint64_t ticks = ((uint64_t)FLUSH_NS << 32) / hk_process.tick_ns_q32;
	atomic_store_explicit(&hk_launches_due, hk_process_ticks() + ticks, memory_order_relaxed);
}

static int after_call(void *call, void *unused)
{
	(void)call;
	(void)unused;
	if (!began_here()) { /* no records will come, or a fork left them to the parent */
		atomic_store_explicit(&hk_launches_due, ~0ULL, memory_order_relaxed);
		return 0;
	}
	if (hk_in_agent) {
		return 0;
	}
	set_due();
	hk_device_share_resume();
	hk_device_share_flush(false);
	hk_device_reader_turn(false);
	return 0;
}

bool hk_device_flush(void)
{
	if (!own || !began_here() || hk_in_agent) {
		return false;
	}
	set_due();
	hk_device_share_resume();
	hk_device_share_flush(true);
	hk_device_reader_turn(true);
	return true;
}

/* Before the library's own end: its destructors run later. */
static void at_exit(int code, void *unused)
{
	(void)code;
	(void)unused;
	if (began_here()) {
		atomic_store_explicit(&hk_launches_due, ~0ULL, memory_order_relaxed);
		hk_device_share_flush(true);
		hk_device_reader_turn(true);
	}
}

/* ---- opening ---- */

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns whether FUNCTION may be the first call of the device's API that initialises it. Others
 * are made by constructors, or by programs that only ask for a version. */
static bool initialises(const char *function)
{
	static const char *const others[] = {
	    "__cudaRegister",	  "__cudaUnregister",	 "__cudaInitModule",
	    "cudaGetLastError",	  "cudaPeekAtLastError", "cudaRuntimeGetVersion",
	    "cudaGetErrorString", "cudaGetErrorName",	 "cuDriverGetVersion",
	    "cuGetProcAddress",	  "cuGetErrorString",	 "cuGetErrorName"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (begins_with(function, others[i])) {
			return false;
		}
	}
	return true;
}

static void settle(enum hk_device_state state)
{
	hk_device_source_set(state);
	atomic_store(&own->stage, SETTLED);
}

static void begin(enum hk_device_which which, const struct hk_device_opened *opened)
{
	struct hk_device_source *source = hk_device_source();
	source->version = opened->version;
	if (!hk_device_reader_begin(feed)) {
		settle(HK_DEVICE_FAILED);
		return;
	}
	if (on_exit) {
		on_exit(at_exit, NULL);
	}
	int status = hk_device_share_begin(which, opened);
	if (status) {
		source->status = status;
		settle(state_of(status));
		return;
	}
	atomic_store(&own->began, true);
	atomic_store(&own->stage, SETTLED);
	set_due();
}

static void open_library(enum hk_device_which which)
{
	static const struct hk_device_library *const libraries[] = {&hk_device_cupti,
								    &hk_device_mspti};
	struct hk_device_opened opened;
	int r = hk_device_open(libraries[which], environment, &opened);
	hk_device_source()->library = libraries[which]->number;
	if (r == -EBUSY) {
		atomic_store(&own->stage, UNTRIED); /* the next new call tries again */
		return;
	}
	tried = true;
	if (r < 0) {
		hk_device_source()->version = opened.version;
		settle(r == -EPROTO ? HK_DEVICE_NEW_LIBRARY : HK_DEVICE_NO_LIBRARY);
		return;
	}
	begin(which, &opened);
}

/* Another thread is opening the library. Work that this one submits meanwhile would be missed, and
 * its call waits for the same initialisation of the device in any case. The wait is short even if
 * the other thread waits for this one. */
static void wait_for_opening(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	for (int i = 0; i < PAUSES && atomic_load(&own->stage) == TRYING; i++) {
		hk_kernel(SYS_nanosleep, &pause, 0, 0, 0, 0, 0);
	}
}

static void before_call(const struct hk_site_hot *site)
{
	uint32_t untried = UNTRIED;
	if (atomic_load(&own->stage) == TRYING) {
		wait_for_opening();
	}
	if (atomic_load(&own->stage) != UNTRIED || !initialises(hk_site_function(site->index)) ||
	    !atomic_compare_exchange_strong(&own->stage, &untried, TRYING)) {
		return;
	}
	if (tried) {
		settle(HK_DEVICE_PARENT);
		return;
	}
	open_library(strcmp(site->hook->domain, "cuda") == 0 ? HK_DEVICE_CUPTI : HK_DEVICE_MSPTI);
}

bool hk_device_start(char *const *variables, void (*with)(const struct hk_device_work *work))
{
	static const struct hk_launches_user user = {before_call, after_call};
	const char *wanted = hk_identity_variable(variables, "HOOK_DEVICE_TIME");
	if (!wanted || !wanted[0] || wanted[0] == '0') {
		return false;
	}
	own = hk_mapping_private(sizeof(*own));
	if (!own) {
		return false;
	}
	environment = variables;
	feed = with;
	hk_launches_user = &user;
	hk_plan_devices = true;
	return true;
}
