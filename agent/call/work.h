/* work.h: how long a thread waited for a processor between calls in which ranks wait for each
 * other.
 *
 * Between two such calls a rank works, unless others have its processor: the wall clock does not
 * tell these apart, the thread's own clock does. It is read, by a system call, only where a stretch
 * of work or a call has lasted long; what a thread loses in a short one makes that a long one.
 * A stretch in which the thread slept counts nothing: that is the program's own doing.
 *
 * The same work takes a thread up to a third longer on a processor that shares its core or its
 * caches with busy ones. So of a long stretch only what is usual (usual.h) counts there. General
 * registers only.
 */
#ifndef HK_AGENT_CALL_WORK_H
#define HK_AGENT_CALL_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/record/thread.h"

/* CALL is about to begin; gives its start in ticks. For trampoline.S, which leaves all registers
 * but those of arguments to it. */
uint64_t hk_work_end(const struct hk_call *call);

/* Whether CALL ends a stretch: at a level that measures every call, and not part of another such
 * call. */
static inline bool hk_work_is_end(const struct hk_call *call)
{
	return (call->site->stack_words & HK_STACK_WORDS_WORK) &&
	       call->site->level >= HK_LEVEL_TIME && !(call->domains & call->site->domain);
}

/* CALL, of THREAD, returned after NS: adds up the short stretches, and looks if CALL was long or
 * the first. */
void hk_work_settle(struct hk_thread *thread, const struct hk_call *call, uint64_t ns);

/* CALL, of THREAD, which hk_work_is_end, has returned after NS, and its `scratch` is when. A short
 * stretch is only added in ticks here: no work of a thread is missing in its slot for longer than a
 * long stretch takes. Returns true if hk_work_settle has to be called. */
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
