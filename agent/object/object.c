#include "agent/object/object.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

/* Contents of the dynamic section. The addresses are not checked yet. */
struct dynamic {
	uintptr_t symbols, strings, gnu_hash, sysv_hash, plt, data;
	uintptr_t versions, version_needs, version_definitions;
	size_t string_bytes, plt_bytes, data_bytes, relative_count;
	uintptr_t plt_type, soname;
	bool rpath, runpath, symbolic, filter;
};

#define VERSION_HIDDEN 0x8000u

bool hk_object_holds(const struct hk_object *object, uintptr_t address, size_t bytes)
{
	for (size_t i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdr[i];
		uintptr_t start = object->base + phdr->p_vaddr;
		if (phdr->p_type == PT_LOAD && address >= start &&
		    address - start < phdr->p_memsz && bytes <= phdr->p_memsz - (address - start)) {
			return true;
		}
	}
	return false;
}

bool hk_object_executes(const struct hk_object *object, uintptr_t address)
{
	for (size_t i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdr[i];
		uintptr_t start = object->base + phdr->p_vaddr;
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X && address >= start &&
		    address - start < phdr->p_memsz) {
			return true;
		}
	}
	return false;
}

/* glibc adds the base to most addresses in the dynamic section, but not for the vdso and itself;
 * other loaders never do. */
static uintptr_t locate(const struct hk_object *object, uintptr_t value, size_t bytes)
{
	if (!value) {
		return 0;
	}
	if (hk_object_holds(object, value, bytes)) {
		return value;
	}
	return hk_object_holds(object, object->base + value, bytes) ? object->base + value : 0;
}

static void take(struct dynamic *found, const ElfW(Dyn) * entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		found->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		found->strings = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		found->string_bytes = entry->d_un.d_val;
		break;
	case DT_VERSYM:
		found->versions = entry->d_un.d_ptr;
		break;
	case DT_VERNEED:
		found->version_needs = entry->d_un.d_ptr;
		break;
	case DT_VERDEF:
		found->version_definitions = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		found->gnu_hash = entry->d_un.d_ptr;
		break;
	case DT_HASH:
		found->sysv_hash = entry->d_un.d_ptr;
		break;
	case DT_JMPREL:
		found->plt = entry->d_un.d_ptr;
		break;
	case DT_PLTRELSZ:
		found->plt_bytes = entry->d_un.d_val;
		break;
	case DT_PLTREL:
		found->plt_type = entry->d_un.d_val;
		break;
	case DT_RELA:
		found->data = entry->d_un.d_ptr;
		break;
	case DT_RELASZ:
		found->data_bytes = entry->d_un.d_val;
		break;
	case DT_RELACOUNT:
		found->relative_count = entry->d_un.d_val;
		break;
	case DT_SONAME:
		found->soname = entry->d_un.d_val;
		break;
	case DT_SYMBOLIC:
		found->symbolic = true;
		break;
	case DT_FLAGS:
		found->symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
		break;
	case DT_FILTER:
	case DT_AUXILIARY:
		found->filter = true;
		break;
	case DT_RPATH:
		found->rpath = true;
		break;
	case DT_RUNPATH:
		found->runpath = true;
		break;
	}
}

static struct hk_relocations relocations(const struct hk_object *object, uintptr_t address,
					 size_t bytes)
{
	struct hk_relocations result = {NULL, 0};
	address = locate(object, address, bytes);
	if (address) {
		result.at = (const void *)address;
		result.count = bytes / sizeof(ElfW(Rela));
	}
	return result;
}

/* Returns the bytes from ADDRESS to the end of its segment. */
static size_t room_at(const struct hk_object *object, uintptr_t address)
{
	for (size_t i = 0; i < object->phdr_count; i++) {
		uintptr_t start = object->base + object->phdr[i].p_vaddr;
		if (object->phdr[i].p_type == PT_LOAD && address >= start &&
		    address - start < object->phdr[i].p_memsz) {
			return object->phdr[i].p_memsz - (address - start);
		}
	}
	return 0;
}

/* Finds the part of the GNU hash table that has one entry per symbol. */
static void find_chain(struct hk_object *object)
{
	const uint32_t *table = object->gnu_hash;
	if (!table) {
		return;
	}
	const ElfW(Addr) *bloom = (const void *)(table + 4);
	object->gnu_chain = (const uint32_t *)(bloom + table[2]) + table[0];
	object->gnu_first = table[1];
	object->gnu_room = room_at(object, (uintptr_t)object->gnu_chain) / sizeof(uint32_t);
}

/* Finds the tables of versions. Without a table of names, the loader ignores the versions of
 * symbols. */
static void find_versions(struct hk_object *object, const struct dynamic *found)
{
	object->version_needs = locate(object, found->version_needs, sizeof(ElfW(Verneed)));
	object->version_definitions =
	    locate(object, found->version_definitions, sizeof(ElfW(Verdef)));
	uintptr_t versions = locate(object, found->versions, sizeof(ElfW(Half)));
	if (versions && (object->version_needs || object->version_definitions)) {
		object->versions = (const void *)versions;
		object->version_room = room_at(object, versions) / sizeof(ElfW(Half));
	}
}

static int settle(struct hk_object *object, const struct dynamic *found)
{
	uintptr_t symbols = locate(object, found->symbols, sizeof(ElfW(Sym)));
	uintptr_t strings = locate(object, found->strings, found->string_bytes);
	if (!symbols || !strings || !found->string_bytes ||
	    ((const char *)strings)[found->string_bytes - 1]) {
		return -ENOEXEC;
	}
	object->symbols = (const void *)symbols;
	object->strings = (const void *)strings;
	object->string_bytes = found->string_bytes;
	object->symbol_room = room_at(object, symbols) / sizeof(ElfW(Sym));
	find_versions(object, found);
	object->gnu_hash = (const void *)locate(object, found->gnu_hash, 4 * sizeof(uint32_t));
	object->sysv_hash = (const void *)locate(object, found->sysv_hash, 2 * sizeof(uint32_t));
	if (found->plt_type == DT_RELA) {
		object->plt = relocations(object, found->plt, found->plt_bytes);
	}
	object->data = relocations(object, found->data, found->data_bytes);
	if (object->data.count) {
		size_t skip = found->relative_count < object->data.count ? found->relative_count
									 : object->data.count;
		object->data.at += skip;
		object->data.count -= skip;
	}
	object->soname = found->soname < found->string_bytes ? object->strings + found->soname : "";
	object->rpath = found->rpath;
	object->runpath = found->runpath;
	object->symbolic = found->symbolic;
	object->filter = found->filter;
	return 0;
}

static void find_relro(struct hk_object *object)
{
	uintptr_t page = getauxval(AT_PAGESZ);
	for (size_t i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdr[i];
		if (phdr->p_type == PT_GNU_RELRO && phdr->p_memsz) {
			/* Both ends are rounded down, as in the loader. */
			uintptr_t start = object->base + phdr->p_vaddr;
			object->relro = start & -page;
			object->relro_end = (start + phdr->p_memsz) & -page;
		}
	}
}

int hk_object_read(const struct dl_phdr_info *info, struct hk_object *ret_object)
{
	struct hk_object object = {
	    .base = info->dlpi_addr,
	    .name = info->dlpi_name ? info->dlpi_name : "",
	    .phdr = info->dlpi_phdr,
	    .phdr_count = info->dlpi_phnum,
	};
	size_t room = 0;
	for (size_t i = 0; i < object.phdr_count; i++) {
		if (object.phdr[i].p_type == PT_DYNAMIC) {
			object.dynamic = (const void *)(object.base + object.phdr[i].p_vaddr);
			room = object.phdr[i].p_memsz / sizeof(ElfW(Dyn));
		}
		uintptr_t end = object.phdr[i].p_vaddr + object.phdr[i].p_memsz;
		if (object.phdr[i].p_type == PT_LOAD && end > object.extent) {
			object.extent = end;
		}
	}
	if (!object.dynamic ||
	    !hk_object_holds(&object, (uintptr_t)object.dynamic, room * sizeof(ElfW(Dyn)))) {
		return -ENOEXEC;
	}
	struct dynamic found = {0};
	while (object.dynamic_count < room &&
	       object.dynamic[object.dynamic_count].d_tag != DT_NULL) {
		take(&found, &object.dynamic[object.dynamic_count++]);
	}
	int result = settle(&object, &found);
	if (result == 0) {
		find_chain(&object);
		find_relro(&object);
		*ret_object = object;
	}
	return result;
}

const char *hk_object_symbol(const struct hk_object *object, size_t index,
			     const ElfW(Sym) * *ret_symbol)
{
	if (!index || index >= object->symbol_room) {
		return NULL;
	}
	const ElfW(Sym) *symbol = &object->symbols[index];
	if (!symbol->st_name || symbol->st_name >= object->string_bytes) {
		return NULL;
	}
	*ret_symbol = symbol;
	return object->strings + symbol->st_name;
}

size_t hk_object_symbol_count(const struct hk_object *object)
{
	if (!object->gnu_hash) {
		return object->sysv_hash ? object->sysv_hash[1] : 0;
	}
	const ElfW(Addr) *bloom = (const void *)(object->gnu_hash + 4);
	const uint32_t *buckets = (const void *)(bloom + object->gnu_hash[2]);
	size_t last = 0;
	for (uint32_t i = 0; i < object->gnu_hash[0]; i++) {
		last = buckets[i] > last ? buckets[i] : last;
	}
	/* The last chain ends with a hash whose lowest bit is set. */
	uint32_t hash = 0;
	while (!(hash & 1) && hk_object_hash(object, last, &hash)) {
		last++;
	}
	return last;
}

bool hk_object_hash(const struct hk_object *object, size_t index, uint32_t *ret_hash)
{
	if (index < object->gnu_first || index - object->gnu_first >= object->gnu_room) {
		return false;
	}
	*ret_hash = object->gnu_chain[index - object->gnu_first];
	return true;
}

/* A walk over the symbols with one name. */
struct walk {
	const char *name;
	bool (*visit)(const struct hk_object *object, size_t index, void *data);
	void *data;
};

static bool step(const struct hk_object *object, size_t index, const struct walk *walk)
{
	const ElfW(Sym) * symbol;
	const char *found = hk_object_symbol(object, index, &symbol);
	return !found || strcmp(found, walk->name) != 0 || walk->visit(object, index, walk->data);
}

static void walk_gnu(const struct hk_object *object, const struct walk *walk)
{
	uint32_t hash = 5381;
	for (const char *at = walk->name; *at; at++) {
		hash = hash * 33 + (uint8_t)*at;
	}
	const uint32_t *table = object->gnu_hash;
	uint32_t bucket_count = table[0];
	uint32_t bloom_count = table[2];
	const ElfW(Addr) *bloom = (const void *)(table + 4);
	const unsigned bits = sizeof(*bloom) * 8;
	if (!bucket_count || !bloom_count) {
		return;
	}
	ElfW(Addr) word = bloom[hash / bits % bloom_count];
	if (!(word >> hash % bits & word >> (hash >> table[3]) % bits & 1)) {
		return;
	}
	const uint32_t *buckets = (const void *)(bloom + bloom_count);
	uint32_t entry;
	for (uint32_t index = buckets[hash % bucket_count]; hk_object_hash(object, index, &entry);
	     index++) {
		if (((entry | 1) == (hash | 1) && !step(object, index, walk)) || entry & 1) {
			break;
		}
	}
}

static void walk_sysv(const struct hk_object *object, const struct walk *walk)
{
	uint32_t hash = 0;
	for (const char *at = walk->name; *at; at++) {
		hash = (hash << 4) + (uint8_t)*at;
		uint32_t top = hash & 0xf0000000;
		hash ^= top >> 24;
		hash &= ~top;
	}
	const uint32_t *table = object->sysv_hash;
	uint32_t bucket_count = table[0];
	uint32_t symbol_count = table[1];
	if (!bucket_count) {
		return;
	}
	const uint32_t *chain = table + 2 + bucket_count;
	uint32_t index = table[2 + hash % bucket_count];
	for (uint32_t steps = 0; index && index < symbol_count && steps < symbol_count; steps++) {
		if (!step(object, index, walk)) {
			break;
		}
		index = chain[index];
	}
}

void hk_object_walk(const struct hk_object *object, const char *name,
		    bool (*visit)(const struct hk_object *object, size_t index, void *data),
		    void *data)
{
	struct walk walk = {name, visit, data};
	if (object->gnu_hash) {
		walk_gnu(object, &walk);
	} else if (object->sysv_hash) {
		walk_sysv(object, &walk);
	}
}

/* The default version has priority over a hidden one. */
static bool consider(const struct hk_object *object, size_t index, void *data)
{
	const ElfW(Sym) **best = data;
	const ElfW(Sym) *symbol = &object->symbols[index];
	if (symbol->st_shndx == SHN_UNDEF && !symbol->st_value) {
		return true;
	}
	bool hidden = index < object->version_room && object->versions[index] & VERSION_HIDDEN;
	if (!hidden || !*best) {
		*best = symbol;
	}
	return hidden;
}

const ElfW(Sym) * hk_object_find(const struct hk_object *object, const char *name)
{
	const ElfW(Sym) *best = NULL;
	hk_object_walk(object, name, consider, &best);
	return best;
}

bool hk_object_needs(const struct hk_object *object, const struct hk_object *other)
{
	const char *slash = strrchr(other->name, '/');
	const char *file = slash ? slash + 1 : other->name;
	for (size_t i = 0; i < object->dynamic_count; i++) {
		if (object->dynamic[i].d_tag != DT_NEEDED ||
		    object->dynamic[i].d_un.d_val >= object->string_bytes) {
			continue;
		}
		const char *needed = object->strings + object->dynamic[i].d_un.d_val;
		if (*needed && (strcmp(needed, other->soname) == 0 || strcmp(needed, file) == 0 ||
				strcmp(needed, other->name) == 0)) {
			return true;
		}
	}
	return false;
}

uintptr_t hk_object_variable(const struct hk_object *object, const char *name)
{
	const ElfW(Sym) *symbol = hk_object_find(object, name);
	if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT) {
		return 0;
	}
	return object->base + symbol->st_value;
}

bool hk_object_is_variant(const ElfW(Sym) * symbol)
{
#if defined(__aarch64__)
	return symbol->st_other & 0x80; /* STO_AARCH64_VARIANT_PCS of newer headers */
#else
	(void)symbol;
	return false;
#endif
}

uintptr_t hk_object_code(const struct hk_object *object, const ElfW(Sym) * symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    (type != STT_FUNC && type != STT_NOTYPE)) {
		return 0;
	}
	uintptr_t address = object->base + symbol->st_value;
	return hk_object_executes(object, address) ? address : 0;
}

uintptr_t hk_object_function(const struct hk_object *object, const char *name)
{
	const ElfW(Sym) *symbol = hk_object_find(object, name);
	return symbol ? hk_object_code(object, symbol) : 0;
}

/* A search for a definition at one address. */
struct definition {
	uintptr_t address;
	bool found;
};

static bool is_at(const struct hk_object *object, size_t index, void *data)
{
	struct definition *definition = data;
	const ElfW(Sym) *symbol = &object->symbols[index];
	definition->found = symbol->st_shndx != SHN_UNDEF &&
			    (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ||
			     object->base + symbol->st_value == definition->address);
	return !definition->found;
}

const char *hk_object_function_at(const struct hk_object *object, uintptr_t address)
{
	size_t count = hk_object_symbol_count(object);
	const char *found = NULL;
	uintptr_t place = address - object->base, highest = 0;

	for (size_t i = 1; i < count; i++) {
		const ElfW(Sym) * symbol;
		const char *name = hk_object_symbol(object, i, &symbol);
		if (name && symbol->st_value > highest && place >= symbol->st_value &&
		    place - symbol->st_value < symbol->st_size && hk_object_code(object, symbol)) {
			highest = symbol->st_value;
			found = name;
		}
	}
	return found;
}

bool hk_object_defines(const struct hk_object *object, const char *name, uintptr_t address)
{
	struct definition definition = {.address = address};
	hk_object_walk(object, name, is_at, &definition);
	return definition.found;
}
