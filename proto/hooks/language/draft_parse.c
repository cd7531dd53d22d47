#include "hooks/language/draft_parse.h"

#include <errno.h>
#include <stdbool.h>

#include "hooks/language/value.h"
#include "hooks/names.h"

#define STRUCT_BYTES 128u /* longest struct by value */

/* Reads `(BYTES)` behind `struct`. */
static int parse_struct(struct hk_scan *scan, uint8_t *ret_words)
{
	bool opened = hk_scan_take(scan, '(');
	struct hk_word word = hk_scan_name(scan);
	unsigned bytes = 0;

	for (size_t i = 0; i < word.length && bytes <= STRUCT_BYTES; i++) {
		bool digit = word.text[i] >= '0' && word.text[i] <= '9';
		bytes = digit ? bytes * 10 + (unsigned)(word.text[i] - '0') : STRUCT_BYTES + 1;
	}
	if (!opened || !hk_scan_take(scan, ')') || bytes <= 16 || bytes > STRUCT_BYTES) {
		return hk_scan_fail(scan, "struct(BYTES) has 17 to 128 bytes, not", word);
	}
	*ret_words = (uint8_t)((bytes + 7) / 8);
	return 0;
}

static int parse_type(struct hk_scan *scan, uint8_t *ret_type, uint8_t *ret_kind)
{
	struct hk_word word = hk_scan_name(scan);
	int type = hk_names_find(&hk_names_type, word.text, word.length);

	*ret_kind = HK_DRAFT_PLAIN;
	if (hk_word_is(word, "handle")) {
		*ret_kind = HK_DRAFT_HANDLE;
		type = HK_TYPE_PTR;
	} else if (hk_word_is(word, "chars")) {
		*ret_kind = HK_DRAFT_CHARS;
		type = HK_TYPE_PTR;
	} else if (type == HK_TYPE_STR || type == HK_TYPE_TEXT) {
		*ret_kind = HK_DRAFT_CHARS;
	} else if (type < 0) {
		return hk_scan_fail(scan, word.length != 0 ? "unknown type" : "type expected",
				    word);
	}
	*ret_type = (uint8_t)type;
	return 0;
}

static int find_name(const struct hk_draft *draft, struct hk_word name)
{
	for (unsigned i = 0; i < draft->hook.arg_count; i++) {
		if (hk_word_equal(draft->names[i], name)) {
			return (int)i;
		}
	}
	return -ENOENT;
}

/* Words that the arguments take in a record. */
static unsigned words_of(const struct hk_hook *hook)
{
	unsigned words = 0;

	for (unsigned i = 0; i < hook->arg_count; i++) {
		words += hook->args[i].type == HK_TYPE_DIM3 ? 2 : 1;
	}
	return words;
}

static int parse_argument(struct hk_scan *scan, struct hk_draft *draft)
{
	struct hk_hook *hook = &draft->hook;
	struct hk_hook_arg arg = {0};
	uint8_t kind;

	if (parse_type(scan, &arg.type, &kind) < 0 ||
	    (arg.type == HK_TYPE_STRUCT && parse_struct(scan, &arg.words) < 0)) {
		return -EINVAL;
	}
	bool by_value = arg.type == HK_TYPE_STRUCT || arg.type == HK_TYPE_DIM3;
	arg.reference = !by_value && hk_scan_take(scan, '*');
	struct hk_word name = hk_scan_name(scan);
	if (name.length == 0) {
		return hk_scan_fail(scan, "argument name expected", name);
	}
	if (arg.type == HK_TYPE_VOID) {
		return hk_scan_fail(scan, "argument cannot be void:", name);
	}
	if (find_name(draft, name) >= 0) {
		return hk_scan_fail(scan, "argument named twice:", name);
	}
	if (arg.type == HK_TYPE_DIM3) {
		arg.words = 2;
	}
	if (words_of(hook) + (arg.type == HK_TYPE_DIM3 ? 2 : 1) > HK_HOOK_ARGS) {
		return hk_scan_fail(scan, "more than 20 arguments at", name);
	}
	draft->names[hook->arg_count] = name;
	draft->kinds[hook->arg_count] = kind;
	hook->args[hook->arg_count++] = arg;
	return 0;
}

int hk_draft_signature(struct hk_scan *scan, struct hk_draft *draft)
{
	uint8_t kind;

	if (parse_type(scan, &draft->hook.result, &kind) < 0) {
		return -EINVAL;
	}
	if (draft->hook.result == HK_TYPE_STRUCT || draft->hook.result == HK_TYPE_DIM3) {
		return hk_scan_fail(scan, "a result cannot be a struct", (struct hk_word){0});
	}
	draft->symbol = hk_scan_glob(scan);
	if (draft->symbol.length == 0) {
		return hk_scan_fail(scan, "function name expected", draft->symbol);
	}
	if (!hk_scan_take(scan, '(')) {
		return hk_scan_fail(scan, "'(' expected after", draft->symbol);
	}
	if (!hk_scan_take(scan, ')')) {
		do {
			if (parse_argument(scan, draft) < 0) {
				return -EINVAL;
			}
		} while (hk_scan_take(scan, ','));
		if (!hk_scan_take(scan, ')')) {
			struct hk_word last = draft->names[draft->hook.arg_count - 1];
			return hk_scan_fail(scan, "',' or ')' expected after", last);
		}
	}
	draft->hook.flags |= HK_HOOK_DESCRIBED;
	return 0;
}

static int set_level(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	int level = hk_level_read(word.text, word.length, &draft->hook.stack_rate);

	if (level < 0) {
		return hk_scan_fail(scan, "unknown level", word);
	}
	draft->hook.level = (uint8_t)level;
	return 0;
}

static int set_auto(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	int level = hk_names_find(&hk_names_level, word.text, word.length);

	if (level < 0) {
		return hk_scan_fail(scan, "unknown level", word);
	}
	draft->hook.auto_level = (uint8_t)level;
	return 0;
}

static int set_error(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	int error = hk_names_find(&hk_names_error, word.text, word.length);

	if (error < 0) {
		return hk_scan_fail(scan, "unknown error rule", word);
	}
	draft->hook.error = (uint8_t)error;
	return 0;
}

static int set_pending(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	uint16_t pending = 0;

	for (size_t i = 0; i < word.length; i++) {
		char c = word.text[i];
		if (c < '0' || c > '9' || __builtin_mul_overflow(pending, 10u, &pending) ||
		    __builtin_add_overflow(pending, (uint16_t)(c - '0'), &pending)) {
			return hk_scan_fail(scan, "pending= is a number below 65536, not", word);
		}
	}
	draft->hook.pending = pending;
	return 0;
}

static int set_kind(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	int memory = hk_names_find(&hk_names_memory, word.text, word.length);

	if (memory < 0) {
		return hk_scan_fail(scan, "kind= is host, device, managed or pinned, not", word);
	}
	draft->hook.flags &= (uint16_t)~HK_HOOK_MEMORY_MASK;
	draft->hook.flags |= (uint16_t)((unsigned)memory << HK_HOOK_MEMORY_SHIFT);
	return 0;
}

static int set_sync(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	draft->hook.flags &= (uint16_t)~HK_HOOK_SYNC_ALL;
	if (hk_word_is(word, "all")) {
		draft->hook.flags |= HK_HOOK_SYNC_ALL;
	} else if (!hk_word_is(word, "none")) {
		return hk_scan_fail(scan, "sync is all or none, not", word);
	}
	return 0;
}

static int set_fortran(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	if (hk_word_is(word, "off")) {
		draft->fortran = HK_DRAFT_FORTRAN_OFF;
	} else if (hk_word_is(word, "only")) {
		draft->fortran = HK_DRAFT_FORTRAN_ONLY;
	} else {
		return hk_scan_fail(scan, "fortran= is off or only, not", word);
	}
	return 0;
}

static int set_also(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	if (word.length == 0) {
		return hk_scan_fail(scan, "also= is the ending of a name", word);
	}
	draft->also = word;
	return 0;
}

static int set_hidden(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	if (word.length != 1 || word.text[0] < '0' ||
	    word.text[0] > (char)('0' + HK_DRAFT_HIDDEN)) {
		return hk_scan_fail(scan, "hidden= is 0 to 8, not", word);
	}
	draft->hidden = (uint8_t)(word.text[0] - '0');
	return 0;
}

static int set_stack(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	unsigned bytes = 0;

	for (size_t i = 0; i < word.length && bytes <= 8 * HK_HOOK_STACK_MOST; i++) {
		unsigned digit = (unsigned)(word.text[i] - '0');
		bytes = digit <= 9 ? bytes * 10 + digit : UINT16_MAX;
	}
	if (word.length == 0 || bytes > 8 * HK_HOOK_STACK_MOST || bytes % 8 != 0) {
		return hk_scan_fail(scan, "stack= is a multiple of 8 up to 2040, not", word);
	}
	draft->hook.stack_words = (uint8_t)(bytes / 8);
	draft->stack = true;
	return 0;
}

static int set_from(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	if (word.length == 0) {
		return hk_scan_fail(scan, "from= is a pattern of the calling library, not", word);
	}
	draft->from = word;
	return 0;
}

/* Attributes written word=word; every other word before an `=` is a key of a value. */
static const struct {
	const char *word;
	int (*set)(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word);
} settings[] = {
    {"level", set_level}, {"auto", set_auto},	    {"error", set_error},
    {"sync", set_sync},	  {"fortran", set_fortran}, {"hidden", set_hidden},
    {"kind", set_kind},	  {"pending", set_pending}, {"also", set_also},
    {"stack", set_stack}, {"from", set_from},
};

static int parse_setting(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (hk_word_is(word, settings[i].word)) {
			return settings[i].set(scan, draft, hk_scan_glob(scan));
		}
	}
	int key = hk_names_find(&hk_names_key, word.text, word.length);
	/* The keys between belong to annotations and device activities, not to calls. */
	if (key < 0 || (key > HK_KEY_RESULT && key < HK_KEY_RANK)) {
		return hk_scan_fail(scan, "unknown attribute", word);
	}
	return hk_value_parse(scan, draft, (uint8_t)key);
}

static int parse_flag(struct hk_scan *scan, struct hk_draft *draft, struct hk_word word)
{
	if (hk_word_is(word, "short")) {
		draft->hook.flags |= HK_HOOK_SHORT;
		return 0;
	}
	if (hk_word_is(word, "tables")) {
		draft->hook.flags |= HK_HOOK_TABLES;
		return 0;
	}
	int meaning = hk_names_find(&hk_names_meaning, word.text, word.length);
	if (meaning < 0) {
		return hk_scan_fail(scan, "unknown attribute", word);
	}
	if (draft->hook.meaning != HK_MEANING_NONE) {
		return hk_scan_fail(scan, "second meaning", word);
	}
	draft->hook.meaning = (uint8_t)meaning;
	return 0;
}

int hk_draft_attributes(struct hk_scan *scan, struct hk_draft *draft)
{
	while (!hk_scan_done(scan)) {
		struct hk_word word = hk_scan_name(scan);
		if (word.length == 0) {
			struct hk_word stray = {.text = scan->at, .length = 1};
			return hk_scan_fail(scan, "attribute expected at", stray);
		}
		int err = hk_scan_take(scan, '=') ? parse_setting(scan, draft, word)
						  : parse_flag(scan, draft, word);
		if (err < 0) {
			return err;
		}
	}
	return 0;
}

/* The values that the ledger needs for each kind of memory call. */
static const struct {
	uint8_t keys[4];
	const char *problem;
} needs[] = {
    [HK_MEANING_ALLOC] = {{HK_KEY_POINTER, HK_KEY_SIZE}, "alloc needs pointer= and size="},
    [HK_MEANING_FREE] = {{HK_KEY_POINTER}, "free needs pointer="},
    [HK_MEANING_REALLOC] = {{HK_KEY_OLD_POINTER, HK_KEY_POINTER, HK_KEY_SIZE},
			    "realloc needs old_pointer=, pointer= and size="},
    [HK_MEANING_MAP] = {{HK_KEY_POINTER, HK_KEY_SIZE}, "map needs pointer= and size="},
    [HK_MEANING_UNMAP] = {{HK_KEY_POINTER, HK_KEY_SIZE}, "unmap needs pointer= and size="},
    [HK_MEANING_REMAP] = {{HK_KEY_OLD_POINTER, HK_KEY_OLD_SIZE, HK_KEY_POINTER, HK_KEY_SIZE},
			  "remap needs old_pointer=, old_size=, pointer= and size="},
};

static bool has_value(const struct hk_hook *hook, uint8_t key)
{
	for (unsigned i = 0; i < hook->value_count; i++) {
		if (hook->values[i].key == key) {
			return true;
		}
	}
	return false;
}

static bool error_fits(const struct hk_hook *hook)
{
	switch (hook->error) {
	case HK_ERROR_NONZERO:
		return hook->result == HK_TYPE_INT || hook->result == HK_TYPE_UINT;
	case HK_ERROR_ERRNO:
		return hook->result == HK_TYPE_INT || hook->result == HK_TYPE_LONG ||
		       hook->result == HK_TYPE_FD;
	case HK_ERROR_NULL:
	case HK_ERROR_FAILED:
		return hook->result == HK_TYPE_PTR || hook->result == HK_TYPE_STR ||
		       hook->result == HK_TYPE_TEXT;
	default:
		return true;
	}
}

static int check_memory(struct hk_scan *scan, const struct hk_hook *hook)
{
	enum hk_memory memory = hk_hook_memory(hook->flags);
	bool on_device = memory == HK_MEMORY_DEVICE || memory == HK_MEMORY_MANAGED;

	if (memory != HK_MEMORY_HOST && hook->meaning != HK_MEANING_ALLOC &&
	    hook->meaning != HK_MEANING_FREE) {
		return hk_scan_fail(scan, "kind= needs alloc or free", (struct hk_word){0});
	}
	if (on_device && hook->meaning == HK_MEANING_ALLOC && !has_value(hook, HK_KEY_DEVICE)) {
		return hk_scan_fail(scan, "alloc of this kind needs device=",
				    hk_word_of(hk_names_get(&hk_names_memory, memory)));
	}
	return 0;
}

int hk_draft_check(struct hk_scan *scan, struct hk_draft *draft)
{
	struct hk_hook *hook = &draft->hook;

	if (hook->meaning < sizeof(needs) / sizeof(needs[0])) {
		for (unsigned i = 0; i < sizeof(needs[0].keys); i++) {
			uint8_t key = needs[hook->meaning].keys[i];
			if (key != HK_KEY_NONE && !has_value(hook, key)) {
				return hk_scan_fail(scan, needs[hook->meaning].problem,
						    (struct hk_word){0});
			}
		}
	}
	if (!error_fits(hook)) {
		const char *rule = hk_names_get(&hk_names_error, hook->error);
		return hk_scan_fail(scan, "result type does not fit the error rule",
				    hk_word_of(rule));
	}
	if (draft->stack && (hook->flags & HK_HOOK_DESCRIBED) != 0) {
		return hk_scan_fail(scan, "stack= follows from the signature of", draft->symbol);
	}
	if (check_memory(scan, hook) < 0) {
		return -EINVAL;
	}
	if ((hook->flags & HK_HOOK_SYNC_ALL) != 0 && hook->meaning != HK_MEANING_COLLECTIVE) {
		return hk_scan_fail(scan, "sync=all needs a collective", (struct hk_word){0});
	}
	switch (hook->meaning) {
	case HK_MEANING_FREE:
	case HK_MEANING_REALLOC:
	case HK_MEANING_UNMAP:
	case HK_MEANING_REMAP:
		hook->flags |= HK_HOOK_OPEN_FREE;
		break;
	default:
		break;
	}
	return 0;
}
