#include "collector/symbol/symbol_table.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES_MAX 8192u /* a longer name is left out */
/* Larger tables are left out, or cut. The largest known ones, of PyTorch, have 400,000 functions.
 */
#define SYMBOLS_MOST (4u << 20)
#define NAMES_MOST (256u << 20) /* bytes */
#define SECTION_BYTES_MOST (1u << 30)

struct symbol {
	uint64_t start, end;
	uint32_t name; /* offset in `names` */
	uint8_t rank;  /* of several at one address the lowest is shown */
};

struct hk_symbol_table {
	struct symbol *symbols; /* by address; none overlaps the next */
	size_t count, room;
	char *names;
	size_t names_used, names_room;
	bool partial;
};

/* ---- what a table holds ---- */

static int add_name(struct hk_symbol_table *table, const char *name, size_t length)
{
	if (table->names_used + length + 1 > table->names_room) {
		size_t room = table->names_room ? table->names_room * 2 : 1u << 16;
		char *names = realloc(table->names, room);
		if (!names) {
			return -ENOMEM;
		}
		table->names = names;
		table->names_room = room;
	}
	memcpy(table->names + table->names_used, name, length);
	table->names[table->names_used + length] = '\0';
	table->names_used += length + 1;
	return 0;
}

static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	unsigned rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 4 : 8;

	return (uint8_t)(rank + (name[0] == '_') + (name[0] == '_' && name[1] == '_'));
}

static int add_symbol(struct hk_symbol_table *table, const GElf_Sym *symbol, const char *name)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);
	/* A version of the symbol, "@..." or "@@...", is no part of the function's name. */
	size_t length = name ? strnlen(name, NAME_BYTES_MAX) : 0;
	const char *version = length ? memchr(name + 1, '@', length - 1) : NULL;
	length = version ? (size_t)(version - name) : length;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    length == 0 || length == NAME_BYTES_MAX || table->count >= SYMBOLS_MOST ||
	    table->names_used >= NAMES_MOST) {
		return 0;
	}
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 1024;
		struct symbol *symbols = reallocarray(table->symbols, room, sizeof(*symbols));
		if (!symbols) {
			return -ENOMEM;
		}
		table->symbols = symbols;
		table->room = room;
	}
	uint64_t end;
	if (__builtin_add_overflow(symbol->st_value, symbol->st_size, &end)) {
		return 0;
	}
	table->symbols[table->count++] = (struct symbol){.start = symbol->st_value,
							 .end = end,
							 .name = (uint32_t)table->names_used,
							 .rank = rank_of(symbol, name)};
	return add_name(table, name, length);
}

/* By address; at one address the longest first, then the best name. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start) {
		return x->start < y->start ? -1 : 1;
	}
	if (x->end != y->end) {
		return x->end > y->end ? -1 : 1;
	}
	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
				  : (x->name < y->name ? -1 : x->name > y->name);
}

/* Leaves one symbol at each address. One without a length, as in assembly, ends where the next one
 * begins. */
static void tidy(struct hk_symbol_table *table)
{
	size_t kept = 0;

	if (table->count > 1) {
		qsort(table->symbols, table->count, sizeof(*table->symbols), by_address);
	}
	for (size_t i = 0; i < table->count; i++) {
		if (kept == 0 || table->symbols[kept - 1].start != table->symbols[i].start) {
			table->symbols[kept++] = table->symbols[i];
		}
	}
	table->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct symbol *symbol = &table->symbols[i];
		uint64_t next = i + 1 < kept ? symbol[1].start : UINT64_MAX;
		if (symbol->end == symbol->start || symbol->end > next) {
			symbol->end = symbol->end == symbol->start && next == UINT64_MAX
					  ? symbol->start + 1
					  : next;
		}
	}
}

/* ---- reading ---- */

static Elf_Scn *section_of(Elf *elf, uint32_t type, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type) {
			return section;
		}
	}
	return NULL;
}

/* Returns whether the section of HEADER and the one with its names may be read into memory. */
static bool is_small(Elf *elf, const GElf_Shdr *header)
{
	Elf_Scn *names = elf_getscn(elf, header->sh_link);
	GElf_Shdr of_names;

	return header->sh_size <= SECTION_BYTES_MOST && names && gelf_getshdr(names, &of_names) &&
	       of_names.sh_size <= SECTION_BYTES_MOST;
}

static int read_section(struct hk_symbol_table *table, Elf *elf, Elf_Scn *section,
			const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	int r = 0;

	for (size_t i = 0; i < count && i <= INT32_MAX && r == 0; i++) {
		GElf_Sym symbol;
		if (gelf_getsym(data, (int)i, &symbol)) {
			r = add_symbol(table, &symbol,
				       elf_strptr(elf, header->sh_link, symbol.st_name));
		}
	}
	return r;
}

static int read_symbols(struct hk_symbol_table *table, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = section_of(elf, SHT_SYMTAB, &header);

	table->partial = !section;
	section = section ? section : section_of(elf, SHT_DYNSYM, &header);
	int r = section && is_small(elf, &header) ? read_section(table, elf, section, &header) : 0;
	tidy(table);
	return r;
}

/* Whether a note of the file is the build id. */
static bool has_build_id(Elf *elf, const uint8_t *build_id, size_t bytes)
{
	GElf_Shdr header;
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
					 header.sh_size <= SECTION_BYTES_MOST
				     ? elf_getdata(section, NULL)
				     : NULL;
		GElf_Nhdr note;
		size_t at = 0, next, name, content;
		while (data && (next = gelf_getnote(data, at, &note, &name, &content)) > 0) {
			const char *base = data->d_buf;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			    memcmp(base + name, "GNU", 4) == 0) {
				return note.n_descsz == bytes &&
				       memcmp(base + content, build_id, bytes) == 0;
			}
			at = next;
		}
	}
	return false;
}

static int read_elf(struct hk_symbol_table *table, int fd, const uint8_t *build_id,
		    size_t build_id_bytes)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = -ENOEXEC;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64) {
		r = build_id_bytes == 0 || has_build_id(elf, build_id, build_id_bytes)
			? read_symbols(table, elf)
			: -ESTALE;
	}
	elf_end(elf);
	return r;
}

int hk_symbol_table_read(const char *path, const uint8_t *build_id, size_t build_id_bytes,
			 struct hk_symbol_table **ret_table)
{
	/* A path may have been replaced by a pipe, on which an open would wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct hk_symbol_table *table = fd < 0 ? NULL : calloc(1, sizeof(*table));

	if (!table) {
		int error = fd < 0 ? -errno : -ENOMEM;
		if (fd >= 0) {
			close(fd);
		}
		return error;
	}
	int r = read_elf(table, fd, build_id, build_id_bytes);
	close(fd);
	if (r < 0) {
		hk_symbol_table_free(table);
		return r;
	}
	*ret_table = table;
	return 0;
}

struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table)
{
	if (table) {
		free(table->symbols);
		free(table->names);
		free(table);
	}
	return NULL;
}

/* ---- look-ups ---- */

const char *hk_symbol_table_find(const struct hk_symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->symbols[middle].start <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	const struct symbol *symbol = low > 0 ? &table->symbols[low - 1] : NULL;
	return symbol && address < symbol->end ? table->names + symbol->name : NULL;
}

bool hk_symbol_table_is_partial(const struct hk_symbol_table *table)
{
	return table->partial;
}

size_t hk_symbol_table_bytes(const struct hk_symbol_table *table)
{
	return sizeof(*table) + table->room * sizeof(*table->symbols) + table->names_room;
}
