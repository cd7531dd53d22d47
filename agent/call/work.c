#include "agent/call/work.h"

#include <sys/resource.h>
#include <time.h>

#include "agent/frame/hot.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"
#include "base/clock.h"
#include "ring/kernel.h"

static uint64_t since_ns(uint64_t from_ticks, uint64_t to_ticks)
{
	return to_ticks > from_ticks
		   ? hk_clock_ticks_to_ns(to_ticks - from_ticks, hk_process.tick_ns_q32)
		   : 0;
}

/* Counts a sample as cost of tracing. In a sample that took longer than others, another thread ran.
 */
static void count_sample(struct hk_work *work, uint64_t ticks)
{
	if (!work->sample_ticks || ticks < work->sample_ticks) {
		work->sample_ticks = ticks;
	}
	atomic_fetch_add_explicit(&hk_process.writer.header->looks_ns,
				  since_ns(0, work->sample_ticks), memory_order_relaxed);
}

/* Reads how long the thread has run and how often it slept. Returns false if the kernel must not be
 * asked. Times of getrusage are those of the last tick. */
static bool take_sample(struct hk_work *work, struct hk_work_sample *ret_sample)
{
	uint64_t began = hk_process_ticks();
	struct rusage usage;
	struct timespec ran;
	if (hk_process.sealed || hk_kernel(SYS_getrusage, RUSAGE_THREAD, &usage, 0, 0, 0, 0) < 0 ||
	    hk_kernel(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ran, 0, 0, 0, 0) < 0) {
		return false;
	}
	ret_sample->ran_ns = (uint64_t)ran.tv_sec * 1000000000u + (uint64_t)ran.tv_nsec;
	ret_sample->sleeps = (uint64_t)usage.ru_nvcsw;
	ret_sample->ticks = hk_process_ticks();
	count_sample(work, ret_sample->ticks - began);
	return true;
}

/* Returns the time that the thread waited for a processor in the stretch that ended with sample
 * NOW. All time lost since the last sample was lost in this stretch, because others were short. The
 * kernel often takes the processor at the end of a system call, so the sample is part of the
 * stretch. */
static uint64_t waited_ns(const struct hk_work_sample *before, const struct hk_work_sample *now,
			  uint64_t worked_ns)
{
	uint64_t wall_ns = since_ns(before->ticks, now->ticks);
	uint64_t ran_ns = now->ran_ns - before->ran_ns;
	if (now->sleeps != before->sleeps || now->ran_ns < before->ran_ns || wall_ns <= ran_ns) {
		return 0;
	}
	return wall_ns - ran_ns < worked_ns ? wall_ns - ran_ns : worked_ns;
}

/* Returns the usual part of a stretch of WORKED_NS that CALL ends. */
static uint64_t usual_ns(struct hk_work *work, const struct hk_call *call, uint64_t worked_ns)
{
	return hk_usual_ns(&work->usual, work->call_address * 31 + call->return_address, worked_ns);
}

uint64_t hk_work_end(const struct hk_call *call)
{
	uint64_t ticks = hk_process_ticks();
	struct hk_thread *thread = call->thread;
	if (!thread || thread != hk_thread_current || ticks < thread->long_from ||
	    ticks < thread->work.from_ticks || !hk_work_is_end(call)) {
		return ticks;
	}
	struct hk_work *work = &thread->work;
	struct hk_work_sample now;
	if (!take_sample(work, &now)) {
		return ticks;
	}
	uint64_t worked_ns = since_ns(work->from_ticks, now.ticks);
	uint64_t lost_ns = waited_ns(&work->last, &now, worked_ns);
	thread->slot->waited_ns += lost_ns;
	thread->slot->worked_ns += worked_ns - lost_ns;
	thread->slot->usual_ns += usual_ns(work, call, worked_ns - lost_ns);
	work->last = now;
	work->from_ticks = ~0ULL;
	return hk_process_ticks();
}

/* Takes a sample after a long CALL. The time of the sample, and time lost in it, is no work. */
static void sample_after(struct hk_thread *thread, const struct hk_call *call, uint64_t ns)
{
	struct hk_work_sample now;
	if (!take_sample(&thread->work, &now)) {
		return;
	}
	uint64_t so_far_ns = since_ns(call->start_ticks, now.ticks);
	thread->slot->waited_ns += so_far_ns > ns ? so_far_ns - ns : 0;
	thread->work.from_ticks = now.ticks;
	thread->long_from = now.ticks + thread->work.long_ticks;
	thread->work.last = now;
	thread->work.settle_ticks = thread->work.long_ticks;
}

void hk_work_settle(struct hk_thread *thread, const struct hk_call *call, uint64_t ns)
{
	struct hk_work *work = &thread->work;
	uint64_t short_ns = since_ns(0, work->short_ticks);
	thread->slot->worked_ns += short_ns;
	thread->slot->usual_ns += short_ns;
	work->short_ticks = 0;
	if (ns >= HK_WORK_LONG_NS || !work->settle_ticks) {
		sample_after(thread, call, ns);
	}
}

/* trampoline.S calls this where the clock is a function. */
uint64_t hk_clock_read(void)
{
	return hk_process_ticks();
}
