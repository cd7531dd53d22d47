#include "cli/log/log_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/span.h"
#include "hooks/pattern.h"

#define NODES_MAX 64
#define DEPTH_MAX 32

enum kind { AND, OR, NOT, FUNCTION, LIBRARY, DOMAIN, RANK, THREAD, DURATION, ERROR, UNWOUND };
enum compare { EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST };

struct node {
	enum kind kind;
	enum compare compare;
	int left, right; /* indices of the operands of AND and OR; NOT has only a left one */
	int64_t number;
	const char *pattern; /* pointer into the filter's text */
};

struct hk_log_filter {
	int root;
	int count;
	struct node nodes[NODES_MAX];
	char text[]; /* text of the patterns */
};

struct parse {
	struct hk_log_filter *filter;
	const char *at;
	char *text_end;
	char *why;
	int depth;
};

static const struct term {
	const char *word;
	enum kind kind;
} terms[] = {
    {"function", FUNCTION}, {"library", LIBRARY},   {"domain", DOMAIN}, {"rank", RANK},
    {"thread", THREAD},	    {"duration", DURATION}, {"error", ERROR},	{"unwound", UNWOUND},
};

static int fail_at(struct parse *parse, const char *at, const char *message)
{
	if (!*parse->why && *at) {
		snprintf(parse->why, HK_LOG_WHY_BYTES, "%s at '%.40s'", message, at);
	} else if (!*parse->why) {
		snprintf(parse->why, HK_LOG_WHY_BYTES, "%s at the end", message);
	}
	return -EINVAL;
}

static int fail(struct parse *parse, const char *message)
{
	return fail_at(parse, parse->at, message);
}

static void skip_blanks(struct parse *parse)
{
	while (isspace((unsigned char)*parse->at)) {
		parse->at++;
	}
}

static bool take_word(struct parse *parse, const char *word)
{
	size_t length = strlen(word);

	skip_blanks(parse);
	if (strncmp(parse->at, word, length) != 0 || isalnum((unsigned char)parse->at[length])) {
		return false;
	}
	parse->at += length;
	return true;
}

static bool take_sign(struct parse *parse, const char *sign)
{
	skip_blanks(parse);
	if (strncmp(parse->at, sign, strlen(sign)) != 0) {
		return false;
	}
	parse->at += strlen(sign);
	return true;
}

static int add_node(struct parse *parse, struct node node)
{
	if (parse->filter->count == NODES_MAX) {
		return fail(parse, "expression too long");
	}
	parse->filter->nodes[parse->filter->count] = node;
	return parse->filter->count++;
}

static int take_comparison(struct parse *parse, struct node *node)
{
	static const struct {
		const char *sign;
		enum compare compare;
	} signs[] = {{"!=", DIFFERENT}, {"<=", AT_MOST}, {">=", AT_LEAST}, {"==", EQUAL},
		     {"=", EQUAL},	{"<", LESS},	 {">", MORE}};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (take_sign(parse, signs[i].sign)) {
			node->compare = signs[i].compare;
			return 0;
		}
	}
	return fail(parse, "one of = != < <= > >= expected");
}

/* Copies a value to the filter. It ends at a blank or a parenthesis; a quoted value may hold
 * them. */
static int take_value(struct parse *parse, const char **ret_value)
{
	char quote = 0, *to = parse->text_end;

	skip_blanks(parse);
	if (*parse->at == '"' || *parse->at == '\'') {
		quote = *parse->at++;
	}
	while (*parse->at && (quote ? *parse->at != quote
				    : !isspace((unsigned char)*parse->at) && *parse->at != '(' &&
					  *parse->at != ')')) {
		*to++ = *parse->at++;
	}
	if (quote && *parse->at++ != quote) {
		parse->at--;
		return fail(parse, "quote without an end");
	}
	if (to == parse->text_end) {
		return fail(parse, "value expected");
	}
	*to++ = '\0';
	*ret_value = parse->text_end;
	parse->text_end = to;
	return 0;
}

static int read_number(struct parse *parse, struct node *node, const char *value)
{
	char *end;

	if (node->kind == DURATION) {
		/* A unit is required: readers take a bare number for seconds or microseconds. */
		bool bare = value[strspn(value, "0123456789.")] == '\0';
		return bare || hk_span_time(value, &node->number) < 0
			   ? fail_at(parse, value, "duration needs a unit, such as 5us, 5ms or 5s,")
			   : 0;
	}
	errno = 0;
	node->number = strtoll(value, &end, 10);
	return errno || *end ? fail_at(parse, value, "a number expected") : 0;
}

static int parse_term(struct parse *parse)
{
	struct node node = {0};
	const char *value;
	size_t i = 0, count = sizeof(terms) / sizeof(terms[0]);

	while (i < count && !take_word(parse, terms[i].word)) {
		i++;
	}
	if (i == count) {
		return fail(parse, "function, library, domain, rank, thread, duration, error or "
				   "unwound expected");
	}
	node.kind = terms[i].kind;
	if (node.kind == ERROR || node.kind == UNWOUND) {
		return add_node(parse, node);
	}
	skip_blanks(parse);
	const char *comparison = parse->at;
	if (take_comparison(parse, &node) < 0 || take_value(parse, &value) < 0) {
		return -EINVAL;
	}
	if (node.kind == FUNCTION || node.kind == LIBRARY || node.kind == DOMAIN) {
		node.pattern = value;
		if (node.compare != EQUAL && node.compare != DIFFERENT) {
			return fail_at(parse, comparison, "= or != expected");
		}
	} else if (read_number(parse, &node, value) < 0) {
		return -EINVAL;
	}
	return add_node(parse, node);
}

static int parse_or(struct parse *parse);

static int parse_unary(struct parse *parse)
{
	int left;

	if (++parse->depth > DEPTH_MAX) {
		return fail(parse, "expression too deep");
	}
	if (take_word(parse, "not") || take_sign(parse, "!")) {
		left = parse_unary(parse);
		left = left < 0 ? left : add_node(parse, (struct node){.kind = NOT, .left = left});
	} else if (take_sign(parse, "(")) {
		left = parse_or(parse);
		left = left < 0 || take_sign(parse, ")") ? left : fail(parse, "')' expected");
	} else {
		left = parse_term(parse);
	}
	parse->depth--;
	return left;
}

static int parse_chain(struct parse *parse, const char *word, const char *sign, enum kind kind,
		       int (*operand)(struct parse *))
{
	int left = operand(parse);

	while (left >= 0 && (take_word(parse, word) || take_sign(parse, sign))) {
		int right = operand(parse);
		left = right < 0
			   ? right
			   : add_node(parse,
				      (struct node){.kind = kind, .left = left, .right = right});
	}
	return left;
}

static int parse_and(struct parse *parse)
{
	return parse_chain(parse, "and", "&&", AND, parse_unary);
}

static int parse_or(struct parse *parse)
{
	return parse_chain(parse, "or", "||", OR, parse_and);
}

struct hk_log_filter *hk_log_filter_new(const char *expression, char why[HK_LOG_WHY_BYTES])
{
	size_t room = 2 * strlen(expression) + 1; /* enough for every value with its NUL */
	struct hk_log_filter *filter = calloc(1, sizeof(*filter) + room);
	struct parse parse = {.filter = filter, .at = expression, .why = why};

	why[0] = '\0';
	if (!filter) {
		snprintf(why, HK_LOG_WHY_BYTES, "out of memory");
		return NULL;
	}
	parse.text_end = filter->text;
	filter->root = parse_or(&parse);
	skip_blanks(&parse);
	if (filter->root >= 0 && *parse.at) {
		filter->root = fail(&parse, "'and' or 'or' expected");
	}
	return filter->root < 0 ? hk_log_filter_free(filter) : filter;
}

struct hk_log_filter *hk_log_filter_free(struct hk_log_filter *filter)
{
	free(filter);
	return NULL;
}

static bool holds(enum compare compare, int64_t left, int64_t right)
{
	switch (compare) {
	case EQUAL:
		return left == right;
	case DIFFERENT:
		return left != right;
	case LESS:
		return left < right;
	case AT_MOST:
		return left <= right;
	case MORE:
		return left > right;
	default:
		return left >= right;
	}
}

static bool pass(const struct hk_log_filter *filter, int at, const struct hk_export_thread *thread,
		 const struct hk_slice *slice)
{
	const struct node *node = &filter->nodes[at];

	switch (node->kind) {
	case AND:
		return pass(filter, node->left, thread, slice) &&
		       pass(filter, node->right, thread, slice);
	case OR:
		return pass(filter, node->left, thread, slice) ||
		       pass(filter, node->right, thread, slice);
	case NOT:
		return !pass(filter, node->left, thread, slice);
	case FUNCTION:
		return hk_pattern_match(node->pattern, slice->site->function) ==
		       (node->compare == EQUAL);
	case LIBRARY:
		return hk_pattern_match_library(node->pattern, slice->site->library) ==
		       (node->compare == EQUAL);
	case DOMAIN:
		return hk_pattern_match(node->pattern, slice->site->domain) ==
		       (node->compare == EQUAL);
	case RANK:
		return holds(node->compare, thread->process->rank, node->number);
	case THREAD:
		return holds(node->compare, thread->show_tid, node->number);
	case DURATION:
		return holds(node->compare, (int64_t)(slice->end_ns - slice->start_ns),
			     node->number);
	case ERROR:
		return slice->failed;
	default:
		return slice->unwound;
	}
}

bool hk_log_filter_pass(const struct hk_log_filter *filter, const struct hk_export_thread *thread,
			const struct hk_slice *slice)
{
	return !filter || pass(filter, filter->root, thread, slice);
}
