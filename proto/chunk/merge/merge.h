/* merge.h: the records of many processes as one stream, in order of their starts on a common clock.
 * There are two ways to find records, which give the same order: a window of time at once
 * (merge_window.h), or one by one with a loser tree (merge_tree.h) for small batches, sparse
 * streams, and records out of order or all at the same ns. Inputs give sorted batches, as cursors
 * do; memory is theirs. Threading: one thread. Lifetime: new, next until it returns 0, free; inputs
 * must outlive the merge. */
#ifndef HK_CHUNK_MERGE_MERGE_H
#define HK_CHUNK_MERGE_MERGE_H

#include "chunk/merge/merge_input.h"

struct hk_merge;

/* `batch` function for an input whose context is a struct hk_cursor. */
int hk_merge_cursor_batch(void *cursor, const struct hk_record **ret_records, size_t *ret_count);

/* Makes a merge of up to HK_MERGE_INPUTS_MAX inputs, which are copied, and takes the first batch of
 * each. Returns 0, -EINVAL for too many inputs, -ENOMEM, or an error of an input. Times are
 * distinguished over 2^(63 - 2 * log4 inputs) ns, the logarithm rounded up: 26 days for 4,096
 * processes. */
int hk_merge_new(const struct hk_merge_input *inputs, size_t count, struct hk_merge **ret_merge);

/* Frees a merge and returns NULL; accepts NULL. */
struct hk_merge *hk_merge_free(struct hk_merge *merge);

/* Next record. Of records that start in the same ns, those of the lower input come first, in its
 * order. Returns 1, 0 at the end, or -errno of an input, which is then closed: the next call
 * continues without it. */
int hk_merge_next(struct hk_merge *merge, struct hk_merged *ret_merged);

#endif
