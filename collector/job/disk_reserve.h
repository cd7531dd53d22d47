/* disk_reserve.h: reserves room on a job's file system, so that its statistics can be written when
 * records have filled the disk.
 *
 * A file `reserve` in the job directory holds the room. It is removed when statistics cannot be
 * written. From then on no record is stored until there is room enough for a new reserve. No state
 * but the struct; a zeroed struct holds nothing.
 */
#ifndef HK_COLLECTOR_JOB_DISK_RESERVE_H
#define HK_COLLECTOR_JOB_DISK_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#define HK_RESERVE_FILE "reserve"

/* Whether an error says that there is no room. */
bool hk_reserve_is_full(int error);

/* Makes the reserve in DIRECTORY if as much again is free beside it. A reserve of this or an
 * earlier collector counts. Returns 0, -ENOSPC if there is too little room, or another -errno. */
int hk_reserve_take(bool *held, const char *directory);

/* Gives it up; whether there was any. */
bool hk_reserve_give(bool *held, const char *directory);

#endif
