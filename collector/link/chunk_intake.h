/* chunk_intake.h: on a root, the chunk files of other nodes' processes.
 *
 * Chunks go unchanged to the process's file in the job's directory, each number once. One thread.
 */
#ifndef HK_COLLECTOR_LINK_CHUNK_INTAKE_H
#define HK_COLLECTOR_LINK_CHUNK_INTAKE_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_collector;
struct hk_process;

/* Stores a chunk, and sets *RET_LAST to the number of the process's last chunk here. Returns 1 if
 * the chunk is stored now or was stored before, or 0 if its predecessor is not here yet. Returns
 * -ENOENT if no report had the process, -EBADMSG if the chunk is damaged or not of the process, or
 * another -errno if it cannot be stored now. */
int hk_chunk_intake_put(struct hk_collector *collector, const char *user, const Hk__ChunkPut *put,
			uint64_t *ret_last);

/* Sets *RET_LAST to the number of the last chunk in the file of PROCESS. Returns 0, or -errno if it
 * cannot be read now. */
int hk_chunk_intake_last(struct hk_process *process, uint64_t *ret_last);

#endif
