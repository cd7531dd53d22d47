/* sites.h: tables of call sites that are alike.
 *
 * The ranks of a job have the same sites mostly. Who goes through thousands of processes need not
 * read each one's names where a number says that they are those of the process before.
 * Thread-safe, no state.
 */
#ifndef HK_WIRE_SITES_H
#define HK_WIRE_SITES_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Equal for processes whose sites are the same, in the same order, in all that statistics depend
 * on: id, function, library, domain, flags, meaning, level, keys. Different for others, but for one
 * pair in 2^64. Never 0. */
uint64_t hk_sites_digest(const Hk__Process *process);

#endif
