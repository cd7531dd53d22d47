#include "cli/target/imported_symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/target/run_capture.h"
#include "elf/elf_file.h"

#define LIBRARIES_BYTES ((size_t)256 << 10) /* of the loader's list of libraries, one per line */
#define LOADER_MS 10000
#define NAME_MAX_COMPARED 63u /* longer names are compared by their start */

struct names {
	char **names; /* sorted, each once */
	size_t count, room;
};

struct hk_imported_symbols {
	struct names called;
	struct names defined; /* by the program itself; empty if it was stripped */
};

/* ---- reading one file ---- */

static int add(struct names *names, const char *name)
{
	if (names->count == names->room) {
		size_t room = names->room ? names->room * 2 : 1024;
		char **larger = realloc(names->names, room * sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		names->names = larger;
		names->room = room;
	}
	char *copy = strdup(name);
	if (!copy) {
		return -ENOMEM;
	}
	names->names[names->count++] = copy;
	return 0;
}

/* Whether SYMBOL is a function with a name. */
static bool is_function(const GElf_Sym *symbol, const char *name, bool untyped)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return name && *name && (type == STT_FUNC || (type == STT_NOTYPE && untyped));
}

static int add_called(void *context, const GElf_Sym *symbol, const char *name)
{
	return symbol->st_shndx == SHN_UNDEF && is_function(symbol, name, true) ? add(context, name)
										: 0;
}

static int add_defined(void *context, const GElf_Sym *symbol, const char *name)
{
	return symbol->st_shndx != SHN_UNDEF && is_function(symbol, name, false)
		   ? add(context, name)
		   : 0;
}

/* Adds the functions that the file calls, and those that it defines if it is the PROGRAM. Returns 0
 * or -errno. */
static int add_file(struct hk_imported_symbols *imports, const char *path, bool program)
{
	struct hk_elf file;
	int r = hk_elf_open(path, &file);

	if (r < 0) {
		return r;
	}
	r = hk_elf_symbols(&file, SHT_DYNSYM, add_called, &imports->called);
	if (r == 0 && program) {
		r = hk_elf_symbols(&file, SHT_SYMTAB, add_defined, &imports->defined);
		r = r == -ENOENT ? 0 : r;
	}
	hk_elf_close(&file);
	return r == -ENOENT ? -ENOEXEC : r;
}

/* ---- all of a program ---- */

/* Adds the functions that the program's libraries call. The loader prints lines of the form "NAME
 * => PATH (ADDRESS)" or "PATH (ADDRESS)". Unreadable libraries are left out. */
static int add_libraries(struct hk_imported_symbols *imports, const char *program)
{
	const char *const arguments[] = {program, NULL};
	const char *directories = getenv("LD_LIBRARY_PATH");
	char search[PATH_MAX * 4];
	char *const environment[] = {(char *)"LD_TRACE_LOADED_OBJECTS=1", search, NULL};
	char *text = malloc(LIBRARIES_BYTES), *rest = text, *line;

	snprintf(search, sizeof(search), "LD_LIBRARY_PATH=%s", directories ? directories : "");
	int r =
	    text ? hk_capture(arguments, environment, LOADER_MS, text, LIBRARIES_BYTES) : -ENOMEM;
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		char *path = strchr(line, '/');
		char *end = path ? strstr(path, " (") : NULL;
		if (end) {
			*end = '\0';
			r = add_file(imports, path, false) == -ENOMEM ? -ENOMEM : 0;
		}
	}
	free(text);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void sort(struct names *names)
{
	size_t kept = 0;

	if (names->count) {
		qsort(names->names, names->count, sizeof(*names->names), by_name);
	}
	for (size_t i = 0; i < names->count; i++) {
		if (kept && strcmp(names->names[kept - 1], names->names[i]) == 0) {
			free(names->names[i]);
		} else {
			names->names[kept++] = names->names[i];
		}
	}
	names->count = kept;
}

int hk_imported_symbols_new(const char *path, struct hk_imported_symbols **ret_imports)
{
	struct hk_imported_symbols *imports = calloc(1, sizeof(*imports));

	if (!imports) {
		return -ENOMEM;
	}
	int r = add_file(imports, path, true);
	r = r < 0 ? r : add_libraries(imports, path);
	if (r != 0) {
		hk_imported_symbols_free(imports);
		return r < 0 ? r : -ENOEXEC;
	}
	sort(&imports->called);
	sort(&imports->defined);
	*ret_imports = imports;
	return 0;
}

static void drop(struct names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		free(names->names[i]);
	}
	free(names->names);
}

void hk_imported_symbols_free(struct hk_imported_symbols *imports)
{
	if (imports) {
		drop(&imports->called);
		drop(&imports->defined);
	}
	free(imports);
}

/* ---- look-up ---- */

static bool among(const struct names *names, const char *function)
{
	return names->count &&
	       bsearch(&function, names->names, names->count, sizeof(*names->names), by_name);
}

bool hk_imported_symbols_has(const struct hk_imported_symbols *imports, const char *function)
{
	return among(&imports->called, function);
}

bool hk_imported_symbols_defines(const struct hk_imported_symbols *imports, const char *function)
{
	return among(&imports->defined, function);
}

/* Counts the insertions, deletions and replacements that turn B into A (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_COMPARED + 1];
	size_t columns = strnlen(b, NAME_MAX_COMPARED), rows = strnlen(a, NAME_MAX_COMPARED);

	for (size_t j = 0; j <= columns; j++) {
		row[j] = (unsigned)j;
	}
	for (size_t i = 1; i <= rows; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= columns; j++) {
			unsigned change = corner + (a[i - 1] != b[j - 1]);
			unsigned step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
			corner = row[j];
			row[j] = change < step ? change : step;
		}
	}
	return row[columns];
}

/* Returns how much CANDIDATE differs from FUNCTION; 0: the names are not similar. */
static unsigned strangeness(const char *function, const char *candidate)
{
	size_t length = strlen(function);
	unsigned changes = distance(function, candidate);

	if (changes <= 1 + length / 5) {
		return changes;
	}
	return length >= 3 && strstr(candidate, function) ? 1 + changes : 0;
}

size_t hk_imported_symbols_nearest(const struct hk_imported_symbols *imports, const char *function,
				   const char **names, size_t limit)
{
	size_t count = 0;

	for (size_t i = 0; i < imports->called.count; i++) {
		unsigned rank = strangeness(function, imports->called.names[i]);
		size_t at = count;
		while (rank && at > 0 && rank < strangeness(function, names[at - 1])) {
			at--;
		}
		if (!rank || at == limit) {
			continue;
		}
		count += count < limit;
		memmove(&names[at + 1], &names[at], (count - at - 1) * sizeof(*names));
		names[at] = imports->called.names[i];
	}
	return count;
}
