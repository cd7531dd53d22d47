#include "trigger/condition.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/quantity.h"

static const char expected[] = "expected 'FUNCTION p99>10ms' (p50, p90, p99, p99.9, max, mean), "
			       "'FUNCTION error', 'error>5/s', 'step>200ms', 'step>1.5x', "
			       "'finding=KIND' or 'signal'";
static const char expected_time[] =
    "expected a time behind >, a number with ns, us, ms, s or m, such as 10ms";
static const char expected_step[] =
    "expected a time or a multiple of the median behind >, such as step>200ms or step>1.5x";
static const char expected_rate[] = "expected errors a second behind >, such as error>5/s";
static const char expected_signal[] = "expected a signal's number from 1 to 64, such as signal=11";
/* Kinds that the report of a running job may have. */
#define FINDINGS(X)             \
	X("awaited-rank")       \
	X("death")              \
	X("device-idle")        \
	X("early-exit")         \
	X("fail-slow")          \
	X("hang")               \
	X("late-rank")          \
	X("launch-bound")       \
	X("memory-growth")      \
	X("no-processor")       \
	X("oversubscribed")     \
	X("retried-errors")     \
	X("slow-io")            \
	X("slow-loader")        \
	X("small-messages")     \
	X("start-up")           \
	X("synchronous-copies") \
	X("uneven-function")
#define ITEM(kind) kind,
#define WORD(kind) " " kind
static const char expected_finding[] =
    "expected finding= with a kind that a running job shows:" FINDINGS(WORD);
static const char expected_pattern[] =
    "expected one function in front, at most 119 bytes of [library:]function with * and ?";

static const struct statistic {
	const char *name;
	double quantile;
} statistics[HK_CONDITION_STATISTICS] = {
    [HK_CONDITION_P50] = {"p50", 0.5},	[HK_CONDITION_P90] = {"p90", 0.9},
    [HK_CONDITION_P99] = {"p99", 0.99}, [HK_CONDITION_P999] = {"p99.9", 0.999},
    [HK_CONDITION_MAX] = {"max", 1},	[HK_CONDITION_MEAN] = {"mean", 1},
};

static const char *const findings[] = {FINDINGS(ITEM)};

double hk_condition_quantile(enum hk_condition_statistic statistic)
{
	return statistics[statistic].quantile;
}

/* Reads a positive number. Returns whether there is one, and what follows it. */
static bool take_number(const char *text, double *ret_number, const char **ret_unit)
{
	char *end;

	/* strtod would also accept signs, "inf" and "nan". */
	if (!isdigit((unsigned char)*text) && *text != '.') {
		return false;
	}
	*ret_number = strtod(text, &end);
	*ret_unit = end;
	return isfinite(*ret_number) && *ret_number > 0;
}

static bool take_time(const char *text, double *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
	const char *unit;

	if (!take_number(text, ret_ns, &unit)) {
		return false;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*ret_ns *= units[i].ns;
			return true;
		}
	}
	return false;
}

/* Cuts TEXT into words at spaces and around > and =, which are words too. Returns their number, or
 * one more than MOST. */
static size_t split(char *text, const char **words, size_t most)
{
	static const char *const signs[] = {">", "="};
	size_t count = 0;
	bool inside = false;

	for (char *at = text; *at; at++) {
		bool is_sign = *at == '>' || *at == '=';
		if (isspace((unsigned char)*at) || is_sign) {
			const char *sign = is_sign ? signs[*at == '='] : NULL;
			*at = '\0';
			inside = false;
			if (!sign) {
				continue;
			}
			if (count == most) {
				return most + 1;
			}
			words[count++] = sign;
		} else if (!inside) {
			if (count == most) {
				return most + 1;
			}
			words[count++] = at;
			inside = true;
		}
	}
	return count;
}

static bool is(const char *word, const char *wanted)
{
	return strcmp(word, wanted) == 0;
}

static int refuse(const char *reason, const char **ret_why)
{
	*ret_why = reason;
	return -EINVAL;
}

static int take_pattern(const char *word, struct hk_condition *condition, const char **ret_why)
{
	if (strlen(word) >= sizeof(condition->pattern) || is(word, ">") || is(word, "=")) {
		return refuse(expected_pattern, ret_why);
	}
	memcpy(condition->pattern, word, strlen(word) + 1);
	return 0;
}

static int parse_step(const char *const *words, size_t count, struct hk_condition *condition,
		      const char **ret_why)
{
	const char *unit;

	if (count != 3 || !is(words[1], ">")) {
		return refuse(expected_step, ret_why);
	}
	if (take_time(words[2], &condition->limit)) {
		condition->kind = HK_CONDITION_STEP;
		return 0;
	}
	condition->kind = HK_CONDITION_STEP_FACTOR;
	return take_number(words[2], &condition->limit, &unit) && is(unit, "x") &&
		       condition->limit > 1
		   ? 0
		   : refuse(expected_step, ret_why);
}

static int parse_signal(const char *const *words, size_t count, struct hk_condition *condition,
			const char **ret_why)
{
	char *end;

	condition->kind = HK_CONDITION_SIGNAL;
	if (count == 1) {
		return 0;
	}
	long number = count == 3 && is(words[1], "=") ? strtol(words[2], &end, 10) : 0;
	if (number < 1 || number > 64 || *end) {
		return refuse(expected_signal, ret_why);
	}
	condition->signal = (int)number;
	return 0;
}

static int parse_finding(const char *const *words, size_t count, struct hk_condition *condition,
			 const char **ret_why)
{
	condition->kind = HK_CONDITION_FINDING;
	for (size_t i = 0;
	     count == 3 && is(words[1], "=") && i < sizeof(findings) / sizeof(*findings); i++) {
		if (is(words[2], findings[i])) {
			snprintf(condition->finding, sizeof(condition->finding), "%s", findings[i]);
			return 0;
		}
	}
	return refuse(expected_finding, ret_why);
}

/* Reads what follows "error": nothing, or a rate. */
static int parse_rate(const char *const *words, size_t count, struct hk_condition *condition,
		      const char **ret_why)
{
	const char *unit;

	condition->kind = HK_CONDITION_ERROR;
	if (count == 0) {
		return 0;
	}
	return count == 2 && is(words[0], ">") && take_number(words[1], &condition->limit, &unit) &&
		       is(unit, "/s")
		   ? 0
		   : refuse(expected_rate, ret_why);
}

static int parse_latency(const char *const *words, size_t count, struct hk_condition *condition,
			 const char **ret_why)
{
	condition->kind = HK_CONDITION_LATENCY;
	for (int i = 0; i < HK_CONDITION_STATISTICS; i++) {
		if (is(words[0], statistics[i].name)) {
			condition->statistic = (enum hk_condition_statistic)i;
			return count == 3 && is(words[1], ">") &&
				       take_time(words[2], &condition->limit)
				   ? 0
				   : refuse(expected_time, ret_why);
		}
	}
	return refuse(expected, ret_why);
}

static bool is_error(const char *word)
{
	return is(word, "error") || is(word, "errors");
}

static int parse_words(const char *const *words, size_t count, struct hk_condition *condition,
		       const char **ret_why)
{
	if (count > 0 && is(words[0], "step")) {
		return parse_step(words, count, condition, ret_why);
	}
	if (count > 0 && is(words[0], "signal")) {
		return parse_signal(words, count, condition, ret_why);
	}
	if (count > 0 && is(words[0], "finding")) {
		return parse_finding(words, count, condition, ret_why);
	}
	if (count > 0 && is_error(words[0])) {
		memcpy(condition->pattern, "*", sizeof("*"));
		return parse_rate(words + 1, count - 1, condition, ret_why);
	}
	if (count < 2) {
		return refuse(expected, ret_why);
	}
	int r = take_pattern(words[0], condition, ret_why);
	if (r < 0) {
		return r;
	}
	return is_error(words[1]) ? parse_rate(words + 2, count - 2, condition, ret_why)
				  : parse_latency(words + 1, count - 1, condition, ret_why);
}

int hk_condition_parse(const char *text, struct hk_condition *ret_condition, const char **ret_why)
{
	enum { WORDS_MOST = 4 };
	struct hk_condition condition = {.limit = 0};
	const char *words[WORDS_MOST];
	char copy[HK_CONDITION_BYTES];
	size_t length;

	while (isspace((unsigned char)*text)) {
		text++;
	}
	length = strlen(text);
	if (length >= sizeof(copy)) {
		return refuse(expected_pattern, ret_why);
	}
	memcpy(copy, text, length + 1);
	memcpy(condition.text, text, length + 1);
	size_t count = split(copy, words, WORDS_MOST);
	int r = count > WORDS_MOST ? refuse(expected, ret_why)
				   : parse_words(words, count, &condition, ret_why);
	if (r == 0) {
		*ret_condition = condition;
	}
	return r;
}

bool hk_condition_holds(const struct hk_condition *condition, double value)
{
	return value > condition->limit;
}

const char *hk_condition_print(const struct hk_condition *condition, double value,
			       char saw[HK_CONDITION_SAW_BYTES])
{
	char a[HK_QUANTITY_BYTES], b[HK_QUANTITY_BYTES];

	switch (condition->kind) {
	case HK_CONDITION_LATENCY:
		snprintf(saw, HK_CONDITION_SAW_BYTES, "%s %s > %s",
			 statistics[condition->statistic].name, hk_quantity_time(a, value),
			 hk_quantity_time(b, condition->limit));
		break;
	case HK_CONDITION_ERROR:
		snprintf(saw, HK_CONDITION_SAW_BYTES,
			 condition->limit > 0 ? "%s errors a second > %s" : "%s errors a second",
			 hk_quantity_count(a, value), hk_quantity_count(b, condition->limit));
		break;
	case HK_CONDITION_STEP:
		snprintf(saw, HK_CONDITION_SAW_BYTES, "step of %s > %s", hk_quantity_time(a, value),
			 hk_quantity_time(b, condition->limit));
		break;
	case HK_CONDITION_STEP_FACTOR:
		snprintf(saw, HK_CONDITION_SAW_BYTES, "step of %.2f > %.2f times the median so far",
			 value, condition->limit);
		break;
	case HK_CONDITION_FINDING:
		snprintf(saw, HK_CONDITION_SAW_BYTES, "finding %s", condition->finding);
		break;
	default:
		snprintf(saw, HK_CONDITION_SAW_BYTES, value > 0 ? "signal %.0f" : "out of memory",
			 value);
	}
	return saw;
}
