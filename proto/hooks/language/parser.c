#include "hooks/language/parser.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "hooks/language/constant.h"
#include "hooks/language/domain.h"
#include "hooks/language/draft_parse.h"
#include "hooks/language/fortran.h"
#include "hooks/language/place.h"
#include "hooks/language/scan.h"
#include "hooks/names.h"
#include "hooks/pattern.h"

#define SUFFIXES 4u
#define MESSAGE_BYTES 160u
#define SUBJECT_BYTES 48u /* longest quoted word: a hostile one may be as long as the file */
#define LINES UINT16_MAX  /* struct hk_hook keeps the line in 16 bits */

struct parser {
	struct hk_hook_arena *arena;
	const struct hk_hooks_report *report;
	struct hk_hook_file file;
	const char *domain;
	const char *type_sizes;
	struct hk_word library;
	struct hk_word suffixes[SUFFIXES]; /* of Fortran names */
	unsigned suffix_count;
	struct hk_hook defaults;
	uint8_t runtime;
	uint32_t line;
};

/* A message under construction; what does not fit is cut. */
struct message {
	char text[MESSAGE_BYTES];
	size_t length;
};

static void message_add(struct message *message, struct hk_word word, size_t most)
{
	size_t room = sizeof(message->text) - 1 - message->length;
	size_t length = word.length < most ? word.length : most;

	length = length < room ? length : room;
	for (size_t i = 0; i < length; i++) {
		char c = word.text[i];
		message->text[message->length++] = c >= ' ' && c < 0x7f ? c : '?';
	}
	message->text[message->length] = '\0';
}

static void bad_line(struct parser *parser, const char *problem, struct hk_word subject,
		     const char *consequence)
{
	struct message message = {.length = 0};

	parser->file.bad_lines++;
	if (parser->report == NULL) {
		return;
	}
	message_add(&message, hk_word_of(problem), SIZE_MAX);
	if (subject.length != 0) {
		message_add(&message, hk_word_of(" '"), SIZE_MAX);
		message_add(&message, subject, SUBJECT_BYTES);
		message_add(&message, hk_word_of("'"), SIZE_MAX);
	}
	message_add(&message, hk_word_of(consequence), SIZE_MAX);
	parser->report->bad_line(parser->report->context, parser->file.name, parser->line,
				 message.text);
}

static char *copy(struct parser *parser, struct hk_word word)
{
	return hk_hook_arena_join(parser->arena, word.text, word.length, "", 0);
}

/* Lower-cases the letters of ASCII; the file is read in no locale. */
static void lower(char *text)
{
	for (; *text != '\0'; text++) {
		if (*text >= 'A' && *text <= 'Z') {
			*text = (char)(*text - 'A' + 'a');
		}
	}
}

/* Adds a hook to the file. `symbol` and `library` are the arena's already. */
static int add(struct parser *parser, const struct hk_draft *draft, const char *library,
	       const char *symbol, const char *const *names)
{
	struct hk_hook *hook = hk_hook_arena_hook(parser->arena);

	if (hook == NULL) {
		return -ENOSPC;
	}
	*hook = draft->hook;
	hook->library = library;
	hook->symbol = symbol;
	hook->domain = parser->domain;
	hook->type_sizes = parser->type_sizes;
	hook->runtime = parser->runtime;
	if (draft->from.length != 0) {
		hook->from = copy(parser, draft->from);
		if (hook->from == NULL) {
			return -ENOSPC;
		}
	}
	hook->line = (uint16_t)parser->line;
	for (unsigned i = 0; i < hook->arg_count; i++) {
		hook->args[i].name = names[i];
	}
	if (parser->file.hook_count++ == 0) {
		parser->file.hooks = hook;
	}
	return 0;
}

static int add_fortran(struct parser *parser, struct hk_scan *scan, const struct hk_draft *draft,
		       const char *library, const char *const *names)
{
	struct hk_draft fortran;

	if (hk_fortran_derive(scan, draft, &fortran) < 0) {
		return -EINVAL;
	}
	for (unsigned i = 0; i < parser->suffix_count; i++) {
		struct hk_word suffix = parser->suffixes[i];
		char *symbol = hk_hook_arena_join(parser->arena, draft->symbol.text,
						  draft->symbol.length, suffix.text, suffix.length);
		if (symbol == NULL) {
			return -ENOSPC;
		}
		lower(symbol);
		if (add(parser, &fortran, library, symbol, names) < 0) {
			return -ENOSPC;
		}
	}
	return 0;
}

/* Adds the C name, and the name with the ending of also=. */
static int add_plain(struct parser *parser, const struct hk_draft *draft, const char *library,
		     const char *const *names)
{
	const char *symbol = copy(parser, draft->symbol);

	if (symbol == NULL || add(parser, draft, library, symbol, names) < 0) {
		return -ENOSPC;
	}
	if (draft->also.length == 0) {
		return 0;
	}
	symbol = hk_hook_arena_join(parser->arena, draft->symbol.text, draft->symbol.length,
				    draft->also.text, draft->also.length);
	return symbol != NULL ? add(parser, draft, library, symbol, names) : -ENOSPC;
}

/* Adds the hooks of a whole line: the C names, the Fortran names, or both. */
static int commit(struct parser *parser, struct hk_scan *scan, const struct hk_draft *draft)
{
	const char *names[HK_HOOK_ARGS + 1];
	const char *library = copy(parser, draft->library);
	unsigned count = draft->hook.arg_count;
	bool described = (draft->hook.flags & HK_HOOK_DESCRIBED) != 0;

	for (unsigned i = 0; i < count; i++) {
		names[i] = copy(parser, draft->names[i]);
		if (names[i] == NULL) {
			return -ENOSPC;
		}
	}
	names[count] = "ierror";
	if (draft->fortran != HK_DRAFT_FORTRAN_ONLY) {
		if (library == NULL || add_plain(parser, draft, library, names) < 0) {
			return -ENOSPC;
		}
	} else if (parser->suffix_count == 0) {
		return hk_scan_fail(scan, "fortran=only needs a fortran line before",
				    draft->symbol);
	}
	if (described && draft->fortran != HK_DRAFT_FORTRAN_OFF && parser->suffix_count != 0) {
		return add_fortran(parser, scan, draft, library, names);
	}
	return 0;
}

static int parse_described(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = {.hook = parser->defaults, .library = parser->library};

	if (hk_draft_signature(scan, &draft) < 0 || hk_draft_attributes(scan, &draft) < 0 ||
	    hk_draft_check(scan, &draft) < 0) {
		return -EINVAL;
	}
	if (hk_locate_arguments(&draft.hook, draft.hidden) < 0) {
		return hk_scan_fail(scan,
				    "more than 255 words of arguments on the stack:", draft.symbol);
	}
	return commit(parser, scan, &draft);
}

/* Sets library and symbol from "library:symbol", or from the symbol alone and the library of the
 * file's directive. */
static int parse_target(struct parser *parser, struct hk_scan *scan, struct hk_draft *draft,
			bool need_library)
{
	struct hk_word word = hk_scan_glob(scan);
	size_t colon;

	draft->library = parser->library;
	draft->symbol = word;
	if (hk_pattern_split(word.text, word.length, &colon) == 0) {
		draft->library.text = word.text;
		draft->library.length = colon;
		draft->symbol.text = word.text + colon + 1;
		draft->symbol.length = word.length - colon - 1;
		return 0;
	}
	if (need_library || word.length == 0 || memchr(word.text, ':', word.length) != NULL) {
		return hk_scan_fail(scan, "library:symbol expected, not", word);
	}
	return 0;
}

/* A path of a library is relative to the file that names it. */
static const char *replacement_path(struct parser *parser, struct hk_word word)
{
	const char *slash = strrchr(parser->file.name, '/');

	if (word.length == 0 || word.text[0] == '/' || slash == NULL ||
	    memchr(word.text, '/', word.length) == NULL) {
		return copy(parser, word);
	}
	return hk_hook_arena_join(parser->arena, parser->file.name,
				  (size_t)(slash + 1 - parser->file.name), word.text, word.length);
}

/* Sets the replacement from "library:symbol", or from a library alone, which means the same
 * symbol. */
static int take_replacement(struct parser *parser, struct hk_scan *scan, struct hk_draft *draft,
			    struct hk_word word)
{
	struct hk_word library = word, symbol = {0};
	size_t colon;

	if (hk_pattern_split(word.text, word.length, &colon) == 0) {
		library.length = colon;
		symbol = (struct hk_word){word.text + colon + 1, word.length - colon - 1};
	}
	for (size_t i = 0; i < word.length; i++) {
		if (word.text[i] == '*' || word.text[i] == '?') {
			return hk_scan_fail(scan, "no wildcards after with:", word);
		}
	}
	if (word.length == 0 || memchr(library.text, ':', library.length) != NULL) {
		return hk_scan_fail(scan, "with library:symbol expected, not", word);
	}
	draft->hook.with_library = replacement_path(parser, library);
	draft->hook.with_symbol = symbol.length != 0 ? copy(parser, symbol) : NULL;
	return draft->hook.with_library && (draft->hook.with_symbol || symbol.length == 0)
		   ? 0
		   : hk_scan_fail(scan, "no memory left for hooks", word);
}

/* An undescribed function: no arguments and no result, so neither error rules nor values. */
static int parse_undescribed(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = {.hook = parser->defaults};

	draft.hook.error = HK_ERROR_NEVER;
	draft.hook.flags |= HK_HOOK_SHORT;
	draft.hook.stack_words = HK_HOOK_STACK_UNKNOWN;
	if (parse_target(parser, scan, &draft, true) < 0 || hk_draft_attributes(scan, &draft) < 0 ||
	    hk_draft_check(scan, &draft) < 0) {
		return -EINVAL;
	}
	if (draft.fortran != HK_DRAFT_FORTRAN_TOO || draft.hidden != 0 || draft.also.length != 0) {
		return hk_scan_fail(scan, "attribute needs a signature:", draft.symbol);
	}
	return commit(parser, scan, &draft);
}

static int parse_deny(struct parser *parser, struct hk_scan *scan)
{
	do {
		struct hk_draft draft = {.hook = {.flags = HK_HOOK_DENY,
						  .level = HK_LEVEL_OFF,
						  .auto_level = HK_LEVEL_OFF}};
		if (parse_target(parser, scan, &draft, false) < 0) {
			return -EINVAL;
		}
		int err = commit(parser, scan, &draft);
		if (err < 0) {
			return err;
		}
	} while (!hk_scan_done(scan));
	return 0;
}

/* The rest of a line that changes calls: the function, and the callers. */
static int parse_changed(struct parser *parser, struct hk_scan *scan, struct hk_draft *draft)
{
	if (parse_target(parser, scan, draft, true) < 0) {
		return -EINVAL;
	}
	struct hk_word word = hk_scan_name(scan);
	if (word.length != 0 && hk_word_is(word, "with") &&
	    draft->hook.action == HK_ACTION_REPLACE) {
		word = hk_scan_glob(scan);
		if (take_replacement(parser, scan, draft, word) < 0) {
			return -EINVAL;
		}
		word = hk_scan_name(scan);
	} else if (draft->hook.action == HK_ACTION_REPLACE) {
		return hk_scan_fail(scan, "with library:symbol expected, not", word);
	}
	if (word.length != 0) {
		draft->from = hk_word_is(word, "from") && hk_scan_take(scan, '=')
				  ? hk_scan_glob(scan)
				  : draft->from;
		if (draft->from.length == 0) {
			return hk_scan_fail(scan, "only from=PATTERN can follow, not", word);
		}
	}
	return hk_scan_done(scan) ? commit(parser, scan, draft)
				  : hk_scan_fail(scan, "one function a line:", draft->symbol);
}

static struct hk_draft change(enum hk_action action)
{
	return (struct hk_draft){.hook = {.action = (uint8_t)action,
					  .flags = HK_HOOK_SHORT,
					  .stack_words = HK_HOOK_STACK_UNKNOWN}};
}

static int parse_replace(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = change(HK_ACTION_REPLACE);
	return parse_changed(parser, scan, &draft);
}

static int parse_skip(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = change(HK_ACTION_SKIP);
	return parse_changed(parser, scan, &draft);
}

static int parse_return(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = change(HK_ACTION_RETURN);
	struct hk_word word = hk_scan_glob(scan);

	if (hk_constant_parse(word.text, word.length, &draft.hook.returns) < 0) {
		return hk_scan_fail(scan, "a number to return expected, not", word);
	}
	return parse_changed(parser, scan, &draft);
}

static int parse_domain(struct parser *parser, struct hk_scan *scan)
{
	struct hk_hook_file *file = &parser->file;
	struct hk_domain domain;
	int r = hk_domain_parse(scan, parser->arena, &domain);

	if (r < 0) {
		return r;
	}
	if (*domain.title || domain.light || domain.dark || domain.order || domain.idle) {
		if (file->domain_count == HK_HOOK_DOMAINS) {
			return hk_scan_fail(scan, "a file describes at most 8 domains",
					    (struct hk_word){0});
		}
		file->domains[file->domain_count++] = domain;
	}
	parser->domain = domain.name;
	return 0;
}

static int parse_library(struct parser *parser, struct hk_scan *scan)
{
	struct hk_word word = hk_scan_glob(scan);

	if (word.length == 0 || !hk_scan_done(scan)) {
		return hk_scan_fail(scan, "library is one pattern, not", word);
	}
	parser->library = word;
	return 0;
}

static int parse_runtime(struct parser *parser, struct hk_scan *scan)
{
	struct hk_word word = hk_scan_name(scan);
	int runtime = hk_names_find(&hk_names_runtime, word.text, word.length);

	if (runtime < 0 || !hk_scan_done(scan)) {
		return hk_scan_fail(scan, "runtime is cuda, hip, acl or xpu, not", word);
	}
	parser->runtime = (uint8_t)runtime;
	return 0;
}

/* Reads the bytes of each data type from number 0 on. */
static int parse_types(struct parser *parser, struct hk_scan *scan)
{
	char sizes[HK_HOOK_TYPE_SIZES];
	size_t count = 0;

	while (!hk_scan_done(scan)) {
		struct hk_word word = hk_scan_name(scan);
		unsigned bytes = word.length == 2 && hk_word_is(word, "16") ? 16
				 : word.length == 1 ? (unsigned)(word.text[0] - '0')
						    : UINT_MAX;
		if (bytes > 16 || count == sizeof(sizes)) {
			return hk_scan_fail(
			    scan, "types is up to 31 sizes of 0 to 9 or 16 bytes, not", word);
		}
		sizes[count++] = (char)('0' + bytes);
	}
	parser->type_sizes = NULL;
	if (count == 0) {
		return 0;
	}
	parser->type_sizes = copy(parser, (struct hk_word){sizes, count});
	return parser->type_sizes ? 0 : -ENOSPC;
}

static int parse_default(struct parser *parser, struct hk_scan *scan)
{
	struct hk_draft draft = {.hook = {.level = HK_LEVEL_DEFAULT}};

	if (hk_draft_attributes(scan, &draft) < 0) {
		return -EINVAL;
	}
	if (draft.hook.meaning != HK_MEANING_NONE || draft.hook.value_count != 0 ||
	    (draft.hook.flags & ~HK_HOOK_SHORT) != 0 || draft.fortran != HK_DRAFT_FORTRAN_TOO ||
	    draft.hidden != 0 || draft.also.length != 0 || draft.stack || draft.from.length != 0) {
		return hk_scan_fail(scan,
				    "default takes level, auto, error, pending and short only",
				    (struct hk_word){0});
	}
	parser->defaults = draft.hook;
	return 0;
}

static int parse_fortran(struct parser *parser, struct hk_scan *scan)
{
	struct hk_word suffixes[SUFFIXES];
	unsigned count = 0;

	while (!hk_scan_done(scan)) {
		struct hk_word word = hk_scan_name(scan);
		if (word.length == 0 || count == SUFFIXES) {
			return hk_scan_fail(scan, "fortran is off or one to four name endings",
					    word);
		}
		suffixes[count++] = word;
	}
	if (count == 0) {
		return hk_scan_fail(scan, "fortran is off or one to four name endings",
				    (struct hk_word){0});
	}
	if (count == 1 && hk_word_is(suffixes[0], "off")) {
		count = 0;
	} else if (count == 1 && hk_word_is(suffixes[0], "on")) {
		suffixes[0] = hk_word_of("_");
	}
	memcpy(parser->suffixes, suffixes, sizeof(suffixes[0]) * count);
	parser->suffix_count = count;
	return 0;
}

static const struct {
	const char *word;
	int (*parse)(struct parser *parser, struct hk_scan *scan);
} directives[] = {
    {"domain", parse_domain},	{"library", parse_library}, {"default", parse_default},
    {"fortran", parse_fortran}, {"deny", parse_deny},	    {"replace", parse_replace},
    {"skip", parse_skip},	{"return", parse_return},   {"runtime", parse_runtime},
    {"types", parse_types},
};

static int parse_line(struct parser *parser, struct hk_scan *scan)
{
	struct hk_scan ahead = *scan;
	struct hk_word first = hk_scan_glob(&ahead);

	for (unsigned i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
		if (hk_word_is(first, directives[i].word)) {
			scan->at = ahead.at;
			return directives[i].parse(parser, scan);
		}
	}
	if (first.length != 0 && memchr(first.text, ':', first.length) != NULL) {
		return parse_undescribed(parser, scan);
	}
	return parse_described(parser, scan);
}

/* Parses one line into the arena, or leaves the arena and the file as they were. */
static int take_line(struct parser *parser, struct hk_scan *scan)
{
	size_t used = parser->arena->used;
	size_t used_end = parser->arena->used_end;
	uint32_t hook_count = parser->file.hook_count;
	int err = parse_line(parser, scan);

	if (err < 0) {
		parser->arena->used = used;
		parser->arena->used_end = used_end;
		parser->file.hook_count = hook_count;
	}
	return err;
}

static void parse_lines(struct parser *parser, struct hk_lines *lines)
{
	struct hk_scan scan;

	while (hk_lines_next(lines, &scan, &parser->line)) {
		if (parser->line > LINES) {
			bad_line(parser, "more than 65535 lines", (struct hk_word){0},
				 " (rest of the file ignored)");
			return;
		}
		if (hk_scan_done(&scan)) {
			continue;
		}
		int err = take_line(parser, &scan);
		if (err == -ENOSPC) {
			bad_line(parser, "no memory left for hooks", (struct hk_word){0},
				 " (rest of the file ignored)");
			return;
		}
		if (err < 0) {
			bad_line(parser, scan.problem, scan.subject, " (line ignored)");
		}
	}
}

uint32_t hk_hooks_parse(struct hk_hook_arena *arena, const char *name, const char *text,
			size_t size, const struct hk_hooks_report *report,
			struct hk_hook_file *ret_file)
{
	struct parser parser = {
	    .arena = arena,
	    .report = report,
	    .domain = "user",
	    .library = hk_word_of("*"),
	};
	struct hk_lines lines = {.at = text, .end = text + size, .next = 1};

	parser.file.name = copy(&parser, hk_word_of(name));
	if (parser.file.name == NULL) {
		parser.file.name = "?";
		bad_line(&parser, "no memory left for hooks", (struct hk_word){0},
			 " (file ignored)");
	} else {
		parse_lines(&parser, &lines);
	}
	*ret_file = parser.file;
	return parser.file.bad_lines;
}
