/* spare.h: sites beyond the last thunk with a frame. Their calls are counted, each and all, and not
 * timed or recorded: such a thunk takes a quarter of the code, and a process that needs none has no
 * memory for them.
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

/* What a call of each reads; NULL: there is none yet. Read by trampoline_spare.S. */
extern struct hk_site_hot *hk_spare_hot;

/* Makes room for the first of them; false: there is no memory. Under the process lock. */
bool hk_spare_begin(void);

/* Address of the thunk of site INDEX, and the site of the one at ADDRESS, HK_SITES_BOUND: it is
 * none of these. */
void *hk_spare_thunk(uint32_t index);
uint32_t hk_spare_site(const void *address);

#endif
