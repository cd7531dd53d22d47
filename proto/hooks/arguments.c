#include "hooks/arguments.h"

#include <errno.h>
#include <string.h>

/* ---- words to values ---- */

static enum hk_argument_form form_of(uint8_t type)
{
	switch (type) {
	case HK_TYPE_VOID:
		return HK_ARGUMENT_NONE;
	case HK_TYPE_INT:
	case HK_TYPE_LONG:
	case HK_TYPE_FD:
	case HK_TYPE_NCCL_DATATYPE:
		return HK_ARGUMENT_SIGNED;
	case HK_TYPE_UINT:
	case HK_TYPE_ULONG:
		return HK_ARGUMENT_UNSIGNED;
	case HK_TYPE_FLOAT:
	case HK_TYPE_DOUBLE:
		return HK_ARGUMENT_DOUBLE;
	case HK_TYPE_STR:
	case HK_TYPE_TEXT:
		return HK_ARGUMENT_TEXT;
	case HK_TYPE_STRUCT:
		return HK_ARGUMENT_STRUCT;
	case HK_TYPE_DIM3:
		return HK_ARGUMENT_DIM3;
	case HK_TYPE_MPI_DATATYPE:
	case HK_TYPE_MPI_COMM:
	case HK_TYPE_HANDLE:
		return HK_ARGUMENT_HANDLE;
	default:
		return HK_ARGUMENT_POINTER;
	}
}

static uint64_t double_bits_of_float(uint64_t word)
{
	uint32_t low = (uint32_t)word;
	uint64_t bits;
	float narrow;

	memcpy(&narrow, &low, sizeof(narrow));
	double wide = (double)narrow;
	memcpy(&bits, &wide, sizeof(bits));
	return bits;
}

/* A text from *at, which moves behind it: the length has HEAD bytes. */
static int take_text(unsigned head, const uint64_t **at, const uint64_t *end,
		     struct hk_argument *argument)
{
	uint32_t cut = head == 1 ? HK_ARGUMENTS_TEXT_CUT : HK_ARGUMENTS_LONG_CUT;
	uint16_t length = 0;

	memcpy(&length, *at, head);
	argument->cut = length & cut;
	length &= (uint16_t)~cut;
	argument->text_bytes = (uint8_t)length;
	argument->text = (const char *)*at + head;
	if (length > UINT8_MAX || (size_t)(end - *at) * sizeof(**at) < head + length) {
		return -EBADMSG;
	}
	*at += (head + length + sizeof(**at) - 1) / sizeof(**at);
	return 0;
}

/* One value from *at, which moves behind it. */
static int take(const struct hk_signature_part *part, bool address, const uint64_t **at,
		const uint64_t *end, struct hk_argument *argument)
{
	*argument = (struct hk_argument){.name = part->name, .name_bytes = part->name_bytes};
	argument->form = address ? HK_ARGUMENT_POINTER : (uint8_t)form_of(part->type);
	if (argument->form == HK_ARGUMENT_NONE || argument->form == HK_ARGUMENT_STRUCT) {
		return 0;
	}
	if (*at == end) {
		return -EBADMSG;
	}
	if (argument->form == HK_ARGUMENT_DIM3) {
		if (end - *at < 2) {
			return -EBADMSG;
		}
		argument->word = *(*at)++;
		argument->z = (uint32_t) * (*at)++;
		return 0;
	}
	if (argument->form != HK_ARGUMENT_TEXT) {
		bool narrow = part->type == HK_TYPE_FLOAT && !address;
		argument->word = narrow ? double_bits_of_float(**at) : **at;
		++*at;
		return 0;
	}
	return take_text(part->type == HK_TYPE_TEXT ? 2 : 1, at, end, argument);
}

int hk_arguments_read(const struct hk_signature *signature, const uint64_t *words, unsigned count,
		      struct hk_arguments *ret_arguments)
{
	const uint64_t *at = words + 1, *end = words + count;
	int rc = count ? 0 : -EBADMSG;

	ret_arguments->count = signature->count;
	for (unsigned i = 0; rc == 0 && i < signature->count; i++) {
		rc = take(&signature->arguments[i], words[0] >> i & 1, &at, end,
			  &ret_arguments->list[i]);
	}
	return rc < 0 ? rc
		      : take(&signature->result, words[0] >> HK_ARGUMENTS_RESULT & 1, &at, end,
			     &ret_arguments->result);
}

/* ---- values to text ---- */

struct room {
	char *bytes;
	size_t size, used;
};

static void put(struct room *room, char c)
{
	if (room->used + 1 < room->size) {
		room->bytes[room->used++] = c;
	}
}

static void put_text(struct room *room, const char *text)
{
	while (*text) {
		put(room, *text++);
	}
}

static void put_number(struct room *room, uint64_t value, unsigned base)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (count) {
		put(room, digits[--count]);
	}
}

static void put_quoted(struct room *room, const struct hk_argument *argument)
{
	put(room, '"');
	for (unsigned i = 0; i < argument->text_bytes; i++) {
		unsigned char c = (unsigned char)argument->text[i];
		if (c == '"' || c == '\\') {
			put(room, '\\');
			put(room, (char)c);
		} else if (c == '\n' || c == '\t' || c == '\r') {
			put_text(room, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
		} else if (c < 0x20 || c >= 0x7f) {
			put_text(room, "\\x");
			put(room, "0123456789abcdef"[c >> 4]);
			put(room, "0123456789abcdef"[c & 15]);
		} else {
			put(room, (char)c);
		}
	}
	put_text(room, argument->cut ? "\"..." : "\"");
}

#define DIGITS 6
#define LEAST 100000u /* of a number of six digits */

/* Six digits of a positive number, as DIGITS and the power of ten of the first of them. */
static uint32_t decimal(double value, int *ret_power)
{
	int power = 0;

	while (value >= 10) {
		value /= 10;
		power++;
	}
	while (value < 1) {
		value *= 10;
		power--;
	}
	uint32_t digits = (uint32_t)(value * LEAST + 0.5);
	if (digits >= LEAST * 10) {
		digits /= 10;
		power++;
	}
	*ret_power = power;
	return digits;
}

/* The digits with a point behind the first AHEAD of them, without zeros at the end. */
static void put_digits(struct room *room, uint32_t digits, int ahead)
{
	uint32_t unit = LEAST;

	if (ahead <= 0) {
		put_text(room, "0.");
		for (; ahead < 0; ahead++) {
			put(room, '0');
		}
		ahead = -1; /* the point is there */
	}
	for (int i = 0; i < DIGITS && (digits || i < ahead); i++, unit /= 10) {
		if (i == ahead) {
			put(room, '.');
		}
		put(room, (char)('0' + digits / unit));
		digits %= unit;
	}
}

static void put_double(struct room *room, double value)
{
	int power;

	if (value != value) {
		put_text(room, "nan");
		return;
	}
	if (__builtin_signbit(value)) {
		put(room, '-');
		value = -value;
	}
	if (value == 0 || value > 0x1.fffffffffffffp1023) {
		put_text(room, value == 0 ? "0" : "inf");
		return;
	}
	uint32_t digits = decimal(value, &power);
	if (power >= -4 && power < DIGITS) {
		put_digits(room, digits, power + 1);
		return;
	}
	put_digits(room, digits, 1);
	put_text(room, power < 0 ? "e-" : "e+");
	put_number(room, (uint64_t)(power < 0 ? -power : power), 10);
}

size_t hk_argument_print_double(double value, char *bytes, size_t size)
{
	struct room room = {bytes, size, 0};

	put_double(&room, value);
	bytes[room.used] = '\0';
	return room.used;
}

size_t hk_argument_print(const struct hk_argument *argument, char *bytes, size_t size)
{
	struct room room = {bytes, size, 0};
	double value;

	switch (argument->form) {
	case HK_ARGUMENT_SIGNED:
		if ((int64_t)argument->word < 0) {
			put(&room, '-');
		}
		put_number(&room, (int64_t)argument->word < 0 ? 0 - argument->word : argument->word,
			   10);
		break;
	case HK_ARGUMENT_UNSIGNED:
		put_number(&room, argument->word, 10);
		break;
	case HK_ARGUMENT_DOUBLE:
		memcpy(&value, &argument->word, sizeof(value));
		put_double(&room, value);
		break;
	case HK_ARGUMENT_POINTER:
		if (!argument->word) {
			put_text(&room, "NULL");
			break;
		}
		/* fall through */
	case HK_ARGUMENT_HANDLE:
		put_text(&room, "0x");
		put_number(&room, argument->word, 16);
		break;
	case HK_ARGUMENT_TEXT:
		put_quoted(&room, argument);
		break;
	case HK_ARGUMENT_STRUCT:
		put_text(&room, "{...}");
		break;
	case HK_ARGUMENT_DIM3:
		put_number(&room, (uint32_t)argument->word, 10);
		put(&room, ',');
		put_number(&room, argument->word >> 32, 10);
		put(&room, ',');
		put_number(&room, argument->z, 10);
		break;
	default:
		break;
	}
	bytes[room.used] = '\0';
	return room.used;
}
