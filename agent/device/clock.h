/* clock.h: the clock of a device's library against the agent's ticks.
 *
 * Both are read together at both ends of every flush; between two such pairs they are taken to run
 * evenly. The owner's lock guards it.
 */
#ifndef HK_AGENT_DEVICE_CLOCK_H
#define HK_AGENT_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hk_device_pair {
	uint64_t theirs, ticks;
};

struct hk_device_clock {
	uint64_t (*read)(void);
	bool counts_ns; /* as the library's own does; another tool's may have any unit */
	struct hk_device_pair before, last;
};

/* Begins with clock READ, which counts nanoseconds or not. */
void hk_device_clock_begin(struct hk_device_clock *clock, uint64_t (*read)(void), bool counts_ns);

/* Reads both clocks once more. */
void hk_device_clock_pair(struct hk_device_clock *clock);

/* Returns a LENGTH of theirs in ns. */
uint64_t hk_device_clock_ns(const struct hk_device_clock *clock, uint64_t length);

/* Returns THEIRS in ticks. */
uint64_t hk_device_clock_ticks(const struct hk_device_clock *clock, uint64_t theirs);

#endif
