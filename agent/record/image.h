/* image.h: the images that this process was before exec.
 *
 * An image that is replaced cannot take its segment away: exec may fail. The next image does, which
 * alone knows that the one before is gone for certain.
 */
#ifndef HK_AGENT_RECORD_IMAGE_H
#define HK_AGENT_RECORD_IMAGE_H

#include "ring/segment.h"

/* Removes from run directory DIRFD what earlier images of the process with the segment OWN have
 * left and no collector ever attached to. Looks at no more than a few dozen segments. */
void hk_image_remove_earlier(int dirfd, const struct hk_segment_header *own);

#endif
