/* slot.h: one word of an object's GOT through which a function is called.
 *
 * Finds out what a slot holds, and replaces it. Pages that the loader made read-only are writable
 * while one object is patched. Under the loader's lock; one thread at a time.
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
	HK_VALUE_OWN_PLT,     /* the object's own PLT entry, which is the function's address */
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

/* Reads relocation INDEX of TABLE into *ret_slot. The caller must check that the slot lies in the
 * object. Returns false if it is no slot of a function. */
bool hk_slot_read(const struct hk_object *object, const struct hk_relocations *table, size_t index,
		  struct hk_slot *ret_slot);

/* The same for a relocation of a table of pointers to functions. */
bool hk_slot_read_table(const struct hk_object *object, const struct hk_relocations *table,
			size_t index, struct hk_slot *ret_slot);

/* Returns the kind of VALUE, found in SLOT. ELSEWHERE: it lies in another object's code. */
enum hk_slot_value hk_slot_classify(const struct hk_object *object, const struct hk_slot *slot,
				    uintptr_t value, bool elsewhere);

/* Returns whether the object has PLT slots for calls of its own. On aarch64 the compiler's start
 * files in every object call some functions through the PLT, which do not count. */
bool hk_slot_calls(const struct hk_object *object);

/* Returns whether a thunk in SLOT could give a function two addresses where the host compares them.
 * The tables of an object also contain its own functions (OWN), unpatched. Any function that is not
 * DESCRIBED by a hook may be such a callback. For these, only an object built to call through the
 * GOT alone shows that the slot is for calls. */
bool hk_slot_is_compared(const struct hk_object *object, const struct hk_slot *slot, bool own,
			 bool described);

/* Returns whether an address of the object can be written, without changing the word there. */
bool hk_slot_writable(const void *address);

/* Pages made writable while one object is patched. Zero it first. */
struct hk_slot_pages {
	uintptr_t start, end;
};

/* Stores VALUE in one access. Returns 0, or -EACCES if the page cannot be made writable. */
int hk_slot_write(const struct hk_object *object, struct hk_slot_pages *pages, void **at,
		  void *value);

/* Makes the pages opened read-only again. */
void hk_slot_close(struct hk_slot_pages *pages);

/* Called after the first call through a lazy slot of an object that cannot be unloaded meanwhile.
 * If the loader overwrote SLOT, puts THUNK back and returns the loader's value, which is the real
 * original. Returns NULL if the slot is unchanged. Any thread. */
void *hk_slot_rearm(void **slot, void *thunk);

#endif
