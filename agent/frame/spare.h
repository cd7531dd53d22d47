/* spare.h: sites beyond the last thunk with a frame. Their calls are all counted, and neither timed
 * nor recorded. Such a thunk takes a quarter of the code. A process that needs none has no memory
 * for them.
 *
 * Sites HK_SPARE_FIRST and later, in the order of their numbers.
 */
#ifndef HK_AGENT_FRAME_SPARE_H
#define HK_AGENT_FRAME_SPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/hot.h"

/* The site for calibration has a thunk and no number. */
#define HK_SPARE_FIRST HK_CALIBRATION_SITE
#define HK_SITES_BOUND (HK_SPARE_FIRST + HK_SPARE_THUNKS)

/* The fields that calls read; NULL: there is no spare thunk yet. Read by trampoline_spare.S. */
extern struct hk_site_hot *hk_spare_hot;

/* Makes room for spare thunks. Returns false without memory. Under the process lock. */
bool hk_spare_begin(void);

/* Return the address of the thunk of site INDEX, and the site of the thunk at ADDRESS, or
 * HK_SITES_BOUND if it is no spare thunk. */
void *hk_spare_thunk(uint32_t index);
uint32_t hk_spare_site(const void *address);

#endif
