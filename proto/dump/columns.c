#include "dump/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dump/planes.h"

static const struct field {
	uint16_t id, width;
	size_t at; /* in hk_dump_cells */
} fields[] = {
#define X(number, field)                                        \
	{number, sizeof(((struct hk_dump_cells *)NULL)->field), \
	 offsetof(struct hk_dump_cells, field)},
    HK_DUMP_COLUMNS(X)
#undef X
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))
#define COLUMNS (FIELDS + 2)

size_t hk_dump_columns_bytes(const struct hk_dump_batch *batch)
{
	size_t bytes = sizeof(uint64_t) + COLUMNS * sizeof(struct hk_dump_column);

	for (size_t i = 0; i < FIELDS; i++) {
		bytes += fields[i].width * batch->rows;
	}
	return bytes + batch->shape_count * sizeof(uint64_t) + batch->scalar_bytes;
}

void hk_dump_columns_write(const struct hk_dump_batch *batch, void *bytes)
{
	struct hk_dump_column directory[COLUMNS] = {{0}};
	const uint64_t count = COLUMNS;
	uint8_t *at = (uint8_t *)bytes + sizeof(count) + sizeof(directory);

	for (size_t i = 0; i < FIELDS; i++) {
		directory[i] =
		    (struct hk_dump_column){.id = fields[i].id,
					    .width = fields[i].width,
					    .bytes = (uint64_t)fields[i].width * batch->rows};
		hk_planes_write(at, (const uint8_t *)batch->cells + fields[i].at, batch->rows,
				sizeof(struct hk_dump_cells), fields[i].width);
		at += directory[i].bytes;
	}
	directory[FIELDS] = (struct hk_dump_column){.id = HK_DUMP_COLUMN_SHAPES,
						    .width = sizeof(uint64_t),
						    .bytes = batch->shape_count * sizeof(uint64_t)};
	hk_planes_write(at, batch->shapes, batch->shape_count, sizeof(uint64_t), sizeof(uint64_t));
	at += directory[FIELDS].bytes;
	directory[FIELDS + 1] = (struct hk_dump_column){
	    .id = HK_DUMP_COLUMN_SCALARS, .width = 1, .bytes = batch->scalar_bytes};
	if (batch->scalar_bytes) {
		memcpy(at, batch->scalars, batch->scalar_bytes);
	}
	memcpy(bytes, &count, sizeof(count));
	memcpy((uint8_t *)bytes + sizeof(count), directory, sizeof(directory));
}

static const struct field *find_field(unsigned id)
{
	return id >= 1 && id <= FIELDS ? &fields[id - 1] : NULL;
}

/* Takes over one column. A column of an unknown id is left out. */
static int read_column(const struct hk_dump_column *column, const uint8_t *at,
		       struct hk_dump_batch *batch)
{
	const struct field *field = find_field(column->id);

	if (field) {
		if (column->width != field->width ||
		    column->bytes != (uint64_t)field->width * batch->rows) {
			return -EBADMSG;
		}
		hk_planes_read((uint8_t *)batch->cells + field->at, at, batch->rows,
			       sizeof(struct hk_dump_cells), field->width);
	} else if (column->id == HK_DUMP_COLUMN_SHAPES) {
		if (batch->shapes || column->width != sizeof(uint64_t) || column->bytes % 8) {
			return -EBADMSG;
		}
		batch->shape_count = column->bytes / 8;
		batch->shapes = malloc(column->bytes + 1);
		if (!batch->shapes) {
			return -ENOMEM;
		}
		hk_planes_read(batch->shapes, at, batch->shape_count, 8, 8);
	} else if (column->id == HK_DUMP_COLUMN_SCALARS) {
		if (batch->scalars || column->width != 1) {
			return -EBADMSG;
		}
		batch->scalar_bytes = column->bytes;
		batch->scalars = malloc(column->bytes + 1);
		if (!batch->scalars) {
			return -ENOMEM;
		}
		memcpy(batch->scalars, at, column->bytes);
	}
	return 0;
}

/* Whether the rows' parts of the two common columns add up to these. */
static bool adds_up(const struct hk_dump_batch *batch)
{
	uint64_t shapes = 0, scalars = 0;

	for (size_t i = 0; i < batch->rows; i++) {
		const struct hk_dump_cells *cells = &batch->cells[i];
		if (cells->dimensions > HK_TENSOR_DIMENSIONS) {
			return false;
		}
		shapes += cells->dimensions;
		scalars += cells->scalar_bytes == HK_DUMP_NONE ? 0 : cells->scalar_bytes;
	}
	return shapes == batch->shape_count && scalars == batch->scalar_bytes;
}

/* The columns behind a directory of COUNT entries. */
static int read_all(const uint8_t *bytes, size_t size, uint64_t count, struct hk_dump_batch *batch)
{
	size_t at = sizeof(count) + count * sizeof(struct hk_dump_column);
	bool has_sequence = batch->rows == 0;

	for (uint64_t i = 0; i < count; i++) {
		struct hk_dump_column column;
		memcpy(&column, bytes + sizeof(count) + i * sizeof(column), sizeof(column));
		int rc =
		    column.bytes > size - at ? -EBADMSG : read_column(&column, bytes + at, batch);
		if (rc != 0) {
			return rc;
		}
		at += column.bytes;
		has_sequence |= column.id == HK_DUMP_COLUMN_SEQUENCE;
	}
	return has_sequence && at == size ? 0 : -EBADMSG;
}

int hk_dump_columns_read(const void *bytes, size_t size, uint64_t rows, struct hk_dump_batch *batch)
{
	uint64_t count;
	int rc;

	memset(batch, 0, sizeof(*batch));
	/* Each row has its sequence at least: what is allocated is in proportion to SIZE. */
	if (size < sizeof(count) || rows > size / sizeof(uint64_t)) {
		return -EBADMSG;
	}
	memcpy(&count, bytes, sizeof(count));
	if (count > (size - sizeof(count)) / sizeof(struct hk_dump_column)) {
		return -EBADMSG;
	}
	batch->rows = rows;
	batch->cells = calloc(rows + 1, sizeof(batch->cells[0]));
	rc = batch->cells ? read_all(bytes, size, count, batch) : -ENOMEM;
	if (rc == 0) {
		rc = adds_up(batch) ? 0 : -EBADMSG;
	}
	if (rc != 0) {
		free(batch->cells);
		free(batch->shapes);
		free(batch->scalars);
		memset(batch, 0, sizeof(*batch));
	}
	return rc;
}
