/* departure.h: prepares a process that leaves the place where its segment can be made and can grow.
 *
 * The segment is opened by its path. A process that changes its user, its root directory or its
 * mount namespace may lose access to that path. So the agent takes what it needs just before: a
 * forked child without a hooked call gets its segment, and every process gets room in its file. A
 * process that locks its address space pays for each page of it, so its mapping is cut to the size
 * that it may lock.
 */
#ifndef HK_AGENT_WRAP_DEPARTURE_H
#define HK_AGENT_WRAP_DEPARTURE_H

#include <stdbool.h>

/* Gives this process a segment, this thread its state, and the file HK_DEPARTURE_BYTES, if there is
 * room. FIXED: the file never grows again. Keeps errno. Does nothing inside of the agent. */
#define HK_DEPARTURE_BYTES (4u << 20)
void hk_departure_provide(bool fixed);

/* Called before the host changes its user, root directory or mount namespace. Does nothing if no
 * collector reads the run directory and no collector is wanted: no process could remove the segment
 * at exit. */
void hk_departure_begin(void);

/* Called after the host tried to. From here on it is known whether the file can grow. Keeps errno.
 */
void hk_departure_end(void);

/* Called before the host locks all its memory. Shrinks the agent's address space if the host may
 * lock a limited size only. */
void hk_departure_lock(void);

/* Called after the host locked its memory with FLAGS of mlockall: unlocks the agent's part. */
void hk_departure_locked(int flags);

#endif
