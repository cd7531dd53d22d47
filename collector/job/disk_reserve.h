/* disk_reserve.h: room on the file system of a job that records cannot take, so that its statistics
 * find some when the disk is full.
 *
 * A file `reserve` in the job directory holds it. When statistics cannot be written it is given up;
 * no record is stored from then on, until there is room enough to take it again. No state but the
 * struct; a zeroed one holds nothing.
 */
#ifndef HK_COLLECTOR_JOB_DISK_RESERVE_H
#define HK_COLLECTOR_JOB_DISK_RESERVE_H

#include <stdbool.h>
#include <stdint.h>

#define HK_RESERVE_FILE "reserve"

/* Whether an error says that there is no room. */
bool hk_reserve_is_full(int error);

/* Takes it in DIRECTORY, if as much again is free beside it; what is held already, or was by an
 * earlier collector, counts. 0; -ENOSPC: there is too little; -errno. */
int hk_reserve_take(bool *held, const char *directory);

/* Gives it up; whether there was any. */
bool hk_reserve_give(bool *held, const char *directory);

#endif
