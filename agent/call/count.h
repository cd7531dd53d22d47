/* count.h: adds to the counters of cells, which one thread and its signal handlers change, without
 * losing an addition. General registers only. */
#ifndef HK_AGENT_CALL_COUNT_H
#define HK_AGENT_CALL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/record/thread.h"

/* A signal handler on this thread cannot come between load and store: on x86-64 they are one
 * instruction; on aarch64 the signal ends the reservation, and the store fails. */
static inline void hk_count_add(uint64_t *counter, uint64_t value)
{
#if defined(__x86_64__)
	__asm__("addq %1, %0" : "+m"(*counter) : "er"(value));
#else
	uint64_t sum;
	uint32_t interrupted;
	__asm__("1: ldxr %0, %2\n\tadd %0, %0, %3\n\tstxr %w1, %0, %2\n\tcbnz %w1, 1b"
		: "=&r"(sum), "=&r"(interrupted), "+Q"(*counter)
		: "r"(value));
#endif
}

static inline void hk_count_raise(uint64_t *most, uint64_t value)
{
	uint64_t now = *most;
	while (value > now && !__atomic_compare_exchange_n(most, &now, value, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

static inline void hk_count_lower(uint64_t *least, uint64_t value)
{
	uint64_t now = *least;
	while (value < now && !__atomic_compare_exchange_n(least, &now, value, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
	}
}

/* Whether CALL is not part of another one of its domain. */
static inline bool hk_count_is_outermost(const struct hk_call *call)
{
	return !(call->domains & call->site->domain);
}

static inline void hk_count_totals(const struct hk_thread *thread, const struct hk_call *call,
				   uint64_t ns, bool outermost)
{
	struct hk_cell *cell = call->cell;
	uint64_t callees = thread->child_ns;
	hk_count_add(&cell->total_ns, ns);
	if (likely(ns > callees)) {
		hk_count_add(&cell->self_ns, ns - callees);
	}
	if (likely(outermost)) {
		hk_count_add(&cell->outermost_ns, ns);
	} else {
		hk_count_add(&cell->inner_calls, 1);
	}
}

static inline uint64_t *hk_count_bucket(const struct hk_thread *thread, uint32_t offset,
					uint32_t bucket)
{
	return (uint64_t *)(void *)(thread->segment + offset) + bucket;
}

/* Counts the bytes of a call that did not fail; read() and similar functions may return -1. Returns
 * the counted bytes. */
static inline uint64_t hk_count_bytes(const struct hk_call *call, const uint64_t *values)
{
	uint8_t at = call->site->bytes;
	if (at == HK_HOOK_VALUES || (int64_t)values[at] <= 0) {
		return 0;
	}
	hk_count_add(&call->cell->bytes, values[at]);
	return values[at];
}

#endif
