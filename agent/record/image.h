/* image.h: the images that this process was before exec.
 *
 * An image cannot remove its segment before exec, which may fail. The next image removes it,
 * because it knows that exec succeeded.
 */
#ifndef HK_AGENT_RECORD_IMAGE_H
#define HK_AGENT_RECORD_IMAGE_H

#include "ring/segment.h"

/* Removes the segments of earlier images of the process with the segment OWN from run directory
 * DIRFD, if no collector ever attached to them. Checks at most a few dozen segments. */
void hk_image_remove_earlier(int dirfd, const struct hk_segment_header *own);

#endif
