/* course.h: how sums of a process grew over time, in bins that get wider as the time gets longer.
 *
 * A row is one sum. Its growth between two samples is spread evenly over the time between them.
 * When HK_COURSE_BINS are full, each two become one, so from then on at least half of the bins are
 * in use. The bins of a row add up to its total exactly. The course owns the memory of its rows.
 * Locked by the caller.
 */
#ifndef HK_COLLECTOR_PROCESS_COURSE_H
#define HK_COLLECTOR_PROCESS_COURSE_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_COURSE_BINS 256u
#define HK_COURSE_PART_BINS 16u /* in a message; an unchanged part is not sent again */
#define HK_COURSE_DOMAINS 8u	/* rows of domains; the calls of further ones are in the last */
#define HK_COURSE_ROWS (HK_COURSE_DOMAINS + 6)
#define HK_COURSE_SHIFT_MAX 56u /* enough for all of 64 bits */

struct hk_course_row {
	Hk__ActivityKind kind;
	char domain[16]; /* of kind DOMAIN, else empty */
	uint64_t total;
	uint64_t bins[HK_COURSE_BINS];
};

struct hk_course {
	uint64_t start_ticks; /* of the first bin */
	uint64_t until_ticks; /* the last look */
	uint32_t shift;	      /* a bin is 2^shift ticks */
	uint32_t count;	      /* bins in use */
	uint32_t row_count;
	struct hk_course_row *rows[HK_COURSE_ROWS];
};

/* Makes an empty course from START_TICKS on, in bins of 2^SHIFT ticks, SHIFT at most
 * HK_COURSE_SHIFT_MAX. */
void hk_course_begin(struct hk_course *course, uint64_t start_ticks, uint32_t shift);

/* Returns the row of KIND and DOMAIN ("" for other kinds), or NULL. */
struct hk_course_row *hk_course_find(const struct hk_course *course, Hk__ActivityKind kind,
				     const char *domain);

/* The same, but makes a missing row. With HK_COURSE_DOMAINS domains, a further one is in the last
 * row, "other". Returns NULL without memory. */
struct hk_course_row *hk_course_row(struct hk_course *course, Hk__ActivityKind kind,
				    const char *domain);

/* Makes room for the time until NOW_TICKS. Call it before the rows of a sample are added. */
void hk_course_reach(struct hk_course *course, uint64_t now_ticks);

/* Sets ROW's total at NOW_TICKS to TOTAL, which is ignored if it is less than before. The growth is
 * spread from the last sample or FROM_TICKS, whichever is earlier. */
void hk_course_add(struct hk_course *course, struct hk_course_row *row, uint64_t total,
		   uint64_t from_ticks, uint64_t now_ticks);

/* The look at NOW_TICKS is over. */
void hk_course_end(struct hk_course *course, uint64_t now_ticks);

/* Replaces `activity` of STATE; each element is an allocation of its own. Returns 0, or -ENOMEM,
 * and `activity` then holds a part. */
int hk_course_write(const struct hk_course *course, Hk__Process *state);

/* Continues where an earlier collector ended at UNTIL_TICKS, from the `activity` in STATE without
 * its invalid rows. Returns 0, -ENOMEM, or -ENOENT if no row is valid. */
int hk_course_recover(struct hk_course *course, const Hk__Process *state, uint64_t until_ticks);

void hk_course_fini(struct hk_course *course);

#endif
