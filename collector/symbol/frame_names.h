/* frame_names.h: writes what is known of functions into the frames of a process's message.
 *
 * No state.
 */
#ifndef HK_COLLECTOR_SYMBOL_FRAME_NAMES_H
#define HK_COLLECTOR_SYMBOL_FRAME_NAMES_H

#include <stdbool.h>

#include "schema/symbol.pb-c.h"
#include "schema/wire.pb-c.h"

#define HK_FRAME_NAMES_BYTES_MOST \
	(4u << 20) /* of a process: its message has to fit into a frame of 16 MiB */

/* Makes the names' columns of STATE, whose frames are valid, as long as the others. Frames that may
 * get a name are pending. Returns how many of them are new, or -ENOMEM. */
int64_t hk_frame_names_extend(Hk__Process *state);

/* Returns the bytes of all texts in STATE. */
size_t hk_frame_names_bytes(const Hk__Process *state);

/* Returns the entry of frame NUMBER in its column of names, or NULL if it has none. */
uint32_t *hk_frame_names_entry(const Hk__Process *state, uint32_t number);

/* Returns whether frame NUMBER is pending, and sets where it lies. */
bool hk_frame_names_is_pending(const Hk__Process *state, uint32_t number, uint32_t *ret_object,
			       uint64_t *ret_address);

/* Makes frames of generated code without a name pending again. Returns whether there are any. */
bool hk_frame_names_retry(Hk__Process *state);

/* Writes what FRAME says to frame NUMBER, and adds the bytes of texts to *BYTES. Above the limit
 * the frame stays without a name. Returns 0 or -ENOMEM. */
int hk_frame_names_set(Hk__Process *state, uint32_t number, const Hk__SymbolFrame *frame,
		       size_t *bytes);

#endif
