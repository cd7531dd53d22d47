#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deferred.h"
#include "tensor/walk.h"

#define VALUES_MAX 4096u /* of one call */
#define FREE_MAX 16u	 /* records that are kept for later calls */

static struct hk_record *free_records;
static unsigned int many_free;

struct hk_record *hk_record_new(void)
{
	struct hk_record *record = free_records;

	if (!record) {
		return calloc(1, sizeof(*record));
	}
	free_records = record->next;
	many_free--;
	struct hk_value *values = record->values;
	size_t room = record->room;

	*record = (struct hk_record){.values = values, .room = room};
	return record;
}

static void free_value(struct hk_value *value)
{
	free(value->scalar);
	free(value->copy);
	Py_XDECREF(value->tensor);
	Py_XDECREF(value->view.owner);
	Py_XDECREF(value->node);
}

void hk_record_free(struct hk_record *record)
{
	for (size_t i = 0; i < record->many; i++) {
		free_value(&record->values[i]);
	}
	Py_XDECREF(record->name);
	Py_XDECREF(record->of);
	Py_XDECREF(record->optimizer);
	if (many_free >= FREE_MAX || record->room > 256) {
		free(record->values);
		free(record);
		return;
	}
	record->next = free_records;
	free_records = record;
	many_free++;
}

static bool grow(struct hk_record *record)
{
	size_t room = record->room ? 2 * record->room : 16;
	struct hk_value *values =
	    record->many < VALUES_MAX ? realloc(record->values, room * sizeof(*values)) : NULL;

	if (!values) {
		hk_values_leave(record->many < VALUES_MAX ? HK_LEFT_MEMORY : HK_LEFT_MANY);
		return false;
	}
	record->values = values;
	record->room = room;
	return true;
}

struct hk_value *hk_record_add(struct hk_record *record, enum hk_dump_role role, const char *slot)
{
	if (record->many == record->room && !grow(record)) {
		return NULL;
	}
	struct hk_value *value = &record->values[record->many++];

	snprintf(value->slot, sizeof(value->slot), "%s", slot);
	value->role = role;
	value->scalar = NULL;
	value->tensor = NULL;
	value->copy = NULL;
	value->view.owner = NULL;
	value->has_statistics = false;
	value->takes_gradient = false;
	value->node = NULL;
	return value;
}

struct hk_dump_row hk_record_row(const struct hk_record *record, const struct hk_value *value)
{
	return (struct hk_dump_row){
	    .sequence = record->sequence,
	    .forward_sequence = record->sequence,
	    .step = hk_values.step,
	    .kind = record->kind,
	    .phase = HK_DUMP_FORWARD,
	    .role = value->role,
	    .name = hk_values_text(record->name),
	    .of = hk_values_text(record->of),
	    .number = record->number,
	    .slot = value->slot,
	    .device = "",
	    .scalar = value->scalar,
	    .flags = record->flags,
	    .stack = record->stack,
	    .thread = record->thread,
	    .begin_ns = record->seen.begin_ns,
	};
}

bool hk_record_measure(const struct hk_view *view, struct hk_statistics *statistics)
{
	struct hk_tensor tensor = hk_tensor_of(view);

	return view->data && hk_statistics_take(&tensor, statistics) == 0;
}

void hk_record_defer(struct hk_value *value)
{
	bool wanted = value->view.on_device && !hk_values.watching;

	value->deferred = wanted ? hk_deferred_reserve(value->tensor) : HK_DUMP_NONE;
}

bool hk_record_is_changed(const struct hk_record *record, const struct hk_value *value)
{
	if (!value->tensor || hk_tensor_version(value->tensor) != value->view.version) {
		return true;
	}
	for (size_t i = record->inputs; i < record->many; i++) {
		if (record->values[i].tensor == value->tensor) {
			return true;
		}
	}
	return false;
}

void hk_record_defer_find(struct hk_record *record)
{
	for (size_t i = 0; i < record->many; i++) {
		struct hk_value *value = &record->values[i];
		bool changed = i < record->inputs && hk_record_is_changed(record, value);
		if (!value->scalar && value->view.on_device && !changed) {
			value->deferred = hk_deferred_reserve(value->tensor);
		}
	}
}

void hk_record_copy(struct hk_value *value)
{
	struct hk_tensor tensor = hk_tensor_of(&value->view);
	struct hk_walk walk;
	size_t count;

	if (value->scalar || !value->view.data || hk_walk_start(&walk, &tensor) < 0) {
		return;
	}
	uint8_t *next = value->copy = malloc(walk.left * walk.size + 1);

	if (!next) {
		hk_values_leave(HK_LEFT_MEMORY);
	}
	while (next && walk.left > 0) {
		const void *piece = hk_walk_next(&walk, next, (size_t)walk.left, &count);
		if (piece != next) {
			memcpy(next, piece, count * walk.size);
		}
		next += count * walk.size;
	}
}

/* Adds ROW, and its ELEMENTS unless that is NULL. */
static void write_now(const struct hk_dump_row *row, const struct hk_tensor *elements)
{
	if (!hk_values.writer) {
		return;
	}
	if (elements) {
		hk_values.offered_bytes += row->statistics.count * hk_dtype_bytes(row->dtype);
	}
	hk_dump_writer_add(hk_values.writer, row, elements);
}

static void describe(struct hk_dump_row *row, const struct hk_view *view)
{
	row->device = view->device;
	row->flags |= view->flags;
	row->dtype = view->dtype;
	row->dimensions = view->dimensions;
	row->shape = view->shape;
	row->storage = view->storage;
	row->version = view->version;
	row->offset = view->offset;
}

void hk_record_write_row(const struct hk_dump_row *given, const struct hk_view *view,
			 uint32_t deferred, bool has_elements)
{
	struct hk_dump_row row = *given;

	describe(&row, view);
	if (view->on_device && deferred != HK_DUMP_NONE) {
		hk_deferred_fill(deferred, &row);
		return;
	}
	struct hk_tensor elements = hk_tensor_of(view);

	row.flags |= view->data ? 0 : HK_DUMP_NO_STATISTICS;
	write_now(&row, view->data && has_elements && hk_values.payloads ? &elements : NULL);
}

bool hk_record_has_memory(const struct hk_value *value)
{
	struct hk_view now;

	if (!hk_values.payloads || !value->view.data || value->class != HK_CLASS_TENSOR) {
		return true;
	}
	bool viewed = hk_tensor_view(value->tensor, value->class, &now);
	bool same =
	    viewed && now.data == value->view.data && now.dimensions == value->view.dimensions &&
	    memcmp(now.shape, value->view.shape, now.dimensions * sizeof(now.shape[0])) == 0 &&
	    memcmp(now.strides, value->view.strides, now.dimensions * sizeof(now.strides[0])) == 0;

	if (!same) {
		hk_values_leave(HK_LEFT_CHANGED);
	}
	return same;
}

void hk_record_write(const struct hk_record *record, const struct hk_value *value,
		     bool has_elements)
{
	struct hk_dump_row row = hk_record_row(record, value);

	if (value->scalar) {
		write_now(&row, NULL);
		return;
	}
	row.statistics = value->statistics;
	if (!value->copy) {
		has_elements = has_elements && hk_record_has_memory(value);
		hk_record_write_row(&row, &value->view, value->deferred, has_elements);
		return;
	}
	struct hk_tensor copy = hk_tensor_of(&value->view);

	copy.data = value->copy;
	copy.strides = NULL;
	describe(&row, &value->view);
	write_now(&row, &copy);
}
