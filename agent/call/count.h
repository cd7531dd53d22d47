/* count.h: the counters of cells, which calls of one thread and of its signal handlers change.
 * Nothing is lost between them. General registers only. */
#ifndef HK_AGENT_CALL_COUNT_H
#define HK_AGENT_CALL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
