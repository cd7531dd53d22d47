/* clock.h: ticks, what they are worth in nanoseconds, and the same instant on three clocks.
 *
 * Ticks are the processor's counter (x86-64: TSC; aarch64: cntvct_el0) when the kernel itself keeps
 * time by it, else CLOCK_MONOTONIC nanoseconds. "tsc" in names means either counter.
 * A collector calibrates once and leaves the result in its run directory; an agent without one
 * measures for a millisecond. Thread-safe, no state.
 */
#ifndef HK_BASE_CLOCK_H
#define HK_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A tick of a trusted counter lasts less than 1 << HK_CLOCK_TICK_SHIFT nanoseconds. */
#if defined(__aarch64__)
#define HK_CLOCK_TICK_SHIFT 7
#else
#define HK_CLOCK_TICK_SHIFT 1
#endif

struct hk_clock_point {
	uint64_t ticks;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

static inline uint64_t hk_clock_monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* True if raw reads of the counter may serve as ticks: the kernel's own clocksource is "tsc" or
 * "arch_sys_counter". A program in an emulator finds the clocksource of another architecture. */
bool hk_clock_tsc_trusted(void);

/* The processor's counter now. */
static inline uint64_t hk_clock_counter(void)
{
#if defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return __builtin_ia32_rdtsc();
#endif
}

/* Ticks now, on the clock that hk_clock_tsc_trusted (passed in as TSC) chose. */
uint64_t hk_clock_ticks(bool tsc);

/* One instant on all three clocks; the ticks lie within the shortest of several brackets. */
struct hk_clock_point hk_clock_now(bool tsc);

/* Nanoseconds per tick as Q32 fixed point, measured over at least WINDOW_NS (1 ms: 1e-4, 50 ms:
 * 1e-6). 1 << 32 without TSC. */
uint64_t hk_clock_calibrate_q32(bool tsc, uint64_t window_ns);

/* The same with the TSC and a window that began at START, so that what was done since need not be
 * waited for again. */
uint64_t hk_clock_calibrate_since_q32(const struct hk_clock_point *start, uint64_t window_ns);

/* The calibration kept in the run directory DIRFD (file "clock", for this boot): 0 if there is
 * none. */
uint64_t hk_clock_load_q32(int dirfd);
int hk_clock_store_q32(int dirfd, uint64_t tick_ns_q32);

static inline uint64_t hk_clock_ticks_to_ns(uint64_t ticks, uint64_t tick_ns_q32)
{
	return (uint64_t)(((unsigned __int128)ticks * tick_ns_q32) >> 32);
}

#endif
