#include "agent/stack/python_code.h"

#include <stddef.h>

#include "agent/stack/python_lines.h"

#define TABLE_BYTES_MOST (16u << 20)

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

static uint32_t half_at(uint64_t address)
{
	return *(const uint32_t *)address;
}

/* Returns whether OBJECT, with a head of BYTES, is of TYPE. */
static bool is_of(const struct hk_interpreter *interpreter, uint64_t object, uint64_t bytes,
		  uint64_t type, enum hk_python_care care)
{
	return object && object % sizeof(uint64_t) == 0 &&
	       hk_python_may_read(object, bytes, care) &&
	       word_at(object + interpreter->layout.object_type) == type;
}

/* ---- texts ---- */

/* Bits of a text's state. */
#define STATE_KIND_SHIFT 2 /* 3 bits: bytes of a character */
#define STATE_COMPACT 0x20u
#define STATE_ASCII 0x40u

#define REPLACEMENT 0xfffdu

static uint32_t character_at(uint64_t data, uint32_t kind, uint64_t i)
{
	switch (kind) {
	case 1:
		return ((const uint8_t *)data)[i];
	case 2:
		return ((const uint16_t *)data)[i];
	default:
		return ((const uint32_t *)data)[i];
	}
}

/* Writes CHARACTER to TEXT. Returns the number of its bytes, at most 4. */
static uint32_t encode(uint32_t character, char *text)
{
	if (character < 0x80) {
		text[0] = (char)character;
		return 1;
	}
	bool valid = character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
	character = valid ? character : REPLACEMENT;
	uint32_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
	for (uint32_t i = more; i > 0; i--) {
		text[i] = (char)(0x80 | (character & 0x3f));
		character >>= 6;
	}
	text[0] = (char)(0xf0u << (3 - more) | character);
	return more + 1;
}

static bool read_text(const struct hk_interpreter *interpreter, uint64_t object,
		      char text[HK_PYTHON_TEXT_BYTES], enum hk_python_care care)
{
	const struct hk_python_layout *layout = &interpreter->layout;
	uint32_t used = 0;

	text[0] = '\0';
	if (!is_of(interpreter, object, layout->text_wide, interpreter->text_type, care)) {
		return false;
	}
	uint32_t state = half_at(object + layout->text_state);
	uint32_t kind = state >> STATE_KIND_SHIFT & 7;
	uint64_t length = word_at(object + layout->text_length);
	uint64_t data = object + (state & STATE_ASCII ? layout->text_ascii : layout->text_wide);
	length = length < HK_PYTHON_TEXT_BYTES ? length : HK_PYTHON_TEXT_BYTES;
	if (!(state & STATE_COMPACT) || (kind != 1 && kind != 2 && kind != 4) || !length ||
	    !hk_python_may_read(data, length * kind, care)) {
		return false;
	}
	for (uint64_t i = 0; i < length && used + 4 < HK_PYTHON_TEXT_BYTES; i++) {
		uint32_t character = character_at(data, kind, i);
		used += encode(character ? character : REPLACEMENT, text + used);
	}
	text[used] = '\0';
	return true;
}

bool hk_python_code_file(const struct hk_interpreter *interpreter, uint64_t code,
			 char text[HK_PYTHON_TEXT_BYTES], enum hk_python_care care)
{
	return read_text(interpreter, word_at(code + interpreter->layout.code_file), text, care);
}

bool hk_python_code_name(const struct hk_interpreter *interpreter, uint64_t code,
			 char text[HK_PYTHON_TEXT_BYTES], enum hk_python_care care)
{
	return read_text(interpreter, word_at(code + interpreter->layout.code_name), text, care);
}

/* ---- lines ---- */

uint32_t hk_python_code_first_line(const struct hk_interpreter *interpreter, uint64_t code)
{
	return half_at(code + interpreter->layout.code_first_line);
}

uint32_t hk_python_code_line(const struct hk_interpreter *interpreter, uint64_t code, int64_t place,
			     enum hk_python_care care)
{
	const struct hk_python_layout *layout = &interpreter->layout;
	uint64_t lines = word_at(code + layout->code_lines);

	if (!is_of(interpreter, lines, layout->bytes_data, interpreter->bytes_type, care)) {
		return 0;
	}
	uint64_t bytes = word_at(lines + layout->bytes_length);
	const uint8_t *table = (const uint8_t *)lines + layout->bytes_data;
	if (bytes > TABLE_BYTES_MOST ||
	    (bytes && !hk_python_may_read((uint64_t)table, bytes, care))) {
		return 0;
	}
	return hk_python_line(layout->version, table, bytes,
			      hk_python_code_first_line(interpreter, code), place);
}
