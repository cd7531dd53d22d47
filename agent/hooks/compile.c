/* hookc OUT FILE.hooks...: writes the shipped hooks files as C tables (proto/hooks/shipped.h). Part
 * of the build only. It exits 1 with file:line: message when a line does not parse, or when a
 * symbol is described twice in one file. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hooks/parser.h"

#define TEXT_BYTES ((size_t)1 << 20) /* longest hooks file */

static void print_bad_line(void *context, const char *file, uint32_t line, const char *message)
{
	(void)file;
	fprintf(stderr, "%s:%u: %s\n", (const char *)context, line, message);
}

/* Reads a whole file; -E2BIG when it does not fit. */
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

/* Of two lines for one symbol the first would never be used. */
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
	return check_twice(ret_file, path);
}

/* Every text of a hook is made of the printable bytes the scanner lets through; quotes and
 * backslashes still need care. */
static void write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\' || *text == '?') {
			fputc('\\', out);
		}
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_arguments(FILE *out, const struct hk_hook *hook)
{
	fprintf(out, "  .args = {\n");
	for (unsigned i = 0; i < hook->arg_count; i++) {
		const struct hk_hook_arg *arg = &hook->args[i];
		fprintf(out, "   {");
		write_text(out, arg->name);
		fprintf(out, ", %u, %u, %u, %u, %u},\n", arg->type, arg->reference, arg->place,
			arg->index, arg->words);
	}
	fprintf(out, "  },\n");
}

static void write_values(FILE *out, const struct hk_hook *hook)
{
	fprintf(out, "  .values = {\n");
	for (unsigned i = 0; i < hook->value_count; i++) {
		const struct hk_value *value = &hook->values[i];
		fprintf(out, "   {%u, %u, {", value->key, value->factor_count);
		for (unsigned f = 0; f < value->factor_count; f++) {
			const struct hk_factor *factor = &value->factors[f];
			fprintf(out, "{%u, %u, %u, %u, %uu}, ", factor->kind, factor->arg,
				factor->arg2, factor->arg3, factor->constant);
		}
		fprintf(out, "}},\n");
	}
	fprintf(out, "  },\n");
}

static void write_hook(FILE *out, const struct hk_hook *hook)
{
	fprintf(out, " {.library = ");
	write_text(out, hook->library);
	fprintf(out, ", .symbol = ");
	write_text(out, hook->symbol);
	fprintf(out, ", .domain = ");
	write_text(out, hook->domain);
	fprintf(out,
		",\n  .flags = %u, .level = %u, .auto_level = %u, .meaning = %u, .error = %u,\n",
		hook->flags, hook->level, hook->auto_level, hook->meaning, hook->error);
	fprintf(out, "  .result = %u, .arg_count = %u, .value_count = %u, .stack_words = %u,",
		hook->result, hook->arg_count, hook->value_count, hook->stack_words);
	fprintf(out, " .pending = %u, .line = %u,\n", hook->pending, hook->line);
	if (hook->arg_count != 0) {
		write_arguments(out, hook);
	}
	if (hook->value_count != 0) {
		write_values(out, hook);
	}
	fprintf(out, " },\n");
}

static void write_tables(FILE *out, const struct hk_hook_file *files, unsigned count)
{
	fprintf(out, "/* Written by hookc. */\n#include \"hooks/shipped.h\"\n");
	for (unsigned i = 0; i < count; i++) {
		fprintf(out, "\nstatic const struct hk_hook hooks_%u[] = {\n", i);
		for (uint32_t k = 0; k < files[i].hook_count; k++) {
			write_hook(out, &files[i].hooks[k]);
		}
		fprintf(out, "};\n");
	}
	fprintf(out, "\nconst struct hk_hook_file hk_shipped_hooks[] = {\n");
	for (unsigned i = 0; i < count; i++) {
		fprintf(out, " {.name = ");
		write_text(out, files[i].name);
		fprintf(out, ", .hooks = hooks_%u, .hook_count = %u},\n", i, files[i].hook_count);
	}
	fprintf(out, "};\n\nconst unsigned hk_shipped_hook_count = %u;\n", count);
}

int main(int argc, char **argv)
{
	static char memory[4 * HK_HOOK_ARENA_BYTES];
	struct hk_hook_arena arena;
	struct hk_hook_file files[16];
	unsigned count = 0;
	int bad = 0;

	if (argc < 3 || argc - 2 > (int)(sizeof(files) / sizeof(files[0]))) {
		fprintf(stderr, "usage: hookc OUT.c FILE.hooks... (1 to 16 files)\n");
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
	write_tables(out, files, count);
	bool failed = ferror(out) != 0;
	failed = fclose(out) != 0 || failed;
	if (failed) {
		fprintf(stderr, "%s: cannot be written\n", argv[1]);
		remove(argv[1]);
		return 1;
	}
	return 0;
}
