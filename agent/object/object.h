/* object.h: one loaded ELF object, read by its own headers.
 *
 * A view of the data of dl_iterate_phdr, valid while the loader's lock is held: it points into the
 * object's memory. An address from a dynamic section is used only if it lies in the object's own
 * segments. Pure reading, no allocation, no locks.
 */
#ifndef HK_AGENT_OBJECT_OBJECT_H
#define HK_AGENT_OBJECT_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The addresses of an object's segments. */
struct hk_span {
	uintptr_t start, end; /* equal: none */
};

static inline bool hk_span_holds(struct hk_span span, uintptr_t address)
{
	return address >= span.start && address < span.end;
}

struct hk_relocations {
	const ElfW(Rela) * at;
	size_t count;
};

struct hk_object {
	uintptr_t base;	  /* added to every address in the file */
	uintptr_t extent; /* end of the last segment, in the file's addresses */
	const char *name; /* as the loader keeps it, "" for the program */
	const ElfW(Phdr) * phdr;
	size_t phdr_count;
	const ElfW(Dyn) * dynamic;
	size_t dynamic_count; /* entries before DT_NULL */
	const ElfW(Sym) * symbols;
	size_t symbol_room; /* symbols that fit into their segment */
	const char *strings;
	size_t string_bytes;
	const ElfW(Half) * versions;   /* of each symbol, or NULL */
	size_t version_room;	       /* entries that fit into their segment */
	uintptr_t version_needs;       /* first ElfW(Verneed), or 0 */
	uintptr_t version_definitions; /* first ElfW(Verdef), or 0 */
	const uint32_t *gnu_hash;
	const uint32_t *gnu_chain; /* hashes of the symbols from gnu_first on, or NULL */
	size_t gnu_first, gnu_room;
	const uint32_t *sysv_hash;
	struct hk_relocations plt;  /* DT_JMPREL */
	struct hk_relocations data; /* DT_RELA without its leading relative ones */
	uintptr_t relro;	    /* pages the loader makes read-only after relocation */
	uintptr_t relro_end;	    /* equal to relro: none */
	const char *soname;	    /* or "" */
	bool rpath;
	bool runpath;
	bool symbolic; /* looks into itself first */
	bool filter;   /* brings others into the scope before itself */
};

/* Reads INFO into *ret_object. Returns 0, or -ENOEXEC if it has no usable dynamic section, or one
 * that points outside of the object. */
int hk_object_read(const struct dl_phdr_info *info, struct hk_object *ret_object);

static inline struct hk_span hk_object_span(const struct hk_object *object)
{
	return (struct hk_span){object->base, object->base + object->extent};
}

/* Whether BYTES at ADDRESS lie in one segment of the object. */
bool hk_object_holds(const struct hk_object *object, uintptr_t address, size_t bytes);

/* Whether ADDRESS lies in an executable segment of the object. */
bool hk_object_executes(const struct hk_object *object, uintptr_t address);

/* Returns the number of symbols by the object's hash table: at least those that it defines. */
size_t hk_object_symbol_count(const struct hk_object *object);

/* Returns the name of symbol INDEX and sets *ret_symbol. Returns NULL if INDEX is out of range or
 * the symbol has no name. */
const char *hk_object_symbol(const struct hk_object *object, size_t index,
			     const ElfW(Sym) * *ret_symbol);

/* Sets the hash of symbol INDEX from the object's DT_GNU_HASH, whose lowest bit has another
 * meaning. Returns false if there is none. */
bool hk_object_hash(const struct hk_object *object, size_t index, uint32_t *ret_hash);

/* Calls VISIT with the index of each symbol NAME in the object's hash table, in the table's order,
 * until it returns false. */
void hk_object_walk(const struct hk_object *object, const char *name,
		    bool (*visit)(const struct hk_object *object, size_t index, void *data),
		    void *data);

/* Returns symbol NAME of the object's hash table, the default version first, or NULL. It may be
 * undefined and have a value: then an entry of the program's own PLT is the function's address. */
const ElfW(Sym) * hk_object_find(const struct hk_object *object, const char *name);

/* Returns whether OBJECT is linked with OTHER (DT_NEEDED). */
bool hk_object_needs(const struct hk_object *object, const struct hk_object *other);

/* Returns whether calls of SYMBOL pass arguments in registers that the agent's frames do not keep.
 */
bool hk_object_is_variant(const ElfW(Sym) * symbol);

/* Returns the address of SYMBOL's code in the object, or 0, also for an indirect function (IFUNC).
 */
uintptr_t hk_object_code(const struct hk_object *object, const ElfW(Sym) * symbol);

/* Returns the address of the object's function NAME, or 0 as hk_object_code does. */
uintptr_t hk_object_function(const struct hk_object *object, const char *name);

/* Returns the name of the exported function whose code holds ADDRESS, or NULL: of several
 * names the first. Reads all symbols. */
const char *hk_object_function_at(const struct hk_object *object, uintptr_t address);

/* Returns whether a version of NAME in the object is at ADDRESS. An indirect function may be at any
 * address. */
bool hk_object_defines(const struct hk_object *object, const char *name, uintptr_t address);

/* Returns the address of the object's variable NAME, or 0. */
uintptr_t hk_object_variable(const struct hk_object *object, const char *name);

#endif
