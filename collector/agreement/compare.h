/* compare.h: compares the digests of a job's ranks.
 *
 * A step of a group is compared when all its ranks have reported it. The group's ranks are those of
 * the job, or those that its text ends in: "gradients of ranks 0,4-7". A step of which a rank's
 * digests were lost is compared among the others, when a later step was reported by all, when the
 * ranks are about to drop it, or at the end. Only the first difference of a group is kept. Not
 * thread-safe. */
#ifndef HK_COLLECTOR_AGREEMENT_COMPARE_H
#define HK_COLLECTOR_AGREEMENT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/wire.pb-c.h"

/* Compares the rows of PROCESSES, COUNT of them, and brings JOB's `agreements` up to date. Of a
 * rank with several main processes the one that started last counts. ENDED: no more rows will come.
 * Returns 1 if something changed, 0, or -ENOMEM. */
int hk_agreement_compare(Hk__Job *job, Hk__Process *const *processes, size_t count, bool ended);

/* Returns how many ranks the group called TEXT has, 0 if it does not say. */
uint32_t hk_agreement_ranks(const char *text);

#endif
