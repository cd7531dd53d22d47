/* process_exit.h: notices that a process of this machine has ended, and how, and finalises it.
 *
 * A process is gone when the kernel says so or when another program runs under its pid. Finalising
 * drains what is left, writes its last frame and only then removes the segment, so that a collector
 * killed anywhere in between can do it all again. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_PROCESS_EXIT_H
#define HK_COLLECTOR_LIFECYCLE_PROCESS_EXIT_H

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;

/* Looks whether the process still lives, sets `gone` and how it ended. */
void hk_process_check(struct hk_process *process);

/* Keeps everything of a process that is gone, then removes its segment. -errno: something could not
 * be written; call again later. */
int hk_process_finalise(struct hk_collector *collector, struct hk_process *process);

/* A parent saw a process end. */
void hk_process_notice(struct hk_collector *collector, const Hk__ExitNotice *notice);

/* A parent told of the end of PROCESS before its segment was found. */
void hk_process_apply_early_notices(struct hk_collector *collector, struct hk_process *process);

#endif
