/* annotate_names.h: the call sites of names: of ranges, marks, counters and activities.
 *
 * Each name in each calling object is a call site of its own, without a slot. Names are kept in one
 * table, and are never freed. Any thread.
 */
#ifndef HK_AGENT_ANNOTATE_NAMES_H
#define HK_AGENT_ANNOTATE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/object/object.h"

#define HK_ANNOTATE_NAME_BYTES 128u /* of what programs name, with the NUL */
#define HK_ANNOTATE_ACTIVITY_VALUES 7u

struct hk_site_hot;

/* Uses of a name. One name may be a range and a counter. */
enum hk_annotate_use {
	HK_USE_RANGE,
	HK_USE_MARK,
	HK_USE_STEP,
	HK_USE_COUNTER,
	HK_USE_KERNEL,
	HK_USE_COPY,
	HK_USE_SET,
	HK_USE_NCCL,
	HK_USE_TRANSFER,
	HK_USE_COUNT,
	HK_USE_DIGEST,	/* of a tensor; LIBRARY is the group */
	HK_USE_DIGESTS, /* the end of a group's */
};

/* Sets the level of sites made from names to LEVEL (enum hk_level). Once, at start. */
void hk_annotate_names_start(uint8_t level);

/* Returns the site of NAME used at CALLER, or NULL if it has none. LIBRARY, if not NULL, stands for
 * the object at CALLER. Only a WHOLE name may be longer than HK_ANNOTATE_NAME_BYTES. */
struct hk_site_hot *hk_annotate_names_site(const char *name, enum hk_annotate_use use,
					   uintptr_t caller, const char *library, bool whole);

/* Forgets names at addresses within SPAN, whose library is gone: another library may have other
 * names there. */
void hk_annotate_names_forget(struct hk_span span);

#endif
