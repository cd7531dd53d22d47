/* chunk_intake.h: on a root, the chunk files of other nodes' processes.
 *
 * Chunks go to a process's file in the job's directory as they are, each number once. One thread.
 */
#ifndef HK_COLLECTOR_LINK_CHUNK_INTAKE_H
#define HK_COLLECTOR_LINK_CHUNK_INTAKE_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;

/* Stores a chunk; *RET_LAST is the last number that is here. 1: taken, or was here before; 0: its
 * forerunner is not here yet; -ENOENT: nobody has reported the process; -EBADMSG: no sound chunk of
 * it; -errno: it cannot be stored now. */
int hk_chunk_intake_put(struct hk_collector *collector, const char *user, const Hk__ChunkPut *put,
			uint64_t *ret_last);

/* The last number in the file of PROCESS. -errno: it cannot be read now. */
int hk_chunk_intake_last(struct hk_process *process, uint64_t *ret_last);

#endif
