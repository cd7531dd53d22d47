#include "settings/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

/* A number and the factor of its unit, one of UNITS or none. -EINVAL. */
static int parse_number(const char *text, uint64_t *ret_number, const char **ret_unit)
{
	char *end;
	if (*text < '0' || *text > '9') {
		return -EINVAL;
	}
	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	*ret_unit = end;
	return errno != 0 ? -EINVAL : 0;
}

int hk_keep_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	uint64_t number, factor = 1;
	if (strcmp(text, "all") == 0) {
		*ret_bytes = UINT64_MAX;
		return 0;
	}
	if (parse_number(text, &number, &unit) < 0) {
		return -EINVAL;
	}
	const char *known = *unit ? strchr(units, *unit) : NULL;
	if (known) {
		factor = UINT64_C(1) << (10 * (known - units + 1));
		unit++;
	}
	return *unit || __builtin_mul_overflow(number, factor, ret_bytes) ? -EINVAL : 0;
}

int hk_keep_parse(const char *text, struct hk_keep *ret_keep)
{
	struct hk_keep keep = {UINT64_MAX, UINT64_MAX};
	const char *unit;
	uint64_t number;
	if (parse_number(text, &number, &unit) == 0 && strcmp(unit, "s") == 0) {
		if (number == 0 || __builtin_mul_overflow(number, SECOND_NS, &keep.ns)) {
			return -EINVAL;
		}
	} else if (hk_keep_parse_bytes(text, &keep.bytes) < 0) {
		return -EINVAL;
	}
	*ret_keep = keep;
	return 0;
}
