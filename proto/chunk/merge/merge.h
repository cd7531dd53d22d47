/* merge.h: the records of many processes as one stream, in order of their starts on a common clock.
 *
 * Records are found in two ways that give the same order: a window of time at once
 * (merge_window.h), or where that does not do - batches of few records, sparse streams, records out
 * of order or all at the same ns - one by one with a loser tree (merge_tree.h). Inputs give
 * sorted batches, as cursors do; memory is theirs. Threading: one thread. Lifetime: new, next until
 * it says 0, free; inputs must outlive the merge.
 */
#ifndef HK_CHUNK_MERGE_MERGE_H
#define HK_CHUNK_MERGE_MERGE_H

#include "chunk/merge/merge_input.h"

struct hk_merge;

/* `batch` for an input whose context is a struct hk_cursor. */
int hk_merge_cursor_batch(void *cursor, const struct hk_record **ret_records, size_t *ret_count);

/* Makes a merge of up to HK_MERGE_INPUTS_MAX inputs, which are copied, and takes the first batch of
 * each. -EINVAL: too many; -ENOMEM; errors of the inputs. Times are told apart over 2^(63 - 2 *
 * log4 inputs) ns, the logarithm rounded up: 26 days of 4,096 processes. */
int hk_merge_new(const struct hk_merge_input *inputs, size_t count, struct hk_merge **ret_merge);

/* Frees a merge and returns NULL; NULL is fine. */
struct hk_merge *hk_merge_free(struct hk_merge *merge);

/* Next record. Of records that start in the same ns the one of the lower input comes first, of one
 * input all in its order. 1: there is one; 0: the end; -errno of an input, which is then closed:
 * the next call goes on without it. */
int hk_merge_next(struct hk_merge *merge, struct hk_merged *ret_merged);

#endif
