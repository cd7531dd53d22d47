/* sites.h: recognises equal tables of call sites. Most ranks of a job have the same sites. A reader
 * of thousands of processes need not read the names again if the digest equals that of the process
 * before. Thread-safe, no state. */
#ifndef HK_WIRE_SITES_H
#define HK_WIRE_SITES_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Digest of a process's sites, in order, with all that statistics depend on: id, function, library,
 * domain, flags, meaning, level, keys. Two different tables have equal digests with a chance of
 * 2^-64. Never 0. */
uint64_t hk_sites_digest(const Hk__Process *process);

#endif
