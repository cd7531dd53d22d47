#include "cli/compare/mapping.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/pattern.h"

#define STARS_MAX 8
#define BLANKS " \t\r\n"

static char *trimmed(char *text)
{
	text += strspn(text, BLANKS);
	size_t length = strlen(text);
	while (length > 0 && strchr(BLANKS, text[length - 1])) {
		text[--length] = '\0';
	}
	return text;
}

static size_t stars_of(const char *pattern)
{
	size_t stars = 0;

	for (; *pattern; pattern++) {
		stars += *pattern == '*';
	}
	return stars;
}

/* ---- statements ---- */

static int names_add(struct hk_mapping *mapping, const char *a, const char *b, char *reason)
{
	struct hk_mapping_names *list;

	if (a[strcspn(a, BLANKS)] || b[strcspn(b, BLANKS "=")]) {
		snprintf(reason, HK_MAPPING_REASON_BYTES,
			 "a name has no blank and no '=': expected 'PATTERN = PATTERN', 'rank 1 = "
			 "rank 4', 'PATTERN = shard(0) over ranks 0-3' or 'PATTERN = replicated'");
		return -EINVAL;
	}
	if (stars_of(a) > STARS_MAX || stars_of(b) > stars_of(a)) {
		snprintf(reason, HK_MAPPING_REASON_BYTES,
			 "at most %d '*' are allowed, and not more on the right than on the left",
			 STARS_MAX);
		return -EINVAL;
	}
	list = reallocarray(mapping->names, mapping->name_count + 1, sizeof(*list));
	if (!list) {
		return -ENOMEM;
	}
	mapping->names = list;
	list += mapping->name_count++;
	*list = (struct hk_mapping_names){strdup(a), strdup(b)};
	return list->a && list->b ? 0 : -ENOMEM;
}

/* Parses "rank 4". Returns whether TEXT has this form. */
static bool rank_parse(const char *text, uint32_t *ret_rank)
{
	unsigned rank;
	int end = 0;

	if (sscanf(text, "rank %9u%n", &rank, &end) < 1 || end == 0 || text[end]) {
		return false;
	}
	*ret_rank = rank;
	return true;
}

static int rank_add(struct hk_mapping *mapping, uint32_t a, uint32_t b)
{
	struct hk_mapping_rank *list =
	    reallocarray(mapping->ranks, mapping->rank_count + 1, sizeof(*list));

	if (!list) {
		return -ENOMEM;
	}
	mapping->ranks = list;
	list[mapping->rank_count++] = (struct hk_mapping_rank){a, b};
	return 0;
}

/* Parses "shard(0) over ranks 0-3" or "replicated" into LAYOUT. Returns 1, 0 if TEXT is a name, or
 * -EINVAL with REASON. */
static int layout_parse(const char *text, struct hk_mapping_layout *layout, char *reason)
{
	int end = 0;

	layout->replicated = strcmp(text, "replicated") == 0;
	if (layout->replicated) {
		return 1;
	}
	if (strncmp(text, "shard(", 6) != 0) {
		return 0;
	}
	if (sscanf(text, "shard(%2u) over ranks %n", &layout->dimension, &end) < 1 || end == 0) {
		snprintf(reason, HK_MAPPING_REASON_BYTES,
			 "a shard needs a dimension and ranks: 'shard(0) over ranks 0-3'");
		return -EINVAL;
	}
	int spans = hk_span_ranks(text + end, layout->spans);
	if (spans < 0) {
		snprintf(reason, HK_MAPPING_REASON_BYTES,
			 "invalid ranks '%.64s': expected a list such as 0,4-7", text + end);
		return -EINVAL;
	}
	layout->span_count = (size_t)spans;
	return 1;
}

static int layout_add(struct hk_mapping *mapping, struct hk_mapping_layout *layout, char *left)
{
	struct hk_mapping_layout *list;

	layout->side = HK_SIDE_LARGER;
	if ((left[0] == 'a' || left[0] == 'b') && left[1] == ':') {
		layout->side = left[0] == 'a' ? HK_SIDE_A : HK_SIDE_B;
		left = trimmed(left + 2);
	}
	list = reallocarray(mapping->layouts, mapping->layout_count + 1, sizeof(*list));
	if (!list) {
		return -ENOMEM;
	}
	mapping->layouts = list;
	layout->pattern = strdup(left);
	list[mapping->layout_count++] = *layout;
	return layout->pattern ? 0 : -ENOMEM;
}

static int statement_take(struct hk_mapping *mapping, char *left, char *right, char *reason)
{
	struct hk_mapping_layout layout = {0};
	uint32_t a, b;

	if (rank_parse(left, &a) && rank_parse(right, &b)) {
		return rank_add(mapping, a, b);
	}
	int r = layout_parse(right, &layout, reason);
	if (r < 0) {
		return r;
	}
	return r ? layout_add(mapping, &layout, left) : names_add(mapping, left, right, reason);
}

static int line_take(struct hk_mapping *mapping, char *line, char *reason)
{
	char *text = trimmed(line), *equals;

	if (*text == '#' || *text == '\0') {
		return 0;
	}
	equals = strchr(text, '=');
	if (!equals) {
		snprintf(reason, HK_MAPPING_REASON_BYTES, "expected 'PATTERN = PATTERN'");
		return -EINVAL;
	}
	*equals = '\0';
	char *left = trimmed(text), *right = trimmed(equals + 1);
	if (!*left || !*right) {
		snprintf(reason, HK_MAPPING_REASON_BYTES, "one side of '=' is empty");
		return -EINVAL;
	}
	return statement_take(mapping, left, right, reason);
}

static int lines_take(struct hk_mapping *mapping, FILE *file, char *reason)
{
	char *line = NULL, why[HK_MAPPING_REASON_BYTES - 32] = "";
	size_t capacity = 0, number = 0;
	int r = 0;

	while (r == 0 && getline(&line, &capacity, file) >= 0) {
		number++;
		snprintf(why, sizeof(why), "%s", strerror(ENOMEM));
		char text[HK_MAPPING_REASON_BYTES] = "";
		r = line_take(mapping, line, text);
		if (r == -EINVAL) {
			snprintf(why, sizeof(why), "%.200s", text);
		}
	}
	if (r == 0 && ferror(file)) {
		r = -EIO;
		snprintf(why, sizeof(why), "%s", strerror(EIO));
	}
	free(line);
	if (r < 0) {
		snprintf(reason, HK_MAPPING_REASON_BYTES, "line %zu: %s", number, why);
	}
	return r;
}

int hk_mapping_read(struct hk_mapping *mapping, const char *path,
		    char reason[HK_MAPPING_REASON_BYTES])
{
	FILE *file = fopen(path, "re");

	*mapping = (struct hk_mapping){0};
	if (!file) {
		snprintf(reason, HK_MAPPING_REASON_BYTES, "%s", strerror(errno));
		return -errno;
	}
	int r = lines_take(mapping, file, reason);
	fclose(file);
	if (r < 0) {
		hk_mapping_fini(mapping);
	}
	return r;
}

void hk_mapping_fini(struct hk_mapping *mapping)
{
	for (size_t i = 0; i < mapping->name_count; i++) {
		free(mapping->names[i].a);
		free(mapping->names[i].b);
	}
	for (size_t i = 0; i < mapping->layout_count; i++) {
		free(mapping->layouts[i].pattern);
	}
	free(mapping->names);
	free(mapping->ranks);
	free(mapping->layouts);
	*mapping = (struct hk_mapping){0};
}

/* ---- names ---- */

struct capture {
	const char *start;
	size_t length;
};

/* Matches TEXT against PATTERN, each * as short as possible but the last. Sets what each * covers.
 * Returns whether PATTERN covers all of TEXT. */
static bool captured(const char *pattern, const char *text, struct capture captures[STARS_MAX])
{
	const char *star = NULL;
	size_t stars = 0;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			captures[stars++] = (struct capture){text, 0};
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			struct capture *last = &captures[stars - 1];
			text = last->start + ++last->length;
			pattern = star + 1;
		} else {
			return false;
		}
	}
	for (; *pattern == '*'; pattern++) {
		captures[stars++] = (struct capture){text, 0};
	}
	return *pattern == '\0';
}

static void replaced(const char *pattern, const struct capture *captures, char *text, size_t size)
{
	size_t length = 0;

	for (; *pattern && length + 1 < size; pattern++) {
		if (*pattern != '*') {
			text[length++] = *pattern;
			continue;
		}
		size_t room = size - 1 - length;
		size_t part = captures->length < room ? captures->length : room;
		memcpy(text + length, captures->start, part);
		length += part;
		captures++;
	}
	text[length] = '\0';
}

bool hk_mapping_name(const struct hk_mapping *mapping, const char *name, char *text, size_t size)
{
	struct capture captures[STARS_MAX];

	for (size_t i = 0; i < mapping->name_count; i++) {
		if (captured(mapping->names[i].a, name, captures)) {
			replaced(mapping->names[i].b, captures, text, size);
			return true;
		}
	}
	return false;
}

/* ---- layouts ---- */

const struct hk_mapping_layout *hk_mapping_layout(const struct hk_mapping *mapping,
						  enum hk_mapping_side side,
						  enum hk_mapping_side larger, uint32_t rank,
						  const char *name)
{
	for (size_t i = 0; i < mapping->layout_count; i++) {
		const struct hk_mapping_layout *layout = &mapping->layouts[i];
		enum hk_mapping_side of = layout->side == HK_SIDE_LARGER ? larger : layout->side;
		if (of == side && hk_pattern_match(layout->pattern, name) &&
		    hk_span_has_rank(layout->spans, layout->span_count, (int32_t)rank)) {
			return layout;
		}
	}
	return NULL;
}
