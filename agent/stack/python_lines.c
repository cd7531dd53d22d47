#include "agent/stack/python_lines.h"

#include <stdbool.h>

/* Up to 3.9: pairs of a distance in bytes and one in lines, signed. */
static uint32_t line_by_steps(const uint8_t *table, uint64_t bytes, uint32_t line, int64_t place)
{
	int64_t at = 0;

	for (uint64_t i = 0; i + 1 < bytes; i += 2) {
		at += table[i];
		if (at > place) {
			break;
		}
		line += (uint32_t)(int8_t)table[i + 1];
	}
	return line;
}

#define NO_LINE (-128)

/* 3.10: pairs of a range's length in bytes, and the distance of its line from the last one. */
static uint32_t line_by_ranges(const uint8_t *table, uint64_t bytes, uint32_t line, int64_t place)
{
	int64_t end = 0;

	for (uint64_t i = 0; i + 1 < bytes; i += 2) {
		int8_t step = (int8_t)table[i + 1];
		end += table[i];
		line += step == NO_LINE ? 0 : (uint32_t)step;
		if (place < end) {
			return step == NO_LINE ? 0 : line;
		}
	}
	return 0;
}

/* From 3.11 on: entries of a first byte, with bit 7 set, and of what that says. */
enum { KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15, KIND_LINE_0 = 10, KIND_LINE_2 = 12 };
#define UNIT_BYTES 2

/* Reads the signed number at I: six bits a byte, the lowest first, the sign in bit 0. */
static uint32_t read_signed(const uint8_t *table, uint64_t bytes, uint64_t i)
{
	uint32_t value = 0;

	for (uint32_t shift = 0; i < bytes && shift < 32; shift += 6, i++) {
		value |= (uint32_t)(table[i] & 63) << shift;
		if (!(table[i] & 64)) {
			break;
		}
	}
	return value & 1 ? 0 - (value >> 1) : value >> 1;
}

static uint32_t line_by_locations(const uint8_t *table, uint64_t bytes, uint32_t first_line,
				  int64_t place)
{
	uint32_t line = first_line;
	int64_t end = 0;
	bool began = false; /* an instruction has had a line */

	for (uint64_t i = 0; i < bytes;) {
		uint32_t kind = table[i] >> 3 & 15;
		end += ((table[i] & 7) + 1) * UNIT_BYTES;
		if (kind == KIND_NO_COLUMNS || kind == KIND_LONG) {
			line += read_signed(table, bytes, i + 1);
		} else if (kind >= KIND_LINE_0 && kind <= KIND_LINE_2) {
			line += kind - KIND_LINE_0;
		}
		if (place < end) {
			/* What a function does before its first line belongs to its head. */
			return kind != KIND_NONE ? line : began ? 0 : first_line;
		}
		began = began || kind != KIND_NONE;
		do {
			i++;
		} while (i < bytes && !(table[i] & 0x80));
	}
	return 0;
}

uint32_t hk_python_line(uint16_t version, const uint8_t *table, uint64_t bytes, uint32_t first_line,
			int64_t place)
{
	if (place < 0) {
		return first_line;
	}
	return version <= 0x0309   ? line_by_steps(table, bytes, first_line, place)
	       : version == 0x030a ? line_by_ranges(table, bytes, first_line, place)
				   : line_by_locations(table, bytes, first_line, place);
}
