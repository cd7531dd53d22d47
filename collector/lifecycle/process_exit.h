/* process_exit.h: finds out that a process of this machine has ended, and how, and finalises it.
 *
 * A process has ended when the kernel says so, or when another program runs under its pid.
 * Finalising drains the last records, writes the last frame, and only then removes the segment. A
 * collector that is killed in between can therefore do it again. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_PROCESS_EXIT_H
#define HK_COLLECTOR_LIFECYCLE_PROCESS_EXIT_H

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;

/* Checks whether the process still lives. Sets `gone` and how it ended. */
void hk_process_check(struct hk_process *process);

/* Stores everything of a process that has ended, then removes its segment. Returns 0, or -errno if
 * a write failed: the caller tries again later. */
int hk_process_finalise(struct hk_collector *collector, struct hk_process *process);

/* A parent saw a process end. */
void hk_process_notice(struct hk_collector *collector, const Hk__ExitNotice *notice);

/* Applies a notice of the end of PROCESS that came before its segment was found. */
void hk_process_apply_early_notices(struct hk_collector *collector, struct hk_process *process);

#endif
