#include "deferred.h"

#include <stdlib.h>
#include <string.h>

#include "session.h"

#define ROWS_MAX (1u << 20)

struct deferred {
	struct hk_dump_row row; /* its texts are in the two below, or live as long as the dump */
	char *texts;
	uint64_t *shape;
};

static struct deferred *rows;
static uint32_t many, room;
static uint32_t first; /* the number of rows[0]: a late answer must not reach another row */

/* Copies NAME, OF and SLOT of ROW behind each other. Returns false without memory. */
static bool copy(struct deferred *kept, const struct hk_dump_row *row)
{
	size_t name = strlen(row->name) + 1, of = strlen(row->of) + 1, slot = strlen(row->slot) + 1;

	kept->row = *row;
	kept->texts = malloc(name + of + slot);
	kept->shape = malloc((row->dimensions + 1) * sizeof(*kept->shape));
	if (!kept->texts || !kept->shape) {
		free(kept->texts);
		free(kept->shape);
		return false;
	}
	memcpy(kept->texts, row->name, name);
	memcpy(kept->texts + name, row->of, of);
	memcpy(kept->texts + name + of, row->slot, slot);
	if (row->dimensions) {
		memcpy(kept->shape, row->shape, row->dimensions * sizeof(*kept->shape));
	}
	kept->row.name = kept->texts;
	kept->row.of = kept->texts + name;
	kept->row.slot = kept->texts + name + of;
	kept->row.shape = kept->shape;
	return true;
}

static bool has_room(void)
{
	if (many < room) {
		return true;
	}
	uint32_t more = room ? 2 * room : 256;
	struct deferred *grown = more <= ROWS_MAX ? realloc(rows, more * sizeof(*grown)) : NULL;

	if (!grown) {
		return false;
	}
	rows = grown;
	room = more;
	return true;
}

static bool queue(PyObject *tensor, uint32_t number)
{
	PyObject *answer = hk_values_call(hk_values.queue, Py_BuildValue("(OI)", tensor, number));
	bool queued = answer == Py_True;

	PyErr_Clear();
	Py_XDECREF(answer);
	return queued;
}

uint32_t hk_deferred_reserve(PyObject *tensor)
{
	if (!has_room()) {
		hk_values_leave(HK_LEFT_MEMORY);
		return HK_DUMP_NONE;
	}
	uint32_t number = first + many;

	rows[many++] = (struct deferred){0};
	if (!queue(tensor, number)) {
		hk_values_leave(HK_LEFT_DEVICE);
		return HK_DUMP_NONE;
	}
	return number;
}

void hk_deferred_fill(uint32_t number, const struct hk_dump_row *row)
{
	uint32_t index = number - first;

	if (index < many && !rows[index].texts && !copy(&rows[index], row)) {
		rows[index] = (struct deferred){0};
		hk_values_leave(HK_LEFT_MEMORY);
	}
}

static void write_kept(struct deferred *kept, const struct hk_tensor *elements)
{
	kept->row.flags |= HK_DUMP_ON_DEVICE;
	if (hk_values.writer) {
		hk_dump_writer_add(hk_values.writer, &kept->row, elements);
	}
	free(kept->texts);
	free(kept->shape);
	*kept = (struct deferred){0};
}

bool hk_deferred_write(uint32_t number, const struct hk_statistics *statistics)
{
	uint32_t index = number - first;

	if (index >= many || !rows[index].texts) {
		return false;
	}
	rows[index].row.statistics = *statistics;
	write_kept(&rows[index], NULL);
	return true;
}

bool hk_deferred_write_elements(uint32_t number, const struct hk_tensor *elements)
{
	uint32_t index = number - first;

	if (index >= many || !rows[index].texts ||
	    hk_statistics_take(elements, &rows[index].row.statistics) < 0) {
		return false;
	}
	write_kept(&rows[index], elements);
	return true;
}

void hk_deferred_clear(void)
{
	for (uint32_t i = 0; i < many; i++) {
		if (rows[i].texts) {
			hk_values_leave(HK_LEFT_DEVICE);
			free(rows[i].texts);
			free(rows[i].shape);
		}
	}
	free(rows);
	first += many;
	rows = NULL;
	many = room = 0;
}
