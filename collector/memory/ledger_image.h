/* ledger_image.h: a ledger as bytes, so that a collector that takes over continues with the same
 * ledger. */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_IMAGE_H
#define HK_COLLECTOR_MEMORY_LEDGER_IMAGE_H

#include "collector/memory/checksummed_file.h"
#include "collector/memory/ledger.h"

/* The version that is written. The version before it, without series, is read too. */
#define HK_LEDGER_IMAGE_MAJOR 2u

/* Puts all of LEDGER, with its waiting events. Errors are the image's. */
void hk_ledger_image_put(const struct hk_ledger *ledger, struct hk_image *image);

/* Fills a new LEDGER from an image of version MAJOR, whose bytes are hostile. Returns 0, -EBADMSG
 * if no ledger can be like this, -ENOMEM, or -errno of reading. After an error, also of the image's
 * end, the caller must clear LEDGER. */
int hk_ledger_image_get(struct hk_ledger *ledger, unsigned major, struct hk_image *image);

#endif
