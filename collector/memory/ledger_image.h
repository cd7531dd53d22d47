/* ledger_image.h: a ledger as bytes, so that a collector that takes over continues with the same
 * ledger. */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_IMAGE_H
#define HK_COLLECTOR_MEMORY_LEDGER_IMAGE_H

#include "collector/memory/checksummed_file.h"
#include "collector/memory/ledger.h"

/* Of what is put; the one before it, which has no series, is read too. */
#define HK_LEDGER_IMAGE_MAJOR 2u

/* Puts all that LEDGER knows, what waits for its turn included; errors are the image's. */
void hk_ledger_image_put(const struct hk_ledger *ledger, struct hk_image *image);

/* Fills a new LEDGER from an image of MAJOR; the bytes may be anybody's. -EBADMSG: no ledger looks
 * like this; -ENOMEM; -errno of reading. After an error, or if the image's end is wrong, LEDGER
 * must be cleared. */
int hk_ledger_image_get(struct hk_ledger *ledger, unsigned major, struct hk_image *image);

#endif
