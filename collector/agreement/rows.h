/* rows.h: the newest digests of one process, out of its records.
 *
 * The records of a group's step are a digest of each value and a mark behind the last one with
 * their number. A step is kept if all of its records came. Not thread-safe. Memory is bounded:
 * HK_AGREEMENT_GROUPS groups, HK_AGREEMENT_TENSORS values of each (hooks/hook.h). Further groups
 * are ignored. */
#ifndef HK_COLLECTOR_AGREEMENT_ROWS_H
#define HK_COLLECTOR_AGREEMENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/format.h"
#include "chunk/codec/record.h"
#include "schema/wire.pb-c.h"

struct hk_rows;

struct hk_rows_options {
	/* Copies the definition of site ID into *RET_SITE. Its strings are valid until the next
	 * call. Returns 0, or -errno if the site is not known yet. */
	int (*site)(void *context, uint32_t id, struct hk_chunk_site *ret_site);
	void *context;
	Hk__Process *state; /* gets the rows; kept by reference */
};

/* Returns how many steps of a group of COUNT values are kept. */
size_t hk_rows_steps(size_t count);

/* NULL: out of memory. */
struct hk_rows *hk_rows_new(const struct hk_rows_options *options);
/* Frees; accepts NULL, returns NULL. The rows stay in the state. */
struct hk_rows *hk_rows_free(struct hk_rows *rows);

/* Looks at sites that are new. Returns whether the process has any whose records are digests. To be
 * called before the records of a run are added. */
bool hk_rows_wanted(struct hk_rows *rows);

/* Adds RECORD if it is of such a site. Records of a thread come in order. Returns 0 or -ENOMEM. */
int hk_rows_add(struct hk_rows *rows, const struct hk_record *record);

#endif
