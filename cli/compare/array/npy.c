#include "cli/compare/array/npy.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define DESCR_BYTES 32

/* The header: a Python dictionary of three members, as text. */
struct header {
	const char *at, *end;
	char descr[DESCR_BYTES];
	bool fortran, has_descr, has_order, has_shape;
};

bool hk_npy_recognises(const void *bytes, size_t size)
{
	return size >= MAGIC_BYTES && !memcmp(bytes, MAGIC, MAGIC_BYTES);
}

static void spaces_skip(struct header *header)
{
	while (header->at < header->end && (*header->at == ' ' || *header->at == '\n')) {
		header->at++;
	}
}

/* Takes TEXT if it comes next. */
static bool take(struct header *header, const char *text)
{
	size_t length = strlen(text);

	spaces_skip(header);
	if ((size_t)(header->end - header->at) < length || memcmp(header->at, text, length) != 0) {
		return false;
	}
	header->at += length;
	return true;
}

/* Takes a quoted string without escapes. */
static bool take_string(struct header *header, char text[DESCR_BYTES])
{
	size_t length = 0;

	spaces_skip(header);
	if (header->at == header->end || (*header->at != '\'' && *header->at != '"')) {
		return false;
	}
	char quote = *header->at++;
	while (header->at < header->end && *header->at != quote && length + 1 < DESCR_BYTES) {
		text[length++] = *header->at++;
	}
	text[length] = 0;
	return header->at < header->end && *header->at++ == quote;
}

static bool take_number(struct header *header, uint64_t *ret_number)
{
	uint64_t number = 0;
	bool any = false;

	spaces_skip(header);
	for (; header->at < header->end && *header->at >= '0' && *header->at <= '9'; header->at++) {
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*header->at - '0'), &number)) {
			return false;
		}
		any = true;
	}
	take(header, "L"); /* Python 2 wrote it after numbers */
	*ret_number = number;
	return any;
}

static bool take_shape(struct header *header, struct hk_array *array)
{
	if (!take(header, "(")) {
		return false;
	}
	while (!take(header, ")")) {
		if (array->dimensions == HK_TENSOR_DIMENSIONS ||
		    !take_number(header, &array->shape[array->dimensions])) {
			return false;
		}
		array->dimensions++;
		if (!take(header, ",")) {
			return take(header, ")");
		}
	}
	return true;
}

static bool take_member(struct header *header, struct hk_array *array)
{
	char key[DESCR_BYTES];

	if (!take_string(header, key) || !take(header, ":")) {
		return false;
	}
	if (!strcmp(key, "descr") && !header->has_descr) {
		return header->has_descr = take_string(header, header->descr);
	}
	if (!strcmp(key, "fortran_order") && !header->has_order) {
		header->has_order = true;
		header->fortran = take(header, "True");
		return header->fortran || take(header, "False");
	}
	if (!strcmp(key, "shape") && !header->has_shape) {
		return header->has_shape = take_shape(header, array);
	}
	return false;
}

static bool header_parse(struct header *header, struct hk_array *array)
{
	if (!take(header, "{")) {
		return false;
	}
	while (!take(header, "}")) {
		if (!take_member(header, array)) {
			return false;
		}
		if (!take(header, ",")) {
			if (!take(header, "}")) {
				return false;
			}
			break;
		}
	}
	spaces_skip(header);
	return header->at == header->end && header->has_descr && header->has_order &&
	       header->has_shape;
}

/* The dtype of DESCR, and whether its bytes are the other way round. */
static enum hk_dtype dtype_of(const char *descr, bool *ret_swap)
{
	char native[DESCR_BYTES];

	snprintf(native, sizeof(native), "%s", descr);
	*ret_swap = native[0] == '>';
	if (native[0] == '>' || native[0] == '=') {
		native[0] = '<';
	}
	if (!strcmp(native, "<V2") || !strcmp(native, "|V2")) {
		return HK_DTYPE_BF16;
	}
	/* "<U2" is text, "<u2" numbers: hk_dtype_parse takes both. */
	bool named =
	    (native[0] == '<' || native[0] == '|') && native[1] && strchr("biuf", native[1]);
	return named ? hk_dtype_parse(native) : HK_DTYPE_NONE;
}

/* The text of the header, and where the elements begin. Returns 0 if the file is too short. */
static size_t header_find(const uint8_t *bytes, size_t size, struct header *header)
{
	if (size < MAGIC_BYTES + 4) {
		return 0;
	}
	size_t prefix = bytes[MAGIC_BYTES] == 1 ? 2 : 4, start = MAGIC_BYTES + 2 + prefix;
	uint64_t length = 0;

	for (size_t i = 0; i < prefix && start <= size; i++) {
		length |= (uint64_t)bytes[MAGIC_BYTES + 2 + i] << (8 * i);
	}
	if (start > size || length > size - start) {
		return 0;
	}
	header->at = (const char *)bytes + start;
	header->end = header->at + length;
	return start + (size_t)length;
}

/* Copies ELEMENTS, the first dimension fastest if FORTRAN. */
static int copy(struct hk_array *array, const void *elements, bool fortran,
		char reason[HK_ARRAY_REASON_BYTES])
{
	int64_t strides[HK_TENSOR_DIMENSIONS], step = 1;

	for (uint32_t i = 0; i < array->dimensions && array->count > 0; i++) {
		strides[i] = step;
		step *= (int64_t)array->shape[i];
	}
	return hk_array_gather(array, elements, fortran ? strides : NULL, reason);
}

static int elements_take(struct hk_array *array, const uint8_t *elements, size_t left,
			 const struct header *header, char reason[HK_ARRAY_REASON_BYTES])
{
	bool swapped, fortran = header->fortran && array->dimensions > 1;

	array->dtype = dtype_of(header->descr, &swapped);
	if (array->dtype == HK_DTYPE_NONE) {
		return hk_array_refuse(reason, "elements of type \"%s\" are not supported",
				       header->descr);
	}
	size_t bytes = hk_array_measure(array);
	if (bytes > left) {
		return hk_array_refuse(reason, "the file is cut: %zu bytes of elements", left);
	}
	array->elements = elements;
	swapped = swapped && hk_dtype_bytes(array->dtype) > 1;
	if (!swapped && !fortran) {
		return 0;
	}
	int r = copy(array, elements, fortran, reason);
	if (r == 0 && swapped) {
		hk_array_swap(array);
	}
	return r;
}

int hk_npy_parse(struct hk_array *array, const void *bytes, size_t size,
		 char reason[HK_ARRAY_REASON_BYTES])
{
	const uint8_t *file = bytes;
	struct header header = {0};

	*array = (struct hk_array){0};
	if (!hk_npy_recognises(bytes, size) || size < MAGIC_BYTES + 2) {
		return hk_array_refuse(reason, "no .npy file");
	}
	if (file[MAGIC_BYTES] < 1 || file[MAGIC_BYTES] > 3) {
		return hk_array_refuse(reason, "version %u of .npy is not known",
				       file[MAGIC_BYTES]);
	}
	size_t start = header_find(file, size, &header);
	if (start == 0) {
		return hk_array_refuse(reason, "the file is cut within its header");
	}
	if (!header_parse(&header, array)) {
		return hk_array_refuse(reason, "the header is not that of an array of numbers");
	}
	int r = elements_take(array, file + start, size - start, &header, reason);
	if (r < 0) {
		hk_array_free(array);
	}
	return r;
}
