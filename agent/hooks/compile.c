/* hookc OUT FILE.hooks...: writes the shipped hooks files as C tables (proto/hooks/shipped.h). Part
 * of the build only. It exits 1 with file:line: message when a line does not parse, or when a
 * symbol is described twice in one file. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/index.h"
#include "hooks/language/parser.h"
#include "hooks/shipped.h"

#define TEXT_BYTES ((size_t)1 << 20) /* longest hooks file */
#define HOOKS_MAX 16384u
#define ROWS_MAX 65536u

static void print_bad_line(void *context, const char *file, uint32_t line, const char *message)
{
	(void)file;
	fprintf(stderr, "%s:%u: %s\n", (const char *)context, line, message);
}

/* Reads a whole file. Returns 0, -E2BIG if it does not fit, or -errno. */
static int read_file(const char *path, char *buffer, size_t size, size_t *ret_length)
{
	FILE *stream = fopen(path, "re");

	if (stream == NULL) {
		return -errno;
	}
	size_t length = fread(buffer, 1, size, stream);
	int err = ferror(stream) ? -EIO : length == size ? -E2BIG : 0;
	fclose(stream);
	if (err == 0) {
		*ret_length = length;
	}
	return err;
}

/* Refuses two lines for one symbol, because the first would never be used. */
static int check_twice(const struct hk_hook_file *file, const char *path)
{
	int bad = 0;

	for (uint32_t i = 0; i < file->hook_count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(file->hooks[i].symbol, file->hooks[k].symbol) == 0 &&
			    strcmp(file->hooks[i].library, file->hooks[k].library) == 0) {
				fprintf(stderr, "%s:%u: %s is on line %u already\n", path,
					file->hooks[i].line, file->hooks[i].symbol,
					file->hooks[k].line);
				bad = 1;
			}
		}
	}
	return bad;
}

/* Refuses lines that name a caller or replace a function: shipped hooks only watch. */
static int check_plain(const struct hk_hook_file *file, const char *path)
{
	int bad = 0;

	for (uint32_t i = 0; i < file->hook_count; i++) {
		if (file->hooks[i].action != HK_ACTION_NONE || file->hooks[i].from) {
			fprintf(stderr, "%s:%u: from=, replace, skip and return are for users\n",
				path, file->hooks[i].line);
			bad = 1;
		}
	}
	return bad;
}

static int parse(struct hk_hook_arena *arena, const char *path, struct hk_hook_file *ret_file)
{
	static char text[TEXT_BYTES];
	struct hk_hooks_report report = {.bad_line = print_bad_line, .context = (void *)path};
	const char *slash = strrchr(path, '/');
	size_t length = 0;
	char name[64];

	int err = read_file(path, text, sizeof(text), &length);
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
		return 1;
	}
	snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : path);
	name[strcspn(name, ".")] = '\0';
	if (hk_hooks_parse(arena, name, text, length, &report, ret_file) != 0) {
		return 1;
	}
	return check_twice(ret_file, path) | check_plain(ret_file, path);
}

/* ---- what is written: texts once each, everything else in arrays without addresses ---- */

#define TEXT_SLOTS 65536u /* slots of the hash table of all texts */

static struct {
	char bytes[4 * HK_HOOK_ARENA_BYTES];
	uint32_t used;
	uint32_t slots[TEXT_SLOTS]; /* offset + 1, 0: empty */
} texts;

/* Returns the offset of TEXT among the texts, which it is added to if it is new. */
static uint32_t text_of(const char *text)
{
	uint32_t slot = hk_index_hash(text) % TEXT_SLOTS;

	while (texts.slots[slot] && strcmp(texts.bytes + texts.slots[slot] - 1, text) != 0) {
		slot = (slot + 1) % TEXT_SLOTS;
	}
	if (!texts.slots[slot]) {
		size_t size = strlen(text) + 1;
		memcpy(texts.bytes + texts.used, text, size);
		texts.slots[slot] = texts.used + 1;
		texts.used += (uint32_t)size;
	}
	return texts.slots[slot] - 1;
}

/* Writes the texts. The scanner permits printable bytes only; quotes and backslashes are escaped.
 */
static void write_texts(FILE *out)
{
	fprintf(out, "\nconst char hk_shipped_texts[] =\n");
	for (uint32_t at = 0; at < texts.used; at += (uint32_t)strlen(texts.bytes + at) + 1) {
		fprintf(out, " \"");
		for (const char *text = texts.bytes + at; *text != '\0'; text++) {
			if (*text == '"' || *text == '\\' || *text == '?') {
				fputc('\\', out);
			}
			fputc(*text, out);
		}
		fprintf(out, "\\0\"\n");
	}
	fprintf(out, ";\n");
}

/* Rows of one of the common arrays. Equal lists of rows are kept once. */
struct rows {
	char *texts[ROWS_MAX];
	uint32_t count;
};

/* Returns the number of the first of COUNT consecutive rows that equal LIST. Adds LIST at the end
 * if the table lacks them. Takes LIST's texts. */
static uint32_t rows_of(struct rows *rows, char *const *list, uint32_t count)
{
	uint32_t at = 0, same = 0;

	while (same < count && at + same < rows->count) {
		same = strcmp(rows->texts[at + same], list[same]) == 0 ? same + 1 : (at++, 0);
	}
	for (uint32_t known = 0; known < same; known++) {
		free(list[known]);
	}
	for (; same < count && rows->count < ROWS_MAX; same++) {
		rows->texts[rows->count++] = list[same];
	}
	return at;
}

static void write_rows(FILE *out, const struct rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		fprintf(out, " {%s},\n", rows->texts[i]);
	}
	fprintf(out, " {0}};\n");
}

static char *format(const char *pattern, ...)
{
	char *text = NULL;
	va_list list;

	va_start(list, pattern);
	if (vasprintf(&text, pattern, list) < 0) {
		abort();
	}
	va_end(list);
	return text;
}

static uint32_t arguments_of(struct rows *rows, const struct hk_hook *hook)
{
	char *list[HK_HOOK_ARGS];

	for (unsigned i = 0; i < hook->arg_count; i++) {
		const struct hk_hook_arg *arg = &hook->args[i];
		list[i] = format("%u, %u, %u, %u, %u, %u", text_of(arg->name), arg->type,
				 arg->index, arg->reference, arg->place, arg->words);
	}
	return rows_of(rows, list, hook->arg_count);
}

static uint32_t values_of(struct rows *rows, const struct hk_hook *hook)
{
	char *list[HK_HOOK_VALUES];

	for (unsigned i = 0; i < hook->value_count; i++) {
		const struct hk_value *value = &hook->values[i];
		char *factors = format("");
		for (unsigned f = 0; f < value->factor_count; f++) {
			const struct hk_factor *factor = &value->factors[f];
			char *before = factors;
			factors = format("%s{%u, %u, %u, %u, %uu}, ", before, factor->kind,
					 factor->arg, factor->arg2, factor->arg3, factor->constant);
			free(before);
		}
		list[i] = format("%u, %u, {%s}", value->key, value->factor_count, factors);
		free(factors);
	}
	return rows_of(rows, list, hook->value_count);
}

/* The option structs of gloo are inside of torch, and may change with it. What they are taken for
 * is read with care. */
static bool is_trusted(const struct hk_hook *hook)
{
	return strcmp(hook->domain, "gloo") != 0;
}

static void write_hook(FILE *out, const struct hk_hook *hook, unsigned file, uint32_t args,
		       uint32_t values)
{
	fprintf(out, " {.library = %u, .symbol = %u, .domain = %u, .args = %u, .values = %u,\n",
		text_of(hook->library), text_of(hook->symbol), text_of(hook->domain), args, values);
	fprintf(out, "  .stack_rate = %u,\n", hook->stack_rate);
	fprintf(out, "  .flags = %u, .level = %u, .auto_level = %u, .meaning = %u, .error = %u,\n",
		hook->flags | (is_trusted(hook) ? HK_HOOK_TRUSTED : 0), hook->level,
		hook->auto_level, hook->meaning, hook->error);
	fprintf(out, "  .result = %u, .arg_count = %u, .value_count = %u, .stack_words = %u,",
		hook->result, hook->arg_count, hook->value_count, hook->stack_words);
	fprintf(out, " .pending = %u, .line = %u,\n", hook->pending, hook->line);
	fprintf(out, "  .type_sizes = %u, .file = %u, .runtime = %u},\n",
		hook->type_sizes ? text_of(hook->type_sizes) : 0, file, hook->runtime);
}

/* The hooks of all files in order. A file without hooks only says how domains are shown: it gets no
 * number. */
struct hooks {
	const struct hk_hook *list[HOOKS_MAX];
	uint8_t files[HOOKS_MAX]; /* of each */
	uint32_t count;
};

static int collect_hooks(struct hooks *hooks, const struct hk_hook_file *files, unsigned count)
{
	uint8_t number = 0;

	for (unsigned i = 0; i < count; i++) {
		for (uint32_t k = 0; k < files[i].hook_count; k++) {
			if (hooks->count == HOOKS_MAX) {
				fprintf(stderr, "more than %u hooks\n", HOOKS_MAX);
				return 1;
			}
			hooks->files[hooks->count] = number;
			hooks->list[hooks->count++] = &files[i].hooks[k];
		}
		number = (uint8_t)(number + (files[i].hook_count > 0));
	}
	return 0;
}

static void write_hooks(FILE *out, const struct hooks *hooks)
{
	static struct rows args, values;

	fprintf(out, "\nconst struct hk_shipped_hook hk_shipped_hook_list[] = {\n");
	for (uint32_t i = 0; i < hooks->count; i++) {
		const struct hk_hook *hook = hooks->list[i];
		write_hook(out, hook, hooks->files[i], arguments_of(&args, hook),
			   values_of(&values, hook));
	}
	fprintf(out, "};\nconst uint32_t hk_shipped_hook_count = %u;\n", hooks->count);
	fprintf(out, "\nconst struct hk_shipped_arg hk_shipped_args[] = {\n");
	write_rows(out, &args);
	fprintf(out, "\nconst struct hk_value hk_shipped_values[] = {\n");
	write_rows(out, &values);
}

static void write_words(FILE *out, const char *name, const uint32_t *words, uint32_t count)
{
	fprintf(out, "\nconst uint32_t %s[] = {", name);
	for (uint32_t i = 0; i < count; i++) {
		fprintf(out, "%s%uu,", i % 10 ? "" : "\n ", words[i]);
	}
	fprintf(out, "\n 0};\n");
}

static void write_bits(FILE *out, const char *name, const uint8_t *bits, uint32_t count)
{
	fprintf(out, "\nconst uint8_t %s[%u] = {\n", name, count / 8);
	for (uint32_t i = 0; i < count / 8; i++) {
		if (bits[i]) {
			fprintf(out, " [%u] = %u,\n", i, bits[i]);
		}
	}
	fprintf(out, "};\n");
}

static void write_index(FILE *out, const struct hooks *hooks)
{
	static const char *symbols[HOOKS_MAX];
	static uint32_t room[HOOKS_MAX * 8];
	struct hk_index index;

	for (uint32_t i = 0; i < hooks->count; i++) {
		symbols[i] = hooks->list[i]->symbol;
	}
	hk_index_build(symbols, hooks->count, room, &index);
	write_bits(out, "hk_shipped_pairs", index.pairs, HK_INDEX_PAIRS);
	write_bits(out, "hk_shipped_filter", index.filter, HK_INDEX_HASHES);
	write_words(out, "hk_shipped_hashes", index.hashes, hooks->count);
	write_words(out, "hk_shipped_buckets", index.buckets, index.bucket_mask + 1);
	write_words(out, "hk_shipped_next", index.next, hooks->count);
	write_words(out, "hk_shipped_globs", index.globs, index.glob_count);
	fprintf(out, "const uint32_t hk_shipped_bucket_mask = %uu;\n", index.bucket_mask);
	fprintf(out, "const uint32_t hk_shipped_glob_count = %u;\n", index.glob_count);
}

static void write_file(FILE *out, const struct hk_hook_file *file, uint32_t first)
{
	uint32_t automatic = 0, tables = 0;

	for (uint32_t i = 0; i < file->hook_count; i++) {
		const struct hk_hook *hook = &file->hooks[i];
		automatic += !(hook->flags & HK_HOOK_DENY) && hook->auto_level != HK_LEVEL_OFF;
		tables += (hook->flags & HK_HOOK_TABLES) != 0;
	}
	fprintf(out, " {.name = %u, .first = %u, .count = %u, .automatic = %u, .tables = %u},\n",
		text_of(file->name), first, file->hook_count, automatic, tables);
}

static void write_files(FILE *out, const struct hk_hook_file *files, unsigned count)
{
	unsigned written = 0;
	uint32_t first = 0;

	fprintf(out, "\nconst struct hk_shipped_file hk_shipped_file_list[] = {\n");
	for (unsigned i = 0; i < count; i++) {
		if (files[i].hook_count > 0) {
			write_file(out, &files[i], first);
			written++;
		}
		first += files[i].hook_count;
	}
	fprintf(out, "};\nconst unsigned hk_shipped_file_count = %u;\n", written);
}

static void write_domains(FILE *out, const struct hk_hook_file *files, unsigned count)
{
	unsigned written = 0;

	fprintf(out, "\nconst struct hk_shipped_domain hk_shipped_domain_list[] = {\n");
	for (unsigned i = 0; i < count; i++) {
		for (uint32_t k = 0; k < files[i].domain_count; k++, written++) {
			const struct hk_domain *domain = &files[i].domains[k];
			fprintf(
			    out,
			    " {.name = %u, .title = %u, .light = %uu, .dark = %uu, .order = %u, "
			    ".idle = %u},\n",
			    text_of(domain->name), text_of(domain->title), domain->light,
			    domain->dark, domain->order, domain->idle);
		}
	}
	fprintf(out, " {0}};\nconst unsigned hk_shipped_domain_count = %u;\n", written);
}

static int write_tables(FILE *out, const struct hk_hook_file *files, unsigned count)
{
	static struct hooks hooks;

	if (collect_hooks(&hooks, files, count) != 0) {
		return 1;
	}
	text_of(""); /* offset 0 is no text of a type's sizes */
	fprintf(out, "/* Written by hookc. */\n#include \"hooks/shipped.h\"\n");
	write_files(out, files, count);
	write_hooks(out, &hooks);
	write_index(out, &hooks);
	write_domains(out, files, count);
	write_texts(out);
	return 0;
}

int main(int argc, char **argv)
{
	static char memory[8 * HK_HOOK_ARENA_BYTES];
	struct hk_hook_arena arena;
	struct hk_hook_file files[HK_SHIPPED_FILES];
	unsigned count = 0;
	int bad = 0;

	if (argc < 3 || argc - 2 > (int)(sizeof(files) / sizeof(files[0]))) {
		fprintf(stderr, "usage: hookc OUT.c FILE.hooks... (1 to 32 files)\n");
		return 2;
	}
	hk_hook_arena_init(&arena, memory, sizeof(memory));
	for (int i = 2; i < argc; i++) {
		bad |= parse(&arena, argv[i], &files[count++]);
	}
	if (bad) {
		return 1;
	}
	FILE *out = fopen(argv[1], "we");
	if (out == NULL) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	bool failed = write_tables(out, files, count) != 0;
	failed = ferror(out) != 0 || failed;
	failed = fclose(out) != 0 || failed;
	if (failed) {
		fprintf(stderr, "%s: cannot be written\n", argv[1]);
		remove(argv[1]);
		return 1;
	}
	return 0;
}
