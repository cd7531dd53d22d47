#include "chunk/codec/signatures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 6u /* site, length */

int hk_signatures_init(struct hk_signatures *signatures)
{
	*signatures = (struct hk_signatures){0};
	return hk_intern_init(&signatures->index);
}

static int reserve(struct hk_column *column, size_t bytes)
{
	size_t needed = column->used + bytes;

	if (needed <= column->capacity) {
		return 0;
	}
	uint8_t *grown = realloc(column->bytes, needed * 2);
	if (!grown) {
		return -ENOMEM;
	}
	column->bytes = grown;
	column->capacity = needed * 2;
	return 0;
}

static int add(struct hk_column *column, uint32_t site, const char *text)
{
	uint16_t length = (uint16_t)strnlen(text, HK_CHUNK_STRING_MAX);
	size_t bytes = HEAD_BYTES + length + 1u;

	if (column->used + bytes > HK_CHUNK_SECTION_BYTES_MAX) {
		return 0;
	}
	if (reserve(column, bytes) < 0) {
		return -ENOMEM;
	}
	uint8_t *at = column->bytes + column->used;
	memcpy(at, &site, sizeof(site));
	memcpy(at + sizeof(site), &length, sizeof(length));
	memcpy(at + HEAD_BYTES, text, length);
	at[HEAD_BYTES + length] = '\0';
	column->used += bytes;
	return 0;
}

int hk_signatures_add(struct hk_signatures *signatures, const struct hk_lanes *lanes,
		      const struct hk_chunk_names *names)
{
	const uint8_t *shapes = lanes->columns[HK_COLUMN_SHAPES].bytes;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && names->site && i < lanes->head.shapes; i++) {
		struct hk_chunk_site site = {0};
		uint32_t shape, number, known = signatures->index.count;
		memcpy(&shape, shapes + i * sizeof(shape), sizeof(shape));
		uint32_t id = shape & (HK_CHUNK_SITES_MAX - 1);
		if (!(shape >> HK_SHAPE_WORDS_SHIFT) ||
		    names->site(names->context, id, &site) < 0 || !site.signature ||
		    !*site.signature || shape >> HK_SHAPE_WORDS_SHIFT <= site.key_count) {
			continue;
		}
		if (hk_intern_add(&signatures->index, id, &number) < 0) {
			return -ENOMEM;
		}
		rc = number == known ? add(&signatures->column, id, site.signature) : 0;
	}
	return rc;
}

void hk_signatures_clear(struct hk_signatures *signatures)
{
	hk_intern_clear(&signatures->index);
	signatures->column.used = 0;
}

void hk_signatures_fini(struct hk_signatures *signatures)
{
	hk_intern_fini(&signatures->index);
	free(signatures->column.bytes);
	*signatures = (struct hk_signatures){0};
}

int hk_signatures_read(const uint8_t **at, const uint8_t *end, uint32_t *ret_site,
		       const char **ret_text)
{
	uint16_t length;

	if (end - *at <= (ptrdiff_t)HEAD_BYTES) {
		return -EBADMSG;
	}
	memcpy(ret_site, *at, sizeof(*ret_site));
	memcpy(&length, *at + sizeof(*ret_site), sizeof(length));
	const uint8_t *text = *at + HEAD_BYTES;
	if (*ret_site >= HK_CHUNK_SITES_MAX || length > HK_CHUNK_STRING_MAX ||
	    end - text <= length || text[length]) {
		return -EBADMSG;
	}
	*ret_text = (const char *)text;
	*at = text + length + 1;
	return 0;
}
