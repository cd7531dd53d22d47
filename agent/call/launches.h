/* launches.h: remembers each thread's latest calls that ask a device for work, so that the device's
 * own reports of it can be joined with them (device/).
 *
 * Only where device time is wanted: without it no call comes here. General registers only.
 */
#ifndef HK_AGENT_CALL_LAUNCHES_H
#define HK_AGENT_CALL_LAUNCHES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"

struct hk_thread;

#define HK_LAUNCHES 32768u /* of a thread; their memory is taken as it is used */

/* A call that returned. Its thread writes it; others read it meanwhile (hk_launches_find). */
struct hk_launch {
	_Atomic uint64_t start_ticks;
	_Atomic uint64_t end_ticks;
	_Atomic uint64_t stream; /* handle; HK_LAUNCH_NO_STREAM: the call names none */
	_Atomic uint64_t thread; /* uid */
	_Atomic uint32_t tid;	 /* the kernel's */
	_Atomic uint32_t self;	 /* low half of pthread_self() */
	_Atomic uint32_t site;
	uint32_t reserved;
};
#define HK_LAUNCH_NO_STREAM (~0ULL)

/* The calls of one thread, and of those that had its state before it, in the order of their ends.
 */
struct hk_launches {
	struct hk_launches *next; /* of all there ever were */
	_Atomic uint64_t count;
	struct hk_launch calls[HK_LAUNCHES];
};

/* What device time asks of calls of a device's API. NULL: device time is not wanted. */
struct hk_launches_user {
	/* A thread is about to make its first call of SITE. Called as hk_call_prepare is. */
	void (*before)(const struct hk_site_hot *site);
	/* An outermost call returned, through hk_state_saved. */
	int (*after)(void *call, void *unused);
};
extern const struct hk_launches_user *hk_launches_user;

/* Ticks from which on `after` is called; ~0: never. */
extern _Atomic uint64_t hk_launches_due;

/* CALL of THREAD, whose site has HK_STACK_WORDS_DEVICE, returned. VALUES: NULL if they were not
 * read. */
void hk_launches_end(struct hk_thread *thread, const struct hk_call *call, const uint64_t *values);

/* What was found of a submission. */
struct hk_launch_found {
	uint64_t thread; /* uid */
	uint64_t stream;
	uint32_t sites[3]; /* the calls around it, the innermost first */
	uint32_t count;
};

/* Finds the remembered calls around TICKS of the thread that CUPTI calls THREAD: the low half of
 * pthread_self(), or the kernel's id. Calls within the outermost one may begin up to REACH ticks
 * later. Returns false if no call is remembered, or if the outermost call has not returned yet. Any
 * thread. */
bool hk_launches_find(uint32_t thread, uint64_t ticks, uint64_t reach,
		      struct hk_launch_found *ret_found);

#endif
