/* fields.h: sets fields of messages that are kept in memory, as protobuf-c's unpacking allocates
 * them. No state.
 */
#ifndef HK_COLLECTOR_MODEL_FIELDS_H
#define HK_COLLECTOR_MODEL_FIELDS_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Replaces a string of a message. Returns 0, or -ENOMEM, and the string is unchanged. */
int hk_field_set_string(char **string, const char *text);

/* Sets an anchor of a message, which it makes if there is none. Returns 0 or -ENOMEM. */
int hk_field_set_anchor(Hk__Anchor **anchor, uint64_t ticks, uint64_t monotonic_ns,
			uint64_t realtime_ns);

#endif
