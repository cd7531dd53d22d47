/* work.h: measures how long a thread worked, and waited for a processor, between calls in which
 * ranks wait for each other.
 *
 * Between two such calls a rank works, or other threads have its processor. The wall clock cannot
 * tell which; the thread's own clock can. That one is read, by a system call, only after a long
 * stretch of work or a long call. A short stretch in which the thread lost its processor is a long
 * one. A stretch in which the thread slept does not count: the program did that itself.
 *
 * The same work takes up to a third longer on a processor that shares its core or its caches with
 * busy ones. So of a long stretch only the usual part (usual.h) counts as work. General registers
 * only.
 */
#ifndef HK_AGENT_CALL_WORK_H
#define HK_AGENT_CALL_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/record/thread.h"

/* Called when CALL is about to begin. Returns its start in ticks. For trampoline.S, which has saved
 * the argument registers only. */
uint64_t hk_work_end(const struct hk_call *call);

/* Returns whether CALL ends a stretch: its level measures every call, and it is not inside of
 * another such call. */
static inline bool hk_work_is_end(const struct hk_call *call)
{
	return (call->site->stack_words & HK_STACK_WORDS_WORK) &&
	       call->site->level >= HK_LEVEL_TIME && !(call->domains & call->site->domain);
}

/* Called when CALL of THREAD has returned after NS. Adds the short stretches, and reads the
 * thread's clock if CALL was long or the first one. */
void hk_work_settle(struct hk_thread *thread, const struct hk_call *call, uint64_t ns);

/* Called when CALL of THREAD, for which hk_work_is_end is true, has returned after NS at ticks
 * `scratch`. It only adds a short stretch, in ticks. The thread's slot gets it after the time of a
 * long stretch at the latest. Returns true if hk_work_settle must be called. */
static inline bool hk_work_begin(struct hk_thread *thread, const struct hk_call *call, uint64_t ns)
{
	struct hk_work *work = &thread->work;
	if (likely(call->start_ticks > work->from_ticks)) {
		work->short_ticks += call->start_ticks - work->from_ticks;
	}
	work->from_ticks = call->scratch;
	thread->long_from = call->scratch + work->long_ticks;
	work->call_address = call->return_address;
	return ns >= HK_WORK_LONG_NS || work->short_ticks >= work->settle_ticks;
}

#endif
