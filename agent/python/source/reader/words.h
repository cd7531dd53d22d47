/* words.h: the dictionary of a column: texts, each with a number from 0 on. Locked by the caller.
 */
#ifndef HK_READER_WORDS_H
#define HK_READER_WORDS_H

#include "table.h"

struct hk_word;

struct hk_words {
	struct hk_word *index;
	int32_t *offsets;
	char *bytes;
	int64_t count;
	size_t offset_capacity, capacity;
	struct hk_texts *texts; /* as of the last hk_words_texts */
};

/* Returns the number of TEXT, which is added if it is new; -ENOMEM; or -EFBIG beyond 1 GiB of
 * texts. */
int32_t hk_words_number(struct hk_words *words, const char *text);

/* Returns a reference to all texts so far, the same one until a text is added; NULL if out of
 * memory. */
struct hk_texts *hk_words_texts(struct hk_words *words);

/* Frees everything; accepts a zeroed one. */
void hk_words_fini(struct hk_words *words);

#endif
