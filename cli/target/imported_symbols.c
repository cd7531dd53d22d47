#include "cli/target/imported_symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/target/run_capture.h"

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

/* A mapped file. part() checks that a range lies within it. */
struct file {
	const char *bytes;
	size_t size;
};

static const void *part(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

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

/* Adds the functions of one table: with DEFINED those that the file defines, else those that it
 * calls. */
static int add_table(struct names *names, const struct file *file, const Elf64_Shdr *table,
		     const Elf64_Shdr *texts, bool defined)
{
	const Elf64_Sym *symbols = part(file, table->sh_offset, table->sh_size);
	const char *strings = part(file, texts->sh_offset, texts->sh_size);

	if (!symbols || !strings || !texts->sh_size || strings[texts->sh_size - 1] ||
	    table->sh_offset % _Alignof(Elf64_Sym)) {
		return -ENOEXEC;
	}
	for (size_t i = 1; i < table->sh_size / sizeof(*symbols); i++) {
		unsigned type = ELF64_ST_TYPE(symbols[i].st_info);
		bool function = type == STT_FUNC || (type == STT_NOTYPE && !defined);
		if (!function || (symbols[i].st_shndx != SHN_UNDEF) != defined ||
		    symbols[i].st_name >= texts->sh_size || !strings[symbols[i].st_name]) {
			continue;
		}
		int r = add(names, strings + symbols[i].st_name);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Adds the functions of the first section of type KIND. Returns 0, -ENOENT if the file has no such
 * section, -ENOEXEC, or -ENOMEM. */
static int add_symbols(struct names *names, const struct file *file, unsigned kind, bool defined)
{
	const Elf64_Ehdr *header = part(file, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr) ||
	    header->e_shoff % _Alignof(Elf64_Shdr)) {
		return -ENOEXEC;
	}
	const Elf64_Shdr *sections =
	    part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*sections));
	if (!sections) {
		return -ENOEXEC;
	}
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != kind) {
			continue;
		}
		return sections[i].sh_link < header->e_shnum
			   ? add_table(names, file, &sections[i], &sections[sections[i].sh_link],
				       defined)
			   : -ENOEXEC;
	}
	return -ENOENT;
}

/* Adds the functions that the file calls, and those that it defines if it is the PROGRAM. Returns 0
 * or -errno. */
static int add_file(struct hk_imported_symbols *imports, const char *path, bool program)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0) {
		int error = errno;
		if (fd >= 0) {
			close(fd);
		}
		return -error;
	}
	struct file file = {.size = (size_t)status.st_size};
	void *bytes = mmap(NULL, file.size, PROT_READ, MAP_PRIVATE, fd, 0);
	int error = errno;
	close(fd);
	if (bytes == MAP_FAILED) {
		return -error;
	}
	file.bytes = bytes;
	int r = add_symbols(&imports->called, &file, SHT_DYNSYM, false);
	if (r == 0 && program) {
		r = add_symbols(&imports->defined, &file, SHT_SYMTAB, true);
		r = r == -ENOENT ? 0 : r;
	}
	munmap(bytes, file.size);
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
