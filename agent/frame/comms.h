/* comms.h: the stable numbers of communicators, by handle: of MPI and of NCCL, whose live handles
 * never meet.
 *
 * A number is a hash that all members of a communicator arrive at without talking. Bounded; a
 * communicator that finds no room keeps the number it is first asked with. Any thread, not inside
 * the process lock; 0 means unknown.
 */
#ifndef HK_AGENT_FRAME_COMMS_H
#define HK_AGENT_FRAME_COMMS_H

#include <stdbool.h>
#include <stdint.h>

/* An odd number near 2^64 divided by the golden ratio: the upper bits of its product with a handle
 * are a hash good enough for a table. */
#define HK_COMMS_SPREAD 0x9e3779b97f4a7c15ULL

/* Spreads the bits of VALUE over 64. */
uint64_t hk_comms_mix(uint64_t value);

/* Sets *RET_HASH to the number of HANDLE. Takes no lock. Returns false if HANDLE is new. */
bool hk_comms_known(uint64_t handle, uint64_t *ret_hash);

/* Number of HANDLE, FIRST if it is new. CHILD, if not NULL, gets the ordinal of its next child,
 * from 1. */
uint64_t hk_comms_get(uint64_t handle, uint64_t first, uint64_t *child);

/* From now on HANDLE has number HASH and no children yet. */
void hk_comms_set(uint64_t handle, uint64_t hash);

#endif
