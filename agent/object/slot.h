/* slot.h: one word of an object's GOT through which a function is called.
 *
 * Finds out what a slot holds, and replaces it, opening pages that the loader made read-only for as
 * long as one object is being written. Under the loader's lock; one thread at a time.
 */
#ifndef HK_AGENT_OBJECT_SLOT_H
#define HK_AGENT_OBJECT_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/object/object.h"

enum hk_slot_kind {
	HK_SLOT_NONE = 0, /* not a function slot */
	HK_SLOT_PLT,	  /* JUMP_SLOT: used for calls only */
	HK_SLOT_GOT,	  /* GLOB_DAT: called (-fno-plt) or taken as an address */
	HK_SLOT_TABLE,	  /* a 64-bit word of data: an address in a table of pointers */
};

enum hk_slot_value {
	HK_VALUE_FUNCTION,    /* code of a loaded object, or of none */
	HK_VALUE_LAZY,	      /* stub of the object's own PLT: the first call resolves it */
	HK_VALUE_OWN_PLT,     /* the object's own PLT entry standing for the function's address */
	HK_VALUE_EMPTY,	      /* weak and undefined */
	HK_VALUE_UNRELOCATED, /* still the value of the file: not relocated yet */
};

struct hk_slot {
	void **at;
	const char *function;
	const ElfW(Sym) * symbol;
	uint32_t order; /* of the relocation in its table */
	enum hk_slot_kind kind;
};

/* Reads relocation INDEX of TABLE into *ret_slot; whether the slot lies in the object is the
 * caller's to check. False: no function slot. */
bool hk_slot_read(const struct hk_object *object, const struct hk_relocations *table, size_t index,
		  struct hk_slot *ret_slot);

/* The same for a relocation of a table of pointers to functions. */
bool hk_slot_read_table(const struct hk_object *object, const struct hk_relocations *table,
			size_t index, struct hk_slot *ret_slot);

/* What VALUE, found in SLOT, is. ELSEWHERE: it lies in another object's code. */
enum hk_slot_value hk_slot_classify(const struct hk_object *object, const struct hk_slot *slot,
				    uintptr_t value, bool elsewhere);

/* Whether the object has PLT slots for calls of its own; on aarch64 the compiler's start files,
 * which are part of every object, call some functions through it. */
bool hk_slot_calls(const struct hk_object *object);

/* Whether an address of the object can be written to; the word there stays as it is. */
bool hk_slot_writable(const void *address);

/* Pages opened for writing while one object is patched. Start with zeros. */
struct hk_slot_pages {
	uintptr_t start, end;
};

/* Stores VALUE in one access. -EACCES: the page cannot be made writable. */
int hk_slot_write(const struct hk_object *object, struct hk_slot_pages *pages, void **at,
		  void *value);

/* Makes the pages opened read-only again. */
void hk_slot_close(struct hk_slot_pages *pages);

/* After the first call through a lazy slot, in an object that cannot go meanwhile: if the loader
 * overwrote SLOT, the value found there is the real original, and THUNK is put back. NULL: nothing
 * changed. Any thread. */
void *hk_slot_rearm(void **slot, void *thunk);

#endif
