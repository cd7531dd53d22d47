/* guard.h: mapped files that may shrink under their reader. If the file behind a guarded range
 * loses pages, the first failing access replaces the whole range by zeros and marks it poisoned;
 * the process is not killed. One SIGBUS handler serves all ranges; other faults are passed to the
 * previous handler. Any thread may add and remove ranges. The user of a range keeps it mapped while
 * it reads. */
#ifndef HK_RING_GUARD_H
#define HK_RING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct hk_guard;

/* Guards the mapping BEGIN of BYTES (whole pages). Returns 0, -ENOMEM, or -errno of sigaction. */
int hk_guard_add(void *begin, size_t bytes, struct hk_guard **ret_guard);

/* True once an access failed: the whole range is private zeros now. */
bool hk_guard_poisoned(const struct hk_guard *guard);

/* Ends the guard. The range may be unmapped before or after, but must not be accessed any more.
 * Accepts NULL. */
void hk_guard_remove(struct hk_guard *guard);

#endif
