/* fields.h: sets fields of messages that are kept in memory, as protobuf-c's unpacking allocates
 * them. No state.
 */
#ifndef HK_COLLECTOR_MODEL_FIELDS_H
#define HK_COLLECTOR_MODEL_FIELDS_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

/* Replaces a string of a message; -ENOMEM leaves it as it was. */
int hk_field_set_string(char **string, const char *text);

/* Sets an anchor of a message, made if it is not there. -ENOMEM. */
int hk_field_set_anchor(Hk__Anchor **anchor, uint64_t ticks, uint64_t monotonic_ns,
			uint64_t realtime_ns);

#endif
