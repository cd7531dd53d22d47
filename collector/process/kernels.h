/* kernels.h: the kernels that a process launched, copied from its segment into its message.
 *
 * Kernels never change, so only those behind the last one are read. Not thread-safe.
 */
#ifndef HK_COLLECTOR_PROCESS_KERNELS_H
#define HK_COLLECTOR_PROCESS_KERNELS_H

#include "ring/reader.h"
#include "schema/wire.pb-c.h"

/* Appends to STATE what READER has more. Returns 0, -ESTALE if the segment proved damaged, or
 * -ENOMEM. */
int hk_kernels_refresh(Hk__Process *state, struct hk_reader *reader);

#endif
