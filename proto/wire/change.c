#include "wire/change.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire/columns.h"
#include "wire/message.h"

#define UID_BYTES 16u

typedef const ProtobufCFieldDescriptor field_type;

static void *at(const void *message, unsigned offset)
{
	return (char *)(uintptr_t)message + offset;
}

static const ProtobufCMessage *message_at(const void *message, unsigned offset)
{
	return *(ProtobufCMessage *const *)at(message, offset);
}

static size_t count_of(const void *message, field_type *field)
{
	return *(const size_t *)at(message, field->quantifier_offset);
}

static size_t size_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return sizeof(uint64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return sizeof(uint32_t);
	}
}

/* ---- equal or not ---- */

static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b);

static bool same_value(field_type *field, const void *a, const void *b)
{
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		return strcmp(*(char *const *)a, *(char *const *)b) == 0;
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		return hk_message_same_bytes(a, b);
	}
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		return same_message(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
	}
	return memcmp(a, b, size_of(field)) == 0;
}

static bool same_field(field_type *field, const void *a, const void *b)
{
	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		return same_value(field, at(a, field->offset), at(b, field->offset));
	}
	size_t count = count_of(a, field), size = size_of(field);
	if (count != count_of(b, field)) {
		return false;
	}
	const char *x = *(char *const *)at(a, field->offset);
	const char *y = *(char *const *)at(b, field->offset);
	for (size_t i = 0; i < count; i++) {
		if (!same_value(field, x + i * size, y + i * size)) {
			return false;
		}
	}
	return true;
}

/* Messages of one type; either may be NULL. */
static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
	if (!a || !b) {
		return a == b;
	}
	for (unsigned i = 0; i < a->descriptor->n_fields; i++) {
		if (!same_field(&a->descriptor->fields[i], a, b)) {
			return false;
		}
	}
	return true;
}

/* ---- copies ---- */

static int copy_message(const ProtobufCMessage *from, ProtobufCMessage **ret_copy)
{
	uint8_t *bytes;
	size_t size;
	int r = hk_message_pack(from, &bytes, &size);
	if (r == 0) {
		r = hk_message_unpack(from->descriptor, bytes, size, ret_copy);
		free(bytes);
	}
	return r < 0 ? -ENOMEM : 0;
}

static void free_message(ProtobufCMessage *message)
{
	if (message) {
		protobuf_c_message_free_unpacked(message, NULL);
	}
}

static int set_message(ProtobufCMessage **to, const ProtobufCMessage *from)
{
	ProtobufCMessage *copy;
	int r = copy_message(from, &copy);
	if (r == 0) {
		free_message(*to);
		*to = copy;
	}
	return r;
}

static int set_string(char **to, const char *from)
{
	char *copy = strdup(from);
	if (!copy) {
		return -ENOMEM;
	}
	if (*to != protobuf_c_empty_string) {
		free(*to);
	}
	*to = copy;
	return 0;
}

static int set_bytes(ProtobufCBinaryData *to, const ProtobufCBinaryData *from)
{
	uint8_t *copy = malloc(from->len);
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, from->data, from->len);
	free(to->data);
	*to = (ProtobufCBinaryData){.len = from->len, .data = copy};
	return 0;
}

/* ---- lists ---- */

/* Lists whose elements are told one by one: what an element is known by, and how many are kept; of
 * more the oldest but the first goes, as with the threads of the process that is told of. */
static const struct keyed_list {
	unsigned number; /* of the field */
	const char *keys[3];
	size_t most;
} keyed_lists[] = {
    {28, {"id"}, 1u << 20},			   /* sites */
    {30, {"uid"}, 4096},			   /* threads */
    {32, {"device", "kind", "library"}, 1u << 16}, /* memory */
    {62, {"device", "kind", "part"}, 1u << 12},	   /* parts of memory over time */
};

static const struct keyed_list *keyed_list_of(field_type *field)
{
	for (size_t i = 0; i < sizeof(keyed_lists) / sizeof(keyed_lists[0]); i++) {
		if (keyed_lists[i].number == field->id) {
			return &keyed_lists[i];
		}
	}
	return NULL;
}

static bool same_key(const struct keyed_list *list, const ProtobufCMessage *a,
		     const ProtobufCMessage *b)
{
	for (size_t i = 0; i < 3 && list->keys[i]; i++) {
		field_type *field =
		    protobuf_c_message_descriptor_get_field_by_name(a->descriptor, list->keys[i]);
		if (!same_field(field, a, b)) {
			return false;
		}
	}
	return true;
}

/* A list of messages in MESSAGE. */
struct elements {
	ProtobufCMessage ***list;
	size_t *count;
};

static struct elements elements_of(const void *message, field_type *field)
{
	return (struct elements){at(message, field->offset), at(message, field->quantifier_offset)};
}

/* Index of the element with the key of WANTED, its count if there is none. Both lists are in about
 * the same order, so the search goes on from *HINT. */
static size_t find(const struct keyed_list *list, struct elements in,
		   const ProtobufCMessage *wanted, size_t *hint)
{
	for (size_t i = 0; i < *in.count; i++) {
		size_t k = (*hint + i) % *in.count;
		if (same_key(list, (*in.list)[k], wanted)) {
			*hint = k + 1;
			return k;
		}
	}
	return *in.count;
}

/* Appends a copy of FROM; the capacity of a list is the next power of two. */
static int append(struct elements to, const ProtobufCMessage *from)
{
	size_t count = *to.count;
	if ((count & (count - 1)) == 0) {
		ProtobufCMessage **larger =
		    realloc(*to.list, (count ? 2 * count : 1) * sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		*to.list = larger;
	}
	int r = copy_message(from, &(*to.list)[count]);
	*to.count += r == 0;
	return r;
}

/* A list that protobuf-c unpacked is as long as it is: gives it the capacity that append counts on.
 */
static int widen(struct elements in)
{
	size_t capacity = 1;
	while (capacity < *in.count) {
		capacity *= 2;
	}
	ProtobufCMessage **wider = realloc(*in.list, capacity * sizeof(*wider));
	if (!wider) {
		return -ENOMEM;
	}
	*in.list = wider;
	return 0;
}

static void drop_second(struct elements in)
{
	free_message((*in.list)[1]);
	memmove(*in.list + 1, *in.list + 2, (*in.count - 2) * sizeof(**in.list));
	(*in.count)--;
}

static int merge_list(const struct keyed_list *list, struct elements to, struct elements from)
{
	size_t hint = 0;
	int r = *from.count > 0 ? widen(to) : 0;
	for (size_t i = 0; i < *from.count && r == 0; i++) {
		const ProtobufCMessage *element = (*from.list)[i];
		size_t k = find(list, to, element, &hint);
		if (k < *to.count) {
			r = set_message(&(*to.list)[k], element);
			continue;
		}
		if (*to.count >= list->most) {
			drop_second(to);
		}
		r = append(to, element);
	}
	return r;
}

static int list_difference(const struct keyed_list *list, struct elements change,
			   struct elements now, struct elements before, bool *differs)
{
	size_t hint = 0;
	int r = 0;
	for (size_t i = 0; i < *now.count && r == 0; i++) {
		const ProtobufCMessage *element = (*now.list)[i];
		size_t k = find(list, before, element, &hint);
		if (k == *before.count || !same_message((*before.list)[k], element)) {
			*differs = true;
			r = append(change, element);
		}
	}
	return r;
}

static int replace_list(struct elements to, struct elements from)
{
	for (size_t i = 0; i < *to.count; i++) {
		free_message((*to.list)[i]);
	}
	*to.count = 0;
	int r = widen(to);
	for (size_t i = 0; i < *from.count && r == 0; i++) {
		r = append(to, (*from.list)[i]);
	}
	return r;
}

/* ---- a process ---- */

int hk_change_begin(const Hk__Process *change, Hk__Process **ret_state)
{
	if (change->uid.len != UID_BYTES) {
		return -EINVAL;
	}
	Hk__Process *state = malloc(sizeof(*state));
	if (!state) {
		return -ENOMEM;
	}
	hk__process__init(state);
	int r = set_bytes(&state->uid, &change->uid);
	if (r < 0) {
		free(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

/* Sets a field that is no list to that of FROM, unless that is empty. */
static int set_field(void *to, const void *from, field_type *field)
{
	void *into = at(to, field->offset);
	const void *value = at(from, field->offset);
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		const char *text = *(char *const *)value;
		return *text ? set_string(into, text) : 0;
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		const ProtobufCBinaryData *bytes = value;
		return bytes->len > 0 ? set_bytes(into, bytes) : 0;
	}
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessage *message = message_at(from, field->offset);
		return message ? set_message(into, message) : 0;
	}
	memcpy(into, value, size_of(field));
	return 0;
}

static bool is_number(field_type *field)
{
	return field->label != PROTOBUF_C_LABEL_REPEATED && field->type != PROTOBUF_C_TYPE_STRING &&
	       field->type != PROTOBUF_C_TYPE_BYTES && field->type != PROTOBUF_C_TYPE_MESSAGE;
}

static bool is_cells(field_type *field)
{
	return field->offset == offsetof(Hk__Process, cells);
}

static int field_difference(Hk__Process *change, const Hk__Process *now, const Hk__Process *before,
			    field_type *field, bool *differs)
{
	const struct keyed_list *list = keyed_list_of(field);
	if (is_cells(field)) {
		int r = hk_columns_difference(now->cells, before->cells, &change->cells);
		*differs |= r == 0 && change->cells;
		return r;
	}
	if (list) {
		return list_difference(list, elements_of(change, field), elements_of(now, field),
				       elements_of(before, field), differs);
	}
	bool same = same_field(field, now, before);
	*differs |= !same;
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		return replace_list(elements_of(change, field), elements_of(now, field));
	}
	return same && !is_number(field) ? 0 : set_field(change, now, field);
}

int hk_change_make(const Hk__Process *now, const Hk__Process *before, Hk__Process **ret_change)
{
	static const Hk__Process nothing = HK__PROCESS__INIT;
	const ProtobufCMessageDescriptor *descriptor = &hk__process__descriptor;
	Hk__Process *change;
	bool differs = !before;
	int r = hk_change_begin(now, &change);
	if (r < 0) {
		return r;
	}
	for (unsigned i = 0; i < descriptor->n_fields && r == 0; i++) {
		r = field_difference(change, now, before ? before : &nothing,
				     &descriptor->fields[i], &differs);
	}
	if (r < 0 || !differs) {
		hk__process__free_unpacked(change, NULL);
		return r;
	}
	*ret_change = change;
	return 1;
}

int hk_change_apply(Hk__Process *state, const Hk__Process *change)
{
	const ProtobufCMessageDescriptor *descriptor = &hk__process__descriptor;
	if (!same_value(&descriptor->fields[0], &state->uid, &change->uid) ||
	    !hk_columns_valid(change->cells)) {
		return -EINVAL;
	}
	int r = 0;
	for (unsigned i = 0; i < descriptor->n_fields && r == 0; i++) {
		field_type *field = &descriptor->fields[i];
		const struct keyed_list *list = keyed_list_of(field);
		if (is_cells(field)) {
			r = hk_columns_merge(&state->cells, change->cells);
		} else if (list) {
			r = merge_list(list, elements_of(state, field), elements_of(change, field));
		} else if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			r = replace_list(elements_of(state, field), elements_of(change, field));
		} else {
			r = set_field(state, change, field);
		}
	}
	return r;
}
