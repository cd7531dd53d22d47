/* links: hk_reader_core */
/* A chunk made by an enemy, read as Python reads a job. The first byte is the number of rows of a
 * table, the rest a chunk, whose checksums are set right. The tables that come out must be such
 * that their consumers, which check nothing, read no byte beside them. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "reader/call_columns.h"
#include "reader/calls.h"
#include "reader/export.h"

#define REQUIRE(condition)          \
	do {                        \
		if (!(condition)) { \
			abort();    \
		}                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[64];

static void remove_directory(void)
{
	(void)rmdir(directory);
}

/* Writes the chunk, sealed, as the file of the process in its header, whose uid goes to UID. */
static void write_chunk(const uint8_t *data, size_t size, uint8_t uid[16], char path[128])
{
	struct hk_chunk_header header;
	uint8_t *copy = malloc(size);
	int used;

	REQUIRE(copy);
	memcpy(copy, data, size);
	memcpy(&header, copy, sizeof(header));
	header.magic = HK_CHUNK_MAGIC;
	header.major = header.major == HK_CHUNK_MAJOR_FIRST ? HK_CHUNK_MAJOR_FIRST : HK_CHUNK_MAJOR;
	header.header_bytes = HK_CHUNK_HEADER_BYTES;
	memcpy(copy, &header, sizeof(header));
	hk_chunk_header_seal(copy, size);
	memcpy(uid, header.process, 16);
	used = snprintf(path, 128, "%s/", directory);
	for (int i = 0; i < 16; i++) {
		used += snprintf(path + used, 128 - (size_t)used, "%02x", uid[i]);
	}
	snprintf(path + used, 128 - (size_t)used, ".chunks");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
	close(fd);
	free(copy);
}

/* Reads all that a consumer may read of COLUMN. */
static uint64_t check_column(const struct hk_field *field, const struct hk_column *column,
			     int64_t rows)
{
	const int32_t *numbers = column->data;
	uint64_t sum = 0;

	REQUIRE(column->length == rows && column->nulls >= 0 && column->nulls <= rows);
	REQUIRE(column->valid || column->nulls == 0);
	for (int64_t i = 0, nulls = 0; column->valid && i < rows; i++) {
		nulls += !(column->valid[i / 8] >> (i % 8) & 1);
		REQUIRE(i + 1 < rows || nulls == column->nulls);
	}
	for (int64_t i = 0; field->words && i < rows; i++) {
		REQUIRE(numbers[i] >= 0 && (numbers[i] < column->words->count || numbers[i] == 0));
	}
	for (int64_t i = 0; column->offsets && i < rows; i++) {
		REQUIRE(column->offsets[i] <= column->offsets[i + 1]);
	}
	size_t bytes = field->words	    ? (size_t)rows * 4
		       : column->offsets    ? (size_t)column->offsets[rows]
		       : field->type == 'b' ? (size_t)(rows + 7) / 8
					    : (size_t)rows * hk_type_bytes(field->type);
	for (size_t i = 0; i < bytes; i++) {
		sum += ((const uint8_t *)column->data)[i];
	}
	return sum;
}

static void check_table(struct hk_table *table)
{
	struct ArrowArray array;
	uint64_t sum = 0;

	for (size_t i = 0; i < table->schema->count; i++) {
		sum += check_column(&table->schema->fields[i], &table->columns[i], table->length);
	}
	REQUIRE(hk_export_table(table, &array) == 0);
	hk_table_unref(table);
	REQUIRE(array.n_children > 0 && array.children[0]->length == array.length);
	array.release(&array);
	(void)sum;
}

static void read_calls(struct hk_job_snapshot *job, size_t rows)
{
	uint16_t columns[HK_CALL_COLUMNS];
	struct hk_calls_options options = {
	    .from_ns = INT64_MIN, .to_ns = INT64_MAX, .columns = columns, .rows = rows};
	struct hk_table *table;
	struct hk_calls *calls;
	int rc;

	for (int column = 0; column < HK_CALL_COLUMNS; column++) {
		if (hk_call_column_exists(column)) {
			columns[options.column_count++] = (uint16_t)column;
		}
	}
	REQUIRE(hk_calls_new(job, &options, &calls) == 0);
	while ((rc = hk_calls_next(calls, &table)) > 0 || rc == -EAGAIN) {
		if (rc > 0) {
			check_table(table);
		}
	}
	hk_calls_free(calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t uid[16];
	char path[128];
	Hk__Snapshot snapshot = HK__SNAPSHOT__INIT;
	Hk__Job description = HK__JOB__INIT;
	Hk__Process process = HK__PROCESS__INIT, *processes[] = {&process};
	struct hk_job_snapshot job = {.refs = 2, .snapshot = &snapshot, .directory = directory};

	if (size < 1 + sizeof(struct hk_chunk_header)) {
		return 0;
	}
	if (!*directory) {
		snprintf(directory, sizeof(directory), "/tmp/fuzz-columns-XXXXXX");
		REQUIRE(mkdtemp(directory));
		atexit(remove_directory);
	}
	write_chunk(data + 1, size - 1, uid, path);
	process.uid.data = uid;
	process.uid.len = sizeof(uid);
	process.host = process.command = (char *)"fuzz";
	process.pid = 1;
	snapshot.job = &description;
	snapshot.n_processes = 1;
	snapshot.processes = processes;
	read_calls(&job, 1 + (size_t)data[0] * 16);
	unlink(path);
	return 0;
}
