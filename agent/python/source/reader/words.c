#include "words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define BYTES_MAX (1u << 30)

struct hk_word {
	int32_t number;
	UT_hash_handle hh;
	char text[];
};

/* Makes room for one more text of SIZE bytes. Returns 0 or -ENOMEM. */
static int reserve(struct hk_words *words, size_t used, size_t size)
{
	if ((size_t)words->count + 2 > words->offset_capacity) {
		size_t capacity = words->offset_capacity ? words->offset_capacity * 2 : 64;
		int32_t *offsets = realloc(words->offsets, capacity * sizeof(*offsets));
		if (!offsets) {
			return -ENOMEM;
		}
		offsets[0] = words->count ? offsets[0] : 0;
		words->offsets = offsets;
		words->offset_capacity = capacity;
	}
	if (!words->bytes || used + size > words->capacity) {
		size_t capacity = (used + size) * 2 + 1024;
		char *bytes = realloc(words->bytes, capacity);
		if (!bytes) {
			return -ENOMEM;
		}
		words->bytes = bytes;
		words->capacity = capacity;
	}
	return 0;
}

static int32_t add(struct hk_words *words, const char *text, size_t size)
{
	size_t used = words->count ? (size_t)words->offsets[words->count] : 0;
	struct hk_word *word;

	if (size > BYTES_MAX - used || words->count >= INT32_MAX - 1) {
		return -EFBIG;
	}
	word = reserve(words, used, size) == 0 ? malloc(sizeof(*word) + size + 1) : NULL;
	if (!word) {
		return -ENOMEM;
	}
	word->number = (int32_t)words->count;
	memcpy(word->text, text, size + 1);
	HASH_ADD(hh, words->index, text, size, word);
	if (!word->hh.tbl) {
		free(word);
		return -ENOMEM;
	}
	memcpy(words->bytes + used, text, size);
	words->offsets[++words->count] = (int32_t)(used + size);
	hk_texts_unref(words->texts);
	words->texts = NULL;
	return word->number;
}

int32_t hk_words_number(struct hk_words *words, const char *text)
{
	size_t size = strlen(text);
	struct hk_word *word;

	HASH_FIND(hh, words->index, text, size, word);
	return word ? word->number : add(words, text, size);
}

struct hk_texts *hk_words_texts(struct hk_words *words)
{
	static const int32_t none[1];

	if (!words->texts) {
		words->texts =
		    hk_texts_new(words->count, words->count ? words->offsets : none, words->bytes);
	}
	return words->texts ? hk_texts_ref(words->texts) : NULL;
}

void hk_words_fini(struct hk_words *words)
{
	struct hk_word *word, *next;

	HASH_ITER (hh, words->index, word, next) {
		HASH_DEL(words->index, word);
		free(word);
	}
	free(words->offsets);
	free(words->bytes);
	hk_texts_unref(words->texts);
	*words = (struct hk_words){0};
}
