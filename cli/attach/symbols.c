#include "cli/attach/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"

struct reading {
	struct hk_symbols *symbols;
	uint64_t bias;
};

static int add(void *context, const GElf_Sym *symbol, const char *name)
{
	struct reading *reading = context;
	struct hk_symbols *symbols = reading->symbols;
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	if (!name || symbol->st_shndx == SHN_UNDEF ||
	    (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC)) {
		return 0;
	}
	struct hk_symbol *list = symbols->list;
	/* Room doubles at powers of two. */
	if ((symbols->count & (symbols->count - 1)) == 0) {
		size_t room = symbols->count ? symbols->count * 2 : 1;
		list = reallocarray(list, room, sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		symbols->list = list;
	}
	char *copy = strdup(name);
	if (!copy) {
		return -ENOMEM;
	}
	list[symbols->count++] = (struct hk_symbol){
	    .start = reading->bias + symbol->st_value, .bytes = symbol->st_size, .name = copy};
	return 0;
}

/* Returns the address at which the file's address 0 lies in the process. */
static uint64_t bias_of(const struct hk_elf *file, const struct hk_map *map)
{
	GElf_Phdr header;
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count) < 0) {
		return map->start;
	}
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		if (gelf_getphdr(file->elf, (int)i, &header) && header.p_type == PT_LOAD) {
			return map->start - map->offset - (header.p_vaddr - header.p_offset);
		}
	}
	return map->start;
}

/* Opens the file of MAP, by its path in the process, or by the kernel's name for the map, which
 * needs more rights. */
static int open_file(pid_t pid, const struct hk_map *map, struct hk_elf *ret_file)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, map->path);
	int r = hk_elf_open(path, ret_file);

	if (r == 0 && ret_file->status.st_ino == map->inode) {
		return 0;
	}
	if (r == 0) {
		hk_elf_close(ret_file);
	}
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 map->start, map->end);
	int again = hk_elf_open(path, ret_file);
	return again == 0 ? 0 : r < 0 && r != -ENOENT ? r : -ESTALE;
}

int hk_symbols_read(pid_t pid, const struct hk_map *map, struct hk_symbols *ret_symbols)
{
	struct hk_elf file;
	int r = open_file(pid, map, &file);

	*ret_symbols = (struct hk_symbols){0};
	if (r < 0) {
		return r;
	}
	struct reading reading = {ret_symbols, bias_of(&file, map)};
	r = hk_elf_symbols(&file, SHT_DYNSYM, add, &reading);
	hk_elf_close(&file);
	if (r < 0) {
		hk_symbols_free(ret_symbols);
	}
	return r;
}

void hk_symbols_free(struct hk_symbols *symbols)
{
	for (size_t i = 0; i < symbols->count; i++) {
		free(symbols->list[i].name);
	}
	free(symbols->list);
	*symbols = (struct hk_symbols){0};
}

uint64_t hk_symbols_address(const struct hk_symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++) {
		if (strcmp(symbols->list[i].name, name) == 0) {
			return symbols->list[i].start;
		}
	}
	return 0;
}

const char *hk_symbols_name(const struct hk_symbols *symbols, uint64_t address)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct hk_symbol *symbol = &symbols->list[i];
		if (address - symbol->start < symbol->bytes) {
			return symbol->name;
		}
	}
	return NULL;
}
