#include "wire/parts.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "wire/change.h"
#include "wire/message.h"

#define LENGTH_BYTES 6u	 /* most bytes of an element's tag and length */
#define ROW_BYTES 135u	 /* most bytes of a row in its columns */
#define BUCKET_BYTES 15u /* most bytes of a bucket */

/* ---- fields ---- */

typedef const ProtobufCFieldDescriptor field_type;

struct elements {
	ProtobufCMessage **list;
	size_t count;
};

static struct elements get(const Hk__Process *process, field_type *field)
{
	struct elements elements;

	memcpy(&elements.list, (const char *)process + field->offset, sizeof(elements.list));
	memcpy(&elements.count, (const char *)process + field->quantifier_offset,
	       sizeof(elements.count));
	return elements;
}

static void set(Hk__Process *process, field_type *field, struct elements elements)
{
	memcpy((char *)process + field->offset, &elements.list, sizeof(elements.list));
	memcpy((char *)process + field->quantifier_offset, &elements.count, sizeof(elements.count));
}

static void empty(Hk__Process *process)
{
	const ProtobufCMessageDescriptor *descriptor = &hk__process__descriptor;

	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		if (hk_change_is_by_element(&descriptor->fields[i])) {
			set(process, &descriptor->fields[i], (struct elements){0});
		}
	}
	process->cells = NULL;
}

/* ---- pieces ---- */

/* Gives the piece the next elements of FIELD. Returns false at its end. */
static bool take_elements(struct hk_parts *parts, field_type *field)
{
	struct elements whole = get(parts->whole, field);
	size_t bytes = 0, first = parts->element;

	while (parts->element < whole.count) {
		bytes +=
		    LENGTH_BYTES + protobuf_c_message_get_packed_size(whole.list[parts->element]);
		if (bytes > parts->most_bytes && parts->element > first) {
			break;
		}
		parts->element++;
	}
	size_t count = parts->element - first;
	if (count > 0) {
		set(&parts->piece, field, (struct elements){whole.list + first, count});
	}
	return count > 0;
}

/* Moves a column to element FIRST and sets its length to COUNT; an absent one stays absent. */
#define CUT(columns, name, first, count)               \
	do {                                           \
		if ((columns)->n_##name > 0) {         \
			(columns)->name += (first);    \
			(columns)->n_##name = (count); \
		}                                      \
	} while (0)

/* Gives the piece the next rows of statistics. Returns false at their end. */
static bool take_rows(struct hk_parts *parts)
{
	Hk__Cells *cells = &parts->cells;
	size_t bytes = 0, first = parts->element, first_bucket = parts->bucket;
	if (!parts->whole->cells) {
		return false;
	}
	*cells = *parts->whole->cells;
	while (parts->element < parts->whole->cells->n_site) {
		size_t buckets = cells->n_buckets > 0 ? cells->buckets[parts->element] : 0;
		bytes += ROW_BYTES + buckets * BUCKET_BYTES;
		if (bytes > parts->most_bytes && parts->element > first) {
			break;
		}
		parts->element++;
		parts->bucket += buckets;
	}
	size_t count = parts->element - first, bucket_count = parts->bucket - first_bucket;
	CUT(cells, site, first, count);
	CUT(cells, calls, first, count);
	CUT(cells, errors, first, count);
	CUT(cells, total_ns, first, count);
	CUT(cells, self_ns, first, count);
	CUT(cells, outermost_ns, first, count);
	CUT(cells, bytes, first, count);
	CUT(cells, min_ns, first, count);
	CUT(cells, max_ns, first, count);
	CUT(cells, sampled, first, count);
	CUT(cells, sampled_ns, first, count);
	CUT(cells, sampled_self_ns, first, count);
	CUT(cells, sampled_outermost_ns, first, count);
	CUT(cells, sampled_bytes, first, count);
	CUT(cells, device_ns, first, count);
	CUT(cells, stacks, first, count);
	CUT(cells, inner_calls, first, count);
	CUT(cells, buckets, first, count);
	CUT(cells, bucket, first_bucket, bucket_count);
	CUT(cells, count, first_bucket, bucket_count);
	parts->piece.cells = cells;
	return count > 0;
}

static bool take(struct hk_parts *parts, field_type *field)
{
	if (field->offset == offsetof(Hk__Process, cells)) {
		return take_rows(parts);
	}
	return hk_change_is_by_element(field) && take_elements(parts, field);
}

const Hk__Process *hk_parts_next(struct hk_parts *parts)
{
	const ProtobufCMessageDescriptor *descriptor = &hk__process__descriptor;

	if (!parts->begun) {
		parts->begun = true;
		parts->bare = *parts->whole;
		empty(&parts->bare);
		parts->piece = parts->bare;
		return &parts->piece;
	}
	parts->piece = parts->bare;
	while (parts->field < descriptor->n_fields) {
		field_type *field = &descriptor->fields[parts->field];
		if (take(parts, field)) {
			parts->key = (uint64_t)field->id << 32 | parts->number++;
			return &parts->piece;
		}
		parts->field++;
		parts->number = 0;
		parts->element = parts->bucket = 0;
	}
	return NULL;
}

int hk_parts_digest(const struct hk_parts *parts, uint64_t *ret_digest)
{
	const ProtobufCMessageDescriptor *descriptor = &hk__process__descriptor;
	Hk__Process own = HK__PROCESS__INIT;
	uint8_t *bytes;
	size_t size;

	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		field_type *field = &descriptor->fields[i];
		if (hk_change_is_by_element(field)) {
			set(&own, field, get(&parts->piece, field));
		}
	}
	own.cells = parts->piece.cells;
	int r = hk_message_pack(&own.base, &bytes, &size);
	if (r == 0) {
		*ret_digest = XXH3_64bits(bytes, size);
		free(bytes);
	}
	return r;
}
