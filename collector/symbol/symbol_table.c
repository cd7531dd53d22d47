#include "collector/symbol/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collector/symbol/mini_symbols.h"

#define NAME_BYTES_MAX 8192u /* a longer name is left out */
/* Larger tables are left out, or cut. The largest known ones, of PyTorch, have 400,000 functions.
 */
#define SYMBOLS_MOST (4u << 20)
#define NAMES_MOST (256u << 20) /* bytes */

struct hk_symbol_table {
	struct hk_symbol *symbols; /* by address; none overlaps the next */
	size_t count, room;
	char *names;
	size_t names_used, names_room;
	bool partial;
	void *base; /* of the mapping that all of it lies in; NULL: it is allocated */
	size_t mapped;
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

static uint32_t rank_of(const GElf_Sym *symbol, const char *name)
{
	unsigned binding = GELF_ST_BIND(symbol->st_info);
	unsigned rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 4 : 8;

	return rank + (name[0] == '_') + (name[0] == '_' && name[1] == '_');
}

static int add_symbol(void *context, const GElf_Sym *symbol, const char *name)
{
	struct hk_symbol_table *table = context;
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
		struct hk_symbol *symbols = reallocarray(table->symbols, room, sizeof(*symbols));
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
	table->symbols[table->count++] = (struct hk_symbol){.start = symbol->st_value,
							    .end = end,
							    .name = (uint32_t)table->names_used,
							    .rank = rank_of(symbol, name)};
	return add_name(table, name, length);
}

/* By address; at one address the longest first, then the best name. */
static int by_address(const void *a, const void *b)
{
	const struct hk_symbol *x = a, *y = b;

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
		struct hk_symbol *symbol = &table->symbols[i];
		uint64_t next = i + 1 < kept ? symbol[1].start : UINT64_MAX;
		if (symbol->end == symbol->start || symbol->end > next) {
			symbol->end = symbol->end == symbol->start && next == UINT64_MAX
					  ? symbol->start + 1
					  : next;
		}
	}
}

/* ---- making ---- */

/* Gives back the room that is left. */
static void fit(struct hk_symbol_table *table)
{
	struct hk_symbol *symbols =
	    table->count ? reallocarray(table->symbols, table->count, sizeof(*symbols)) : NULL;
	char *names = table->names_used ? realloc(table->names, table->names_used) : NULL;

	if (symbols) {
		table->symbols = symbols;
		table->room = table->count;
	}
	if (names) {
		table->names = names;
		table->names_room = table->names_used;
	}
}

/* Reads what a stripped file has. */
static int read_stripped(struct hk_symbol_table *table, const struct hk_elf *file)
{
	struct hk_elf mini;
	int r = hk_elf_symbols(file, SHT_DYNSYM, add_symbol, table);

	table->partial = true;
	if (r != -ENOMEM && hk_mini_symbols_open(file, &mini) == 0) {
		r = hk_elf_symbols(&mini, SHT_SYMTAB, add_symbol, table);
		table->partial = r < 0;
		hk_elf_close(&mini);
	}
	return r;
}

int hk_symbol_table_read(const struct hk_elf *file, struct hk_symbol_table **ret_table)
{
	struct hk_symbol_table *table = calloc(1, sizeof(*table));

	if (!table) {
		return -ENOMEM;
	}
	int r = hk_elf_symbols(file, SHT_SYMTAB, add_symbol, table);
	if (r == -ENOENT || r == -ENOEXEC) {
		r = read_stripped(table, file);
	}
	if (r == -ENOMEM) {
		hk_symbol_table_free(table);
		return r;
	}
	tidy(table);
	fit(table);
	*ret_table = table;
	return 0;
}

struct hk_symbol_table *hk_symbol_table_map(const struct hk_symbols_content *content, void *base,
					    size_t mapped)
{
	struct hk_symbol_table *table = calloc(1, sizeof(*table));

	if (table) {
		*table = (struct hk_symbol_table){
		    .symbols = (struct hk_symbol *)content->symbols,
		    .count = content->count,
		    .names = (char *)content->names,
		    .names_used = content->names_bytes,
		    .base = base,
		    .mapped = mapped,
		};
	}
	return table;
}

struct hk_symbol_table *hk_symbol_table_free(struct hk_symbol_table *table)
{
	if (table && table->base) {
		munmap(table->base, table->mapped);
	} else if (table) {
		free(table->symbols);
		free(table->names);
	}
	free(table);
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
	const struct hk_symbol *symbol = low > 0 ? &table->symbols[low - 1] : NULL;
	/* Offsets of a mapped file are not checked before. */
	return symbol && address < symbol->end && symbol->name < table->names_used
		   ? table->names + symbol->name
		   : NULL;
}

bool hk_symbol_table_is_partial(const struct hk_symbol_table *table)
{
	return table->partial;
}

struct hk_symbols_content hk_symbol_table_content(const struct hk_symbol_table *table)
{
	return (struct hk_symbols_content){table->symbols, table->count, table->names,
					   table->names_used};
}

size_t hk_symbol_table_bytes(const struct hk_symbol_table *table)
{
	return sizeof(*table) + table->mapped + table->room * sizeof(*table->symbols) +
	       table->names_room;
}
