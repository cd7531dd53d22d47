/* root_clock.h: the clock of a job's times, which is this machine's time since its boot.
 *
 * A job may continue after another boot, or on another machine. Its times then continue by the
 * clock there: the Unix times of both clocks relate one to the other.
 */
#ifndef HK_COLLECTOR_JOB_ROOT_CLOCK_H
#define HK_COLLECTOR_JOB_ROOT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;

/* Sets the clock of JOB's times to that of COLLECTOR's machine from now on. Returns 0 or -ENOMEM.
 */
int hk_root_clock_set(const struct hk_collector *collector, Hk__Job *job);

/* Returns the present time, ns since the Unix epoch on JOB's clock: realtime when the job was
 * opened, continued by the monotonic clock. Without an anchor of the job: realtime. */
uint64_t hk_root_clock_unix_ns(const Hk__Job *job);

/* Returns whether JOB's times have another clock than that of COLLECTOR's machine. */
bool hk_root_clock_is_old(const struct hk_collector *collector, const Hk__Job *job);

/* Converts the job of SNAPSHOT, which has another clock, to the clock of COLLECTOR's machine: the
 * anchors of its own processes, and its nodes' maps. Its Unix times stay. Returns 0 or -ENOMEM. */
int hk_root_clock_carry_over(const struct hk_collector *collector, Hk__Snapshot *snapshot);

#endif
