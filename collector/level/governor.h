/* governor.h: holds what tracing costs a process within its budget.
 *
 * Looks at a process's counts when it is 10 ms old, and then a few times a second. When what could
 * be saved costs more than the budget, at the first look or over two looks in a row, the dearest
 * sites are granted a lower level, never below count, until the rest fits; when a site has been
 * quiet for long, its level comes back. A site whose level the user gave, or whose records the
 * memory ledger needs, is left alone and only reported. Every step is kept in the process's
 * message.
 */
#ifndef HK_COLLECTOR_LEVEL_GOVERNOR_H
#define HK_COLLECTOR_LEVEL_GOVERNOR_H

#include <stdint.h>

struct hk_process;

/* Looks at PROCESS if it is time to (NOW_NS: monotonic), and tells its agent what has changed. What
 * finds no memory is tried again at the next look. */
void hk_governor_check(struct hk_process *process, uint64_t now_ns);

/* Accepts NULL, returns NULL. */
struct hk_governor *hk_governor_free(struct hk_governor *governor);

#endif
