/* kernels.h: the kernels that a process launched, copied from its segment into its message.
 *
 * Kernels never change, so only those behind the last one are read. Not thread-safe.
 */
#ifndef HK_COLLECTOR_PROCESS_KERNELS_H
#define HK_COLLECTOR_PROCESS_KERNELS_H

#include "ring/reader.h"
#include "schema/symbol.pb-c.h"
#include "schema/wire.pb-c.h"

/* Appends the new kernels of READER to STATE. Returns 0, -ESTALE if the segment proved damaged, or
 * -ENOMEM. */
int hk_kernels_refresh(Hk__Process *state, struct hk_reader *reader);

/* A kernel whose name the process did not know is named after the host function that launches it.
 */

/* Returns the number of the first kernel behind NUMBER whose name may be found in a file, or 0. */
uint32_t hk_kernels_next_nameless(const Hk__Process *state, uint32_t number);

/* Returns the bytes of all names in STATE that were found in files. */
size_t hk_kernels_found_bytes(const Hk__Process *state);

/* Names kernel NUMBER after the function of FRAME, and adds the bytes of the name to *BYTES. Above
 * HK_FRAME_NAMES_BYTES_MOST the kernel stays without a name. Returns 0 or -ENOMEM. */
int hk_kernels_set_name(Hk__Process *state, uint32_t number, const Hk__SymbolFrame *frame,
			size_t *bytes);

#endif
