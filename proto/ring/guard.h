/* guard.h: mapped files that may shrink under their reader.
 *
 * A guarded range whose file lost its pages reads as zeros from the first failing access on, and
 * says so, instead of killing the process. One SIGBUS handler serves all ranges; faults elsewhere
 * go to the action that was there before. Ranges may be added and removed by any thread; whoever
 * uses a range keeps it alive.
 */
#ifndef HK_RING_GUARD_H
#define HK_RING_GUARD_H

#include <stdbool.h>
#include <stddef.h>

struct hk_guard;

/* Guards the mapping BEGIN of BYTES (whole pages). 0; -ENOMEM; -errno of sigaction. */
int hk_guard_add(void *begin, size_t bytes, struct hk_guard **ret_guard);

/* True once an access failed: the whole range is private zeros now. */
bool hk_guard_poisoned(const struct hk_guard *guard);

/* Ends the guard; unmap the range before or after, but touch it no more. Accepts NULL. */
void hk_guard_remove(struct hk_guard *guard);

#endif
