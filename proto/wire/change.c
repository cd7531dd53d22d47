#include "wire/change.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "wire/columns.h"
#include "wire/message.h"

#define UID_BYTES 16u
#define UID_FIELD 1u /* number of hk.Process.uid */
#define KEYS_MAX 3
#define ROOM_MIN 16u /* slots */

typedef const ProtobufCFieldDescriptor field_type;

static void *at(const void *message, unsigned offset)
{
	return (char *)(uintptr_t)message + offset;
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

/* Compares messages of one type; either may be NULL. */
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

/* Lists that are sent element by element: their keys, and how many elements are kept. Beyond that
 * the oldest but the first are dropped, as in the collector's list of threads. */
static const struct keyed_list {
	unsigned number; /* number of the field */
	const char *keys[KEYS_MAX];
	size_t most;
} keyed_lists[] = {
    {28, {"id"}, 1u << 20},			   /* sites */
    {30, {"uid"}, 4096},			   /* threads */
    {32, {"device", "kind", "library"}, 1u << 16}, /* memory */
    {62, {"device", "kind", "part"}, 1u << 12},	   /* parts of memory over time */
    {64, {"kind", "domain", "part"}, 1u << 10},	   /* parts of activity */
    {65, {"number"}, 1u << 12},			   /* objects on stacks */
    {66, {"part"}, 1u << 9},			   /* parts of frames */
    {68, {"part"}, 1u << 6},			   /* parts of Python functions */
    {72, {"part"}, 1u << 9},			   /* parts of places in source code */
    {84, {"number"}, 1u << 14},			   /* kernels */
    {120, {"group", "slot"}, 1u << 10},		   /* digests by step */
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

bool hk_change_is_by_element(field_type *field)
{
	return keyed_list_of(field) != NULL;
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

/* Finds elements of IN by their keys. Two lists are usually in the same order, so the element
 * behind the last one found is tried first. For all others there is a hash table, made at the first
 * miss, which makes merging linear whatever the order. Its seed is random: the keys come from
 * peers, and none may choose keys that collide. */
struct lookup {
	struct elements in;
	field_type *keys[KEYS_MAX];
	size_t hint;
	uint32_t *slots; /* positions in IN plus one, 0: free */
	size_t room;	 /* slots, a power of two */
	size_t indexed;	 /* elements of IN that have a slot */
	uint64_t seed;
};

static struct lookup lookup_of(const struct keyed_list *list, struct elements in,
			       const ProtobufCMessageDescriptor *descriptor)
{
	struct lookup lookup = {.in = in};
	for (size_t i = 0; i < KEYS_MAX && list->keys[i]; i++) {
		lookup.keys[i] =
		    protobuf_c_message_descriptor_get_field_by_name(descriptor, list->keys[i]);
	}
	return lookup;
}

static bool same_key(const struct lookup *lookup, const ProtobufCMessage *a,
		     const ProtobufCMessage *b)
{
	for (size_t i = 0; i < KEYS_MAX && lookup->keys[i]; i++) {
		if (!same_field(lookup->keys[i], a, b)) {
			return false;
		}
	}
	return true;
}

static uint64_t hash_key(const struct lookup *lookup, const ProtobufCMessage *message)
{
	uint64_t hash = lookup->seed;
	for (size_t i = 0; i < KEYS_MAX && lookup->keys[i]; i++) {
		field_type *field = lookup->keys[i];
		const void *value = at(message, field->offset);
		bool text = field->type == PROTOBUF_C_TYPE_STRING;
		const char *bytes = text ? *(char *const *)value : value;
		hash = XXH3_64bits_withSeed(bytes, text ? strlen(bytes) : size_of(field), hash);
	}
	return hash;
}

/* The slot of the element with the key of WANTED, or the free one where it belongs. */
static uint32_t *slot_of(const struct lookup *lookup, const ProtobufCMessage *wanted)
{
	size_t at_slot = hash_key(lookup, wanted);
	for (;; at_slot++) {
		uint32_t *slot = &lookup->slots[at_slot & (lookup->room - 1)];
		if (*slot == 0 || same_key(lookup, (*lookup->in.list)[*slot - 1], wanted)) {
			return slot;
		}
	}
}

/* Gives every element of the list a slot. Of equal keys the first one has it. */
static int index_all(struct lookup *lookup)
{
	size_t count = *lookup->in.count;
	if (2 * count > lookup->room) {
		size_t room = lookup->room ? lookup->room : ROOM_MIN;
		while (room < 4 * count) {
			room *= 2;
		}
		uint32_t *slots = calloc(room, sizeof(*slots));
		if (!slots || getrandom(&lookup->seed, sizeof(lookup->seed), 0) < 0) {
			free(slots);
			return -ENOMEM;
		}
		free(lookup->slots);
		lookup->slots = slots;
		lookup->room = room;
		lookup->indexed = 0;
	}
	for (; lookup->indexed < count; lookup->indexed++) {
		uint32_t *slot = slot_of(lookup, (*lookup->in.list)[lookup->indexed]);
		*slot = *slot ? *slot : (uint32_t)lookup->indexed + 1;
	}
	return 0;
}

/* Sets *RET_POSITION to the element with the key of WANTED, or to the list's count if there is no
 * such element. Returns 0 or -ENOMEM. */
static int find(struct lookup *lookup, const ProtobufCMessage *wanted, size_t *ret_position)
{
	size_t count = *lookup->in.count, position = lookup->hint < count ? lookup->hint : 0;
	if (count > 0 && !same_key(lookup, (*lookup->in.list)[position], wanted)) {
		int r = index_all(lookup);
		if (r < 0) {
			return r;
		}
		uint32_t slot = *slot_of(lookup, wanted);
		position = slot ? slot - 1 : count;
	}
	lookup->hint = position + 1;
	*ret_position = position;
	return 0;
}

/* Makes room for one more element; the capacity of a list is the next power of two. */
static int make_room(struct elements in)
{
	size_t count = *in.count;
	if ((count & (count - 1)) != 0) {
		return 0;
	}
	ProtobufCMessage **larger = realloc(*in.list, (count ? 2 * count : 1) * sizeof(*larger));
	if (!larger) {
		return -ENOMEM;
	}
	*in.list = larger;
	return 0;
}

/* Appends a copy of FROM. */
static int append_copy(struct elements to, const ProtobufCMessage *from)
{
	int r = make_room(to);
	r = r < 0 ? r : copy_message(from, &(*to.list)[*to.count]);
	*to.count += r == 0;
	return r;
}

/* A list that protobuf-c unpacked has no spare capacity: gives it the capacity that make_room
 * expects. */
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

/* Keeps the first element and the newest, MOST together. */
static void drop_oldest(struct elements in, size_t most)
{
	size_t count = *in.count, more = count > most ? count - most : 0;
	for (size_t i = 1; i <= more; i++) {
		free_message((*in.list)[i]);
	}
	if (more > 0) {
		memmove(*in.list + 1, *in.list + 1 + more, (most - 1) * sizeof(**in.list));
		*in.count = most;
	}
}

/* Moves the elements of FROM to TO. Elements that they replace go to FROM; new ones leave a hole
 * there, which is closed. */
static int merge_list(const struct keyed_list *list, struct elements to, struct elements from)
{
	if (*from.count == 0) {
		return 0;
	}
	struct lookup lookup = lookup_of(list, to, (*from.list)[0]->descriptor);
	size_t kept = 0;
	int r = widen(to);
	for (size_t i = 0; i < *from.count; i++) {
		ProtobufCMessage *element = (*from.list)[i];
		size_t k = 0;
		r = r < 0 ? r : find(&lookup, element, &k);
		if (r == 0 && k == *to.count) {
			r = make_room(to);
		}
		if (r < 0) {
			(*from.list)[kept++] = element;
		} else if (k < *to.count) {
			(*from.list)[kept++] = (*to.list)[k];
			(*to.list)[k] = element;
		} else {
			(*to.list)[(*to.count)++] = element;
		}
	}
	*from.count = kept;
	drop_oldest(to, list->most);
	free(lookup.slots);
	return r;
}

static int list_difference(const struct keyed_list *list, struct elements change,
			   struct elements now, struct elements before, bool *differs)
{
	if (*now.count == 0) {
		return 0;
	}
	struct lookup lookup = lookup_of(list, before, (*now.list)[0]->descriptor);
	int r = 0;
	for (size_t i = 0; i < *now.count && r == 0; i++) {
		const ProtobufCMessage *element = (*now.list)[i];
		size_t k = 0;
		r = find(&lookup, element, &k);
		if (r == 0 && (k == *before.count || !same_message((*before.list)[k], element))) {
			*differs = true;
			r = append_copy(change, element);
		}
	}
	free(lookup.slots);
	return r;
}

/* A list of texts has their addresses in the place of messages. */
static int append_text(struct elements to, const char *from)
{
	int r = make_room(to);
	char *copy = r < 0 ? NULL : strdup(from);
	if (!copy) {
		return -ENOMEM;
	}
	(*to.list)[(*to.count)++] = (ProtobufCMessage *)(void *)copy;
	return 0;
}

static int copy_list(struct elements to, struct elements from, bool texts)
{
	int r = 0;
	for (size_t i = 0; i < *from.count && r == 0; i++) {
		const ProtobufCMessage *element = (*from.list)[i];
		r = texts ? append_text(to, (const char *)(const void *)element)
			  : append_copy(to, element);
	}
	return r;
}

static void swap_list(struct elements to, struct elements from)
{
	ProtobufCMessage **list = *to.list;
	size_t count = *to.count;
	*to.list = *from.list;
	*to.count = *from.count;
	*from.list = list;
	*from.count = count;
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

static bool is_empty(field_type *field, const void *value)
{
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		return !**(char *const *)value;
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		return ((const ProtobufCBinaryData *)value)->len == 0;
	}
	return field->type == PROTOBUF_C_TYPE_MESSAGE && !*(ProtobufCMessage *const *)value;
}

/* Copies a field that is not a list, unless it is empty. TO is empty before. */
static int copy_field(void *to, const void *from, field_type *field)
{
	void *into = at(to, field->offset);
	const void *value = at(from, field->offset);
	if (is_empty(field, value)) {
		return 0;
	}
	if (field->type == PROTOBUF_C_TYPE_STRING) {
		return set_string(into, *(char *const *)value);
	}
	if (field->type == PROTOBUF_C_TYPE_BYTES) {
		return set_bytes(into, value);
	}
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		return set_message(into, *(ProtobufCMessage *const *)value);
	}
	memcpy(into, value, size_of(field));
	return 0;
}

/* Swaps a field that is not a list, unless that of FROM is empty. */
static void swap_field(void *to, void *from, field_type *field)
{
	uint8_t kept[sizeof(ProtobufCBinaryData)];
	void *into = at(to, field->offset), *value = at(from, field->offset);
	size_t size = size_of(field);
	if (!is_empty(field, value)) {
		memcpy(kept, into, size);
		memcpy(into, value, size);
		memcpy(value, kept, size);
	}
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
		return copy_list(elements_of(change, field), elements_of(now, field),
				 field->type == PROTOBUF_C_TYPE_STRING);
	}
	return same && !is_number(field) ? 0 : copy_field(change, now, field);
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

int hk_change_apply(Hk__Process *state, Hk__Process *change)
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
			swap_list(elements_of(state, field), elements_of(change, field));
		} else if (field->id != UID_FIELD) {
			swap_field(state, change, field);
		}
	}
	return r;
}
