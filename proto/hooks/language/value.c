#include "hooks/language/value.h"

#include <errno.h>
#include <stdbool.h>

#define OPERANDS 4u /* most arguments of a function of the language */

/* What an argument must be to serve as an operand of a function of the language. */
enum role {
	ROLE_NONE = 0,
	ROLE_NUMBER,   /* int or uint */
	ROLE_COUNT,    /* any integer */
	ROLE_SIZE,     /* uint */
	ROLE_DIM3,     /* dim3 */
	ROLE_TEXT,     /* str or text */
	ROLE_NEW,      /* ptr *: written by the call */
	ROLE_POINTER,  /* ptr: a buffer or an array */
	ROLE_MEMORY,   /* ptr or struct */
	ROLE_DATATYPE, /* datatype */
	ROLE_COMM,     /* comm */
	ROLE_NEW_COMM, /* comm *: written by the call */
	ROLE_OFFSET,   /* a number, which goes to `constant`; a second one, to its upper half */
	ROLE_NCCL_DATATYPE,
	ROLE_NCCL_COMM,
	ROLE_NCCL_NEW_COMM,
};

/* An argument of a function of the language: one of the hooked function's, or a number. */
struct operand {
	struct hk_word word;
	bool is_number;
	uint8_t argument;
	uint32_t number;
};

/* `to` names the member of struct hk_factor for each argument: 0 arg, 1 arg2, 2 arg3. Of rows with
 * one word and count, the first whose roles fit is used. */
static const struct function {
	char word[12]; /* no pointer that the loader would have to relocate */
	uint8_t kind;
	uint8_t count;
	uint8_t roles[OPERANDS];
	uint8_t to[OPERANDS];
} functions[] = {
    {"sizeof", HK_FACTOR_TYPE_SIZE, 1, {ROLE_DATATYPE}, {0}},
    {"sum", HK_FACTOR_SUM, 2, {ROLE_POINTER, ROLE_COMM}, {0, 1}},
    {"sum", HK_FACTOR_SUM_TYPED, 3, {ROLE_POINTER, ROLE_POINTER, ROLE_COMM}, {0, 2, 1}},
    {"isroot", HK_FACTOR_IS_ROOT, 2, {ROLE_NUMBER, ROLE_COMM}, {0, 1}},
    {"sent", HK_FACTOR_SENT, 1, {ROLE_POINTER}, {0}},
    {"comm", HK_FACTOR_COMM, 1, {ROLE_COMM}, {0}},
    {"newcomm", HK_FACTOR_NEW_COMM, 2, {ROLE_NEW_COMM, ROLE_COMM}, {0, 1}},
    {"rank", HK_FACTOR_NEW_RANK, 1, {ROLE_NEW_COMM}, {0}},
    {"sender", HK_FACTOR_SENDER, 1, {ROLE_NUMBER}, {0}},
    {"sender", HK_FACTOR_STATUS_SENDER, 2, {ROLE_NUMBER, ROLE_POINTER}, {0, 1}},
    {"word", HK_FACTOR_WORD, 2, {ROLE_MEMORY, ROLE_OFFSET}, {0}},
    {"int", HK_FACTOR_INT, 2, {ROLE_MEMORY, ROLE_OFFSET}, {0}},
    {"device", HK_FACTOR_STREAM_DEVICE, 1, {ROLE_POINTER}, {0}},
    {"sizeof", HK_FACTOR_NCCL_SIZE, 1, {ROLE_NCCL_DATATYPE}, {0}},
    {"ranks", HK_FACTOR_NCCL_RANKS, 1, {ROLE_NCCL_COMM}, {0}},
    {"isroot", HK_FACTOR_NCCL_IS_ROOT, 2, {ROLE_NUMBER, ROLE_NCCL_COMM}, {0, 1}},
    {"comm", HK_FACTOR_NCCL_COMM, 1, {ROLE_NCCL_COMM}, {0}},
    {"newcomm", HK_FACTOR_NCCL_NEW_COMM, 2, {ROLE_NCCL_NEW_COMM, ROLE_MEMORY}, {0, 1}},
    {"newcomm", HK_FACTOR_NCCL_NEW_COMMS, 2, {ROLE_NCCL_NEW_COMM, ROLE_NUMBER}, {0, 1}},
    {"newcomm",
     HK_FACTOR_NCCL_SPLIT,
     3,
     {ROLE_NCCL_NEW_COMM, ROLE_NCCL_COMM, ROLE_COUNT},
     {0, 1, 2}},
    {"rank", HK_FACTOR_NCCL_NEW_RANK, 1, {ROLE_NCCL_NEW_COMM}, {0}},
    {"sum", HK_FACTOR_NCCL_SUM, 2, {ROLE_POINTER, ROLE_NCCL_COMM}, {0, 1}},
    {"sum", HK_FACTOR_SUM_WORDS, 2, {ROLE_POINTER, ROLE_COUNT}, {0, 1}},
    {"extents", HK_FACTOR_EXTENTS, 4, {ROLE_POINTER, ROLE_COUNT, ROLE_OFFSET, ROLE_OFFSET}, {0, 1}},
    {"dim3", HK_FACTOR_DIM3_WORDS, 1, {ROLE_DIM3}, {0}},
    {"dim3", HK_FACTOR_DIM3, 3, {ROLE_SIZE, ROLE_SIZE, ROLE_SIZE}, {0, 1, 2}},
    {"dim3", HK_FACTOR_DIM3_AT, 2, {ROLE_MEMORY, ROLE_OFFSET}, {0}},
    {"kernel", HK_FACTOR_KERNEL, 1, {ROLE_POINTER}, {0}},
    {"function", HK_FACTOR_KERNEL_DRIVER, 1, {ROLE_POINTER}, {0}},
    {"named", HK_FACTOR_KERNEL_NAMED, 2, {ROLE_POINTER, ROLE_TEXT}, {0, 1}},
    {"alias", HK_FACTOR_KERNEL_ALIAS, 2, {ROLE_NEW, ROLE_POINTER}, {0, 1}},
    {"got", HK_FACTOR_KERNEL_GOT, 3, {ROLE_NEW, ROLE_POINTER, ROLE_TEXT}, {0, 1, 2}},
    {"gone", HK_FACTOR_KERNEL_GONE, 1, {ROLE_POINTER}, {0}},
    {"context", HK_FACTOR_CONTEXT, 1, {ROLE_POINTER}, {0}},
    {"newcontext", HK_FACTOR_NEW_CONTEXT, 1, {ROLE_POINTER}, {0}},
};

static bool fits(const struct hk_hook_arg *arg, uint8_t role)
{
	switch (role) {
	case ROLE_NUMBER:
		return arg->type == HK_TYPE_INT || arg->type == HK_TYPE_UINT;
	case ROLE_COUNT:
		return arg->type == HK_TYPE_INT || arg->type == HK_TYPE_UINT ||
		       arg->type == HK_TYPE_LONG || arg->type == HK_TYPE_ULONG;
	case ROLE_SIZE:
		return arg->type == HK_TYPE_UINT && !arg->reference;
	case ROLE_DIM3:
		return arg->type == HK_TYPE_DIM3 && !arg->reference;
	case ROLE_TEXT:
		return arg->type == HK_TYPE_STR || arg->type == HK_TYPE_TEXT;
	case ROLE_NEW:
		return arg->type == HK_TYPE_PTR && arg->reference;
	case ROLE_POINTER:
		return arg->type == HK_TYPE_PTR && !arg->reference;
	case ROLE_MEMORY:
		return (arg->type == HK_TYPE_PTR && !arg->reference) || arg->type == HK_TYPE_STRUCT;
	case ROLE_DATATYPE:
		return arg->type == HK_TYPE_MPI_DATATYPE;
	case ROLE_COMM:
		return arg->type == HK_TYPE_MPI_COMM;
	case ROLE_NEW_COMM:
		return arg->type == HK_TYPE_MPI_COMM && arg->reference;
	case ROLE_NCCL_DATATYPE:
		return arg->type == HK_TYPE_NCCL_DATATYPE;
	case ROLE_NCCL_COMM:
		return arg->type == HK_TYPE_NCCL_COMM;
	case ROLE_NCCL_NEW_COMM:
		return arg->type == HK_TYPE_NCCL_COMM && arg->reference;
	default:
		return false;
	}
}

static int find_argument(struct hk_scan *scan, const struct hk_draft *draft, struct hk_word name,
			 uint8_t *ret_index)
{
	for (unsigned i = 0; i < draft->hook.arg_count; i++) {
		if (hk_word_equal(draft->names[i], name)) {
			*ret_index = (uint8_t)i;
			return 0;
		}
	}
	return hk_scan_fail(scan, name.length != 0 ? "unknown argument" : "argument name expected",
			    name);
}

static bool is_digit(struct hk_word word)
{
	return word.length != 0 && word.text[0] >= '0' && word.text[0] <= '9';
}

static int parse_number(struct hk_scan *scan, struct hk_word word, uint32_t *ret_number)
{
	uint32_t number = 0;

	for (size_t i = 0; i < word.length; i++) {
		char c = word.text[i];
		if (c < '0' || c > '9' || __builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint32_t)(c - '0'), &number)) {
			return hk_scan_fail(scan, "not a number below 2^32:", word);
		}
	}
	*ret_number = number;
	return 0;
}

/* Number of the first operand that does not fit `function`, or its count. */
static unsigned misfit(const struct function *function, const struct hk_draft *draft,
		       const struct operand *operands)
{
	for (unsigned i = 0; i < function->count; i++) {
		bool number = function->roles[i] == ROLE_OFFSET;
		if (number != operands[i].is_number ||
		    (!number &&
		     !fits(&draft->hook.args[operands[i].argument], function->roles[i]))) {
			return i;
		}
	}
	return function->count;
}

static const struct function *find_function(struct hk_scan *scan, const struct hk_draft *draft,
					    struct hk_word word, const struct operand *operands,
					    unsigned count)
{
	const struct function *near = NULL;
	bool known = false;

	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!hk_word_is(word, functions[i].word)) {
			continue;
		}
		known = true;
		if (functions[i].count != count) {
			continue;
		}
		near = near != NULL ? near : &functions[i];
		if (misfit(&functions[i], draft, operands) == count) {
			return &functions[i];
		}
	}
	if (near != NULL) {
		hk_scan_fail(scan, "argument of the wrong type:",
			     operands[misfit(near, draft, operands)].word);
	} else {
		hk_scan_fail(scan, known ? "wrong number of arguments for" : "unknown function",
			     word);
	}
	return NULL;
}

static int parse_operand(struct hk_scan *scan, const struct hk_draft *draft,
			 struct operand *ret_operand)
{
	struct operand operand = {.word = hk_scan_name(scan)};

	operand.is_number = is_digit(operand.word);
	int err = operand.is_number ? parse_number(scan, operand.word, &operand.number)
				    : find_argument(scan, draft, operand.word, &operand.argument);
	*ret_operand = operand;
	return err;
}

/* Reads the arguments of `word(` up to and with the closing parenthesis. */
static int parse_call(struct hk_scan *scan, const struct hk_draft *draft, struct hk_word word,
		      struct hk_factor *ret_factor)
{
	struct operand operands[OPERANDS];
	unsigned count = 0;

	do {
		if (count == OPERANDS) {
			return hk_scan_fail(scan, "wrong number of arguments for", word);
		}
		if (parse_operand(scan, draft, &operands[count++]) < 0) {
			return -EINVAL;
		}
	} while (hk_scan_take(scan, ','));
	if (!hk_scan_take(scan, ')')) {
		return hk_scan_fail(scan, "')' expected in", word);
	}
	const struct function *function = find_function(scan, draft, word, operands, count);
	if (function == NULL) {
		return -EINVAL;
	}
	struct hk_factor factor = {.kind = function->kind};
	uint8_t *members[3] = {&factor.arg, &factor.arg2, &factor.arg3};
	bool halves = function->kind == HK_FACTOR_EXTENTS;
	for (unsigned i = 0; i < count; i++) {
		if (!operands[i].is_number) {
			*members[function->to[i]] = operands[i].argument;
		} else if (halves && operands[i].number > UINT16_MAX) {
			return hk_scan_fail(scan, "not a number below 65536:", operands[i].word);
		} else {
			factor.constant |= operands[i].number << (halves && i == 3 ? 16 : 0);
		}
	}
	*ret_factor = factor;
	return 0;
}

/* Whether a value of this type can be multiplied or shown as a number. */
static bool is_number(uint8_t type)
{
	switch (type) {
	case HK_TYPE_INT:
	case HK_TYPE_UINT:
	case HK_TYPE_LONG:
	case HK_TYPE_ULONG:
	case HK_TYPE_PTR:
	case HK_TYPE_FD:
		return true;
	default:
		return false;
	}
}

static int parse_pointee(struct hk_scan *scan, const struct hk_draft *draft,
			 struct hk_factor *ret_factor)
{
	struct hk_factor factor = {.kind = HK_FACTOR_POINTEE};
	struct hk_word name = hk_scan_name(scan);

	if (find_argument(scan, draft, name, &factor.arg) < 0) {
		return -EINVAL;
	}
	const struct hk_hook_arg *arg = &draft->hook.args[factor.arg];
	bool wide = arg->type == HK_TYPE_LONG || arg->type == HK_TYPE_ULONG;
	if (arg->type != HK_TYPE_PTR && !(arg->reference && wide)) {
		return hk_scan_fail(scan, "not a pointer:", name);
	}
	*ret_factor = factor;
	return 0;
}

static int parse_factor(struct hk_scan *scan, const struct hk_draft *draft,
			struct hk_factor *ret_factor)
{
	struct hk_factor factor = {.kind = HK_FACTOR_ARG};

	if (hk_scan_take(scan, '*')) {
		return parse_pointee(scan, draft, ret_factor);
	}
	struct hk_word word = hk_scan_name(scan);
	if (is_digit(word)) {
		factor.kind = HK_FACTOR_CONST;
		*ret_factor = factor;
		return parse_number(scan, word, &ret_factor->constant);
	}
	if (hk_scan_take(scan, '(')) {
		return parse_call(scan, draft, word, ret_factor);
	}
	if (hk_word_is(word, "result")) {
		if (!is_number(draft->hook.result)) {
			return hk_scan_fail(scan, "no numeric", word);
		}
		factor.kind = HK_FACTOR_RESULT;
	} else if (hk_word_is(word, "current")) {
		factor.kind = HK_FACTOR_DEVICE;
	} else {
		if (find_argument(scan, draft, word, &factor.arg) < 0) {
			return -EINVAL;
		}
		if (!is_number(draft->hook.args[factor.arg].type)) {
			return hk_scan_fail(scan, "argument is no number:", word);
		}
	}
	*ret_factor = factor;
	return 0;
}

/* Order of factors: `sent` and `isroot` come first, because other arguments may be garbage where
 * they are 0. Factors that look up a library's tables come last. */
static unsigned turn(const struct hk_factor *factor)
{
	switch (factor->kind) {
	case HK_FACTOR_SENT:
		return 0;
	case HK_FACTOR_IS_ROOT:
	case HK_FACTOR_NCCL_IS_ROOT:
		return 1;
	case HK_FACTOR_TYPE_SIZE:
	case HK_FACTOR_SUM:
	case HK_FACTOR_SUM_TYPED:
		return 3;
	default:
		return 2;
	}
}

/* Inserts FACTOR behind all factors of VALUE that are not later in that order. */
static void add_factor(struct hk_value *value, const struct hk_factor *factor)
{
	unsigned at = value->factor_count++;

	for (; at > 0 && turn(&value->factors[at - 1]) > turn(factor); at--) {
		value->factors[at] = value->factors[at - 1];
	}
	value->factors[at] = *factor;
}

int hk_value_parse(struct hk_scan *scan, struct hk_draft *draft, uint8_t key)
{
	struct hk_hook *hook = &draft->hook;
	struct hk_value value = {.key = key};

	do {
		if (value.factor_count == HK_HOOK_FACTORS) {
			return hk_scan_fail(scan, "more than 4 factors", (struct hk_word){0});
		}
		struct hk_factor factor;
		if (parse_factor(scan, draft, &factor) < 0) {
			return -EINVAL;
		}
		add_factor(&value, &factor);
	} while (hk_scan_take(scan, '*'));
	for (unsigned i = 0; i < hook->value_count; i++) {
		if (hook->values[i].key == key) {
			return hk_scan_fail(scan, "value given twice", (struct hk_word){0});
		}
	}
	if (hook->value_count == HK_HOOK_VALUES) {
		return hk_scan_fail(scan, "more than 7 values", (struct hk_word){0});
	}
	hook->values[hook->value_count++] = value;
	return 0;
}
