#include "cli/diff/threshold.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/span.h"
#include "hooks/pattern.h"
#include "settings/keep.h"

#define CONDITIONS_MAX 64
#define BLANKS " \t\n"

enum subject { OF_FUNCTION, OF_MEMORY, OF_JOB };
enum unit { COUNT, BYTES, TIME };
enum compare { MORE, LESS, OTHER };

static const struct figure {
	const char *name;
	enum subject subject;
	enum unit unit;
	enum hk_compare_figure index; /* figure of a function */
} figures[] = {
    {"calls", OF_FUNCTION, COUNT, HK_COMPARE_CALLS},
    {"errors", OF_FUNCTION, COUNT, HK_COMPARE_ERRORS},
    {"bytes", OF_FUNCTION, BYTES, HK_COMPARE_BYTES},
    {"total", OF_FUNCTION, TIME, HK_COMPARE_TOTAL},
    {"mean", OF_FUNCTION, TIME, HK_COMPARE_MEAN},
    {"p50", OF_FUNCTION, TIME, HK_COMPARE_P50},
    {"p90", OF_FUNCTION, TIME, HK_COMPARE_P90},
    {"p99", OF_FUNCTION, TIME, HK_COMPARE_P99},
    {"peak", OF_MEMORY, BYTES, 0},
    {"wall", OF_JOB, TIME, 0},
};

struct condition {
	const struct figure *figure;
	enum compare compare;
	bool relative;
	double limit;	     /* change: a share of the earlier value, or in the figure's unit */
	const char *pattern; /* NULL: all functions */
	const char *typed;
};

struct hk_thresholds {
	size_t count;
	struct condition conditions[CONDITIONS_MAX];
	char *typed, *words; /* two copies of the list: unchanged, and cut into words */
};

/* ---- parsing ---- */

static char *trimmed(char *text)
{
	text += strspn(text, BLANKS);
	size_t length = strlen(text);
	while (length > 0 && strchr(BLANKS, text[length - 1])) {
		text[--length] = '\0';
	}
	return text;
}

static int read_absolute(const char *text, enum unit unit, double *ret_limit)
{
	bool negative = *text == '-';
	const char *amount = text + negative;
	uint64_t bytes = 0;
	int64_t ns = 0;
	char *end;
	int r = 0;

	if (unit == TIME) {
		r = hk_span_time(amount, &ns);
		*ret_limit = (double)ns;
	} else if (unit == BYTES) {
		r = strcmp(amount, "all") == 0 ? -EINVAL : hk_keep_parse_bytes(amount, &bytes);
		*ret_limit = (double)bytes;
	} else {
		*ret_limit = strtod(amount, &end);
		r = isdigit((unsigned char)*amount) && !*end ? 0 : -EINVAL;
	}
	*ret_limit = negative ? -*ret_limit : *ret_limit;
	return r;
}

static int read_value(char *text, struct condition *condition)
{
	size_t length = strlen(text);
	char *end;

	condition->relative = length > 0 && text[length - 1] == '%';
	if (!condition->relative) {
		/* Zero needs no unit. */
		if (strcmp(text, "0") == 0) {
			return 0;
		}
		return read_absolute(text, condition->figure->unit, &condition->limit);
	}
	text[length - 1] = '\0';
	condition->limit = strtod(text, &end) / 100;
	return end == text || *trimmed(end) || !isfinite(condition->limit) ? -EINVAL : 0;
}

static const struct figure *find_figure(const char *name)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (strcmp(figures[i].name, name) == 0) {
			return &figures[i];
		}
	}
	return NULL;
}

/* Parses one condition in WORD, and cuts WORD into pieces. Returns 0, or -EINVAL with the reason in
 * WHY. */
static int parse_condition(struct condition *condition, char *word, char *why)
{
	char *sign = word + strcspn(word, "<>!");
	bool other = sign[0] == '!' && sign[1] == '=';

	if (!*sign || (*sign == '!' && !other)) {
		snprintf(why, HK_THRESHOLD_WHY_BYTES, "'%.60s' has none of > < !=", word);
		return -EINVAL;
	}
	condition->compare = other ? OTHER : *sign == '>' ? MORE : LESS;
	char *value = trimmed(sign + 1 + other);
	*sign = '\0';
	char *colon = strrchr(word, ':');
	char *name = trimmed(colon ? colon + 1 : word);
	condition->figure = find_figure(name);
	if (!condition->figure) {
		snprintf(why, HK_THRESHOLD_WHY_BYTES,
			 "no figure '%.40s': calls errors bytes total mean p50 p90 p99 peak wall",
			 name);
		return -EINVAL;
	}
	if (colon) {
		*colon = '\0';
		condition->pattern = trimmed(word);
		if (condition->figure->subject != OF_FUNCTION) {
			snprintf(why, HK_THRESHOLD_WHY_BYTES, "%s is not of a function", name);
			return -EINVAL;
		}
	}
	if (read_value(value, condition) < 0) {
		snprintf(why, HK_THRESHOLD_WHY_BYTES, "'%.40s' is no value of %s: 10%%, %s", value,
			 name,
			 condition->figure->unit == TIME    ? "2ms"
			 : condition->figure->unit == BYTES ? "64M"
							    : "5");
		return -EINVAL;
	}
	return 0;
}

/* Cuts both copies of the list at its commas and parses the conditions. Returns 0, or -EINVAL with
 * the reason in WHY. */
static int parse_list(struct hk_thresholds *thresholds, char *why)
{
	char *word = thresholds->words, *typed = thresholds->typed;

	for (bool more = true; more;) {
		size_t length = strcspn(word, ",");
		more = word[length] == ',';
		word[length] = typed[length] = '\0';
		if (thresholds->count == CONDITIONS_MAX) {
			snprintf(why, HK_THRESHOLD_WHY_BYTES, "more than %d conditions",
				 CONDITIONS_MAX);
			return -EINVAL;
		}
		struct condition *condition = &thresholds->conditions[thresholds->count++];
		condition->typed = trimmed(typed);
		if (parse_condition(condition, trimmed(word), why) < 0) {
			return -EINVAL;
		}
		word += length + more;
		typed += length + more;
	}
	return 0;
}

struct hk_thresholds *hk_thresholds_new(const char *list, char why[HK_THRESHOLD_WHY_BYTES])
{
	struct hk_thresholds *thresholds = calloc(1, sizeof(*thresholds));

	snprintf(why, HK_THRESHOLD_WHY_BYTES, "out of memory");
	if (!thresholds) {
		return NULL;
	}
	thresholds->typed = strdup(list);
	thresholds->words = strdup(list);
	if (!thresholds->typed || !thresholds->words || parse_list(thresholds, why) < 0) {
		return hk_thresholds_free(thresholds);
	}
	return thresholds;
}

struct hk_thresholds *hk_thresholds_free(struct hk_thresholds *thresholds)
{
	if (thresholds) {
		free(thresholds->typed);
		free(thresholds->words);
	}
	free(thresholds);
	return NULL;
}

/* ---- checking ---- */

/* Returns END of the interval of the change in the unit of the condition. If END is unknown,
 * returns the change itself. */
static double amount(const struct condition *condition, const struct hk_compared *compared,
		     double end)
{
	double share = isnan(end) ? compared->change.ratio : end;

	if (condition->relative) {
		return share;
	}
	return compared->a == 0 ? compared->b - compared->a : share * compared->a;
}

enum finding { UNMEASURED, UNDECIDED, HOLDS, HOLDS_NOT };

static enum finding judge(const struct condition *condition, const struct hk_compared *compared)
{
	double limit = condition->limit;

	if (isnan(compared->change.ratio)) {
		return UNMEASURED;
	}
	double low = amount(condition, compared, compared->change.low);
	double high = amount(condition, compared, compared->change.high);
	if ((condition->compare != LESS && low > limit) ||
	    (condition->compare != MORE && high < limit)) {
		return HOLDS;
	}
	bool not_more = condition->compare == LESS || high <= limit;
	bool not_less = condition->compare == MORE || low >= limit;
	return not_more && not_less ? HOLDS_NOT : UNDECIDED;
}

static bool covers(const struct condition *condition, const struct hk_compare_row *row)
{
	return strcmp(row->role, "launcher") != 0 &&
	       (!condition->pattern || hk_pattern_match(condition->pattern, row->function));
}

struct search {
	const struct hk_compare *compare;
	void (*exceeded)(void *context, const struct hk_exceeded *found);
	void *context;
	size_t findings[HOLDS_NOT + 1]; /* number of items by result of the check */
};

static void consider(struct search *search, const struct condition *condition, const char *role,
		     const char *what, const struct hk_compared *compared)
{
	struct hk_exceeded found = {condition->typed, condition->figure->name, role, what,
				    compared};

	enum finding finding = judge(condition, compared);

	search->findings[finding]++;
	if (finding == HOLDS && search->exceeded) {
		search->exceeded(search->context, &found);
	}
}

static void search_condition(struct search *search, const struct condition *condition)
{
	const struct hk_compare *compare = search->compare;

	if (condition->figure->subject == OF_JOB) {
		consider(search, condition, "", "", &compare->wall);
	}
	for (size_t i = 0; condition->figure->subject == OF_MEMORY && i < compare->memory_count;
	     i++) {
		const struct hk_compare_memory *memory = &compare->memory[i];
		if (strcmp(memory->role, "launcher") != 0) {
			consider(search, condition, memory->role, memory->kind, &memory->peak);
		}
	}
	for (size_t i = 0; condition->figure->subject == OF_FUNCTION && i < compare->row_count;
	     i++) {
		const struct hk_compare_row *row = &compare->rows[i];
		if (covers(condition, row)) {
			consider(search, condition, row->role, row->function,
				 &row->figure[condition->figure->index]);
		}
	}
}

size_t hk_thresholds_check(const struct hk_thresholds *thresholds, const struct hk_compare *compare,
			   void (*exceeded)(void *context, const struct hk_exceeded *found),
			   void *context)
{
	struct search search = {.compare = compare, .exceeded = exceeded, .context = context};

	for (size_t i = 0; thresholds && i < thresholds->count; i++) {
		search_condition(&search, &thresholds->conditions[i]);
	}
	return search.findings[HOLDS];
}

static const char *why_undecided(const struct condition *condition, bool measured)
{
	if (condition->figure->subject == OF_MEMORY) {
		return measured ? "the peaks are not known well enough to judge it"
				: "neither job has a peak of memory to judge it by";
	}
	return measured ? "no function has enough calls and ranks to judge it for sure"
			: "no function has this figure in both jobs to judge it by";
}

void hk_thresholds_undecided(const struct hk_thresholds *thresholds,
			     const struct hk_compare *compare,
			     void (*undecided)(void *context, const struct hk_undecided *found),
			     void *context)
{
	for (size_t i = 0; thresholds && i < thresholds->count; i++) {
		const struct condition *condition = &thresholds->conditions[i];
		struct search search = {.compare = compare};
		search_condition(&search, condition);
		if (search.findings[HOLDS] + search.findings[HOLDS_NOT] == 0) {
			bool measured = search.findings[UNDECIDED] > 0;
			const struct hk_undecided found = {condition->typed,
							   why_undecided(condition, measured)};
			undecided(context, &found);
		}
	}
}

const char *hk_thresholds_idle(const struct hk_thresholds *thresholds,
			       const struct hk_compare *compare)
{
	for (size_t i = 0; thresholds && i < thresholds->count; i++) {
		const struct condition *condition = &thresholds->conditions[i];
		bool covered = !condition->pattern;
		for (size_t k = 0; !covered && k < compare->row_count; k++) {
			covered = covers(condition, &compare->rows[k]);
		}
		if (!covered) {
			return condition->typed;
		}
	}
	return NULL;
}
