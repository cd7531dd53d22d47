#include "cli/span.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NS 6.3e18 /* 200 years; an int64_t can hold more */

int hk_span_time(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e9},	  {"s", 1e9},  {"ms", 1e6},  {"us", 1e3},
		     {"ns", 1.0}, {"m", 6e10}, {"h", 3.6e12}};
	char *end;
	double value;

	/* strtod would also accept spaces, signs, "inf", "nan" and "0x10". */
	if (!isdigit((unsigned char)*text) && *text != '.') {
		return -EINVAL;
	}
	value = strtod(text, &end);
	if (end == text || (size_t)(end - text) > strspn(text, "0123456789.eE+-")) {
		return -EINVAL;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) == 0 && value * units[i].ns <= LONGEST_NS) {
			*ret_ns = (int64_t)llround(value * units[i].ns);
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_rank(const char **at, int32_t *ret_rank)
{
	char *end;
	long rank;

	if (!isdigit((unsigned char)**at)) {
		return -EINVAL;
	}
	errno = 0;
	rank = strtol(*at, &end, 10);
	if (errno || rank > INT32_MAX) {
		return -EINVAL;
	}
	*at = end;
	*ret_rank = (int32_t)rank;
	return 0;
}

static int parse_ranks(const char **at, struct hk_span_ranks *ret_ranks)
{
	if (parse_rank(at, &ret_ranks->first) < 0) {
		return -EINVAL;
	}
	ret_ranks->last = ret_ranks->first;
	if (**at == '-') {
		(*at)++;
		if (parse_rank(at, &ret_ranks->last) < 0) {
			return -EINVAL;
		}
	}
	return ret_ranks->last < ret_ranks->first ? -EINVAL : 0;
}

bool hk_span_has_rank(const struct hk_span_ranks *ranks, size_t count, int32_t rank)
{
	for (size_t i = 0; i < count; i++) {
		if (rank >= ranks[i].first && rank <= ranks[i].last) {
			return true;
		}
	}
	return count == 0;
}

int hk_span_ranks(const char *text, struct hk_span_ranks ranks[HK_SPAN_RANKS_MAX])
{
	int count = 0;

	for (;;) {
		if (count == HK_SPAN_RANKS_MAX) {
			return -E2BIG;
		}
		if (parse_ranks(&text, &ranks[count]) < 0) {
			return -EINVAL;
		}
		count++;
		if (*text == '\0') {
			return count;
		}
		if (*text++ != ',') {
			return -EINVAL;
		}
	}
}
