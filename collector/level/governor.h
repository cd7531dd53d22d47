/* governor.h: keeps the estimated cost of tracing a process within its budget.
 *
 * The governor checks a process's counts when it is 10 ms old, and then a few times a second. If
 * the part of the cost that it can save exceeds the budget, at the first check or in two checks in
 * a row, it lowers the levels of the dearest sites until the rest fits, but never below count. A
 * site that was quiet for long gets its level back. A site whose level the user set, or whose
 * records the memory ledger needs, keeps its level and is reported. The process's message holds
 * every step.
 */
#ifndef HK_COLLECTOR_LEVEL_GOVERNOR_H
#define HK_COLLECTOR_LEVEL_GOVERNOR_H

#include <stdint.h>

struct hk_process;

/* Checks PROCESS if that is due at NOW_NS (monotonic), and publishes changes to its agent. Without
 * memory, the next check retries. */
void hk_governor_check(struct hk_process *process, uint64_t now_ns);

/* Accepts NULL, returns NULL. */
struct hk_governor *hk_governor_free(struct hk_governor *governor);

#endif
