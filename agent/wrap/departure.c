#include "agent/wrap/departure.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "agent/call/thread_start.h"
#include "agent/frame/site.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "ring/kernel.h"

/* The segment takes at most 1 / this of the memory that a process may lock. */
#define LOCKED_SHARE 16u
#define STEP_BYTES 16384u

/* Start and end of the agent's image, defined by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Returns whether the agent is not active on this thread and the process may change its own
 * segment. A vfork child runs in its parent's memory. */
static bool may_act(void)
{
	if (hk_in_agent || hk_process.sealed || (!hk_process.on && !hk_process_forked())) {
		return false;
	}
	return hk_process_forked() ||
	       hk_process.writer.header->pid == (uint32_t)hk_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Runs CHANGE with ARGUMENT under the process lock, in a process with a segment of its own. */
static void change_segment(void (*change)(uint64_t argument), uint64_t argument)
{
	uint64_t signals = hk_process_block_signals();
	int saved_errno = errno;
	hk_in_agent = 1;
	if (!hk_thread_current->ready) {
		hk_thread_enter();
	}
	if (hk_process.on && hk_process_lock()) {
		change(argument);
		hk_process_unlock();
	}
	hk_in_agent = 0;
	errno = saved_errno;
	hk_process_restore_signals(signals);
}

static void reserve(uint64_t fixed)
{
	hk_writer_reserve(&hk_process.writer, HK_DEPARTURE_BYTES);
	hk_writer_fix(&hk_process.writer, fixed || hk_process.writer.fixed);
}

void hk_departure_provide(bool fixed)
{
	if (!hk_in_agent) {
		change_segment(reserve, fixed);
	}
}

void hk_departure_begin(void)
{
	if (may_act() && hk_process_is_read()) {
		change_segment(reserve, false);
	}
}

static void fix_writer(uint64_t unused)
{
	(void)unused;
	hk_writer_fix(&hk_process.writer, !hk_writer_can_open(&hk_process.writer));
}

void hk_departure_end(void)
{
	if (may_act() && !hk_process_forked()) {
		change_segment(fix_writer, 0);
	}
}

static void cut(uint64_t bytes)
{
	hk_site_cut();
	hk_writer_cut(&hk_process.writer, bytes);
	hk_writer_fix(&hk_process.writer, hk_process.writer.fixed);
}

static bool is_limited(struct rlimit *limit)
{
	return may_act() && hk_kernel(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, limit, 0, 0) == 0 &&
	       limit->rlim_cur != RLIM_INFINITY;
}

void hk_departure_lock(void)
{
	struct rlimit limit;
	if (is_limited(&limit)) {
		change_segment(cut, limit.rlim_cur / LOCKED_SHARE);
	}
}

/* Step by step, because a call ends at the first gap. */
static void unlock(const void *start, const void *end)
{
	for (uint64_t at = (uint64_t)start; at < (uint64_t)end; at += STEP_BYTES) {
		hk_kernel(SYS_munlock, at, STEP_BYTES, 0, 0, 0, 0);
	}
}

void hk_departure_locked(int flags)
{
	struct rlimit limit;
	if (is_limited(&limit)) {
		const struct hk_writer *writer = &hk_process.writer;
		hk_process.locks = flags & MCL_FUTURE;
		unlock(__ehdr_start, _end);
		unlock(writer->header,
		       (char *)writer->header + (uint64_t)writer->mapped_blocks * HK_BLOCK_BYTES);
	}
}
