/* carrier.h: brings what leaves say to a root, or to a stream engine that keeps it for roots. */
#ifndef HK_LOAD_CARRIER_H
#define HK_LOAD_CARRIER_H

#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct carrier;

/* Connects LEAVES leaves to URL, of a root or of an engine ("nats://..."). Ends the program when
 * that cannot be done, as all functions here do. */
struct carrier *carrier_open(const char *url, unsigned leaves);
void carrier_free(struct carrier *carrier);

/* Brings REQUEST, a report of leaf number LEAF, and waits until it is taken. Returns a root's
 * answer, which the caller frees, or NULL from an engine; sets *RET_SIZE to the bytes brought. */
Hk__Response *carrier_bring(struct carrier *carrier, unsigned leaf, const Hk__Request *request,
			    size_t *ret_size);

#endif
