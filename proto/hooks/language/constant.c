#include "hooks/language/constant.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define FRACTION_DIGITS 18u /* with the digits before the point */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
		return (c | 0x20) - 'a' + 10;
	}
	return 16;
}

static int parse_integer(const char *text, size_t length, unsigned base, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned)digit_of(text[i]);
		if (digit >= base) {
			return -EINVAL;
		}
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value)) {
			return -ERANGE;
		}
	}
	*ret_value = value;
	return length ? 0 : -EINVAL;
}

/* Digits with one point among them. */
static int parse_fraction(const char *text, size_t length, double *ret_value)
{
	uint64_t digits = 0, scale = 1;
	unsigned count = 0;
	bool point = false;

	for (size_t i = 0; i < length; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9') {
			return -EINVAL;
		}
		if (++count > FRACTION_DIGITS) {
			return -ERANGE;
		}
		digits = digits * 10 + (uint64_t)(text[i] - '0');
		scale *= point ? 10 : 1;
	}
	*ret_value = (double)digits / (double)scale;
	return count ? 0 : -EINVAL;
}

static uint64_t bits_of(double value, bool single)
{
	uint64_t bits = 0;
	float narrow = (float)value;

	memcpy(&bits, single ? (const void *)&narrow : (const void *)&value,
	       single ? sizeof(narrow) : sizeof(value));
	return bits;
}

int hk_constant_parse(const char *text, size_t length, uint64_t *ret_bits)
{
	bool negative = length > 0 && text[0] == '-';
	text += negative;
	length -= negative;
	if (length > 2 && text[0] == '0' && text[1] == 'x') {
		int result = parse_integer(text + 2, length - 2, 16, ret_bits);
		*ret_bits = result == 0 && negative ? 0 - *ret_bits : *ret_bits;
		return result;
	}
	if (length == 0 || memchr(text, '.', length) == NULL) {
		int result = parse_integer(text, length, 10, ret_bits);
		*ret_bits = result == 0 && negative ? 0 - *ret_bits : *ret_bits;
		return result;
	}
	bool single = text[length - 1] == 'f';
	double value;
	int result = parse_fraction(text, length - single, &value);
	if (result == 0) {
		*ret_bits = bits_of(negative ? -value : value, single);
	}
	return result;
}
