#include "agent/object/slot.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/kernel.h"

#if defined(__x86_64__)
#define RELOCATION_PLT R_X86_64_JUMP_SLOT
#define RELOCATION_GOT R_X86_64_GLOB_DAT
#define RELOCATION_TABLE R_X86_64_64
#elif defined(__aarch64__)
#define RELOCATION_PLT R_AARCH64_JUMP_SLOT
#define RELOCATION_GOT R_AARCH64_GLOB_DAT
#define RELOCATION_TABLE R_AARCH64_ABS64
#endif

static bool read_slot(const struct hk_object *object, const struct hk_relocations *table,
		      size_t index, enum hk_slot_kind kind, struct hk_slot *ret_slot)
{
	const ElfW(Rela) *relocation = &table->at[index];
	struct hk_slot slot = {.order = (uint32_t)index, .kind = kind};
	slot.function = hk_object_symbol(object, ELF64_R_SYM(relocation->r_info), &slot.symbol);
	if (!slot.function) {
		return false;
	}
	unsigned symbol_type = ELF64_ST_TYPE(slot.symbol->st_info);
	if (symbol_type == STT_OBJECT || symbol_type == STT_TLS || symbol_type == STT_COMMON) {
		return false;
	}
	uintptr_t at = object->base + relocation->r_offset;
	if (at % sizeof(void *)) {
		return false;
	}
	slot.at = (void **)at;
	*ret_slot = slot;
	return true;
}

bool hk_slot_read(const struct hk_object *object, const struct hk_relocations *table, size_t index,
		  struct hk_slot *ret_slot)
{
	unsigned type = ELF64_R_TYPE(table->at[index].r_info);
	if (type != RELOCATION_PLT && type != RELOCATION_GOT) {
		return false;
	}
	return read_slot(object, table, index, type == RELOCATION_PLT ? HK_SLOT_PLT : HK_SLOT_GOT,
			 ret_slot);
}

bool hk_slot_read_table(const struct hk_object *object, const struct hk_relocations *table,
			size_t index, struct hk_slot *ret_slot)
{
	const ElfW(Rela) *relocation = &table->at[index];
	return ELF64_R_TYPE(relocation->r_info) == RELOCATION_TABLE && !relocation->r_addend &&
	       read_slot(object, table, index, HK_SLOT_TABLE, ret_slot);
}

bool hk_slot_calls(const struct hk_object *object)
{
	static const char *const of_start[] = {"__cxa_finalize", "__gmon_start__",
					       "__libc_start_main", "abort"};
	bool other = false;
	for (size_t i = 0; i < object->plt.count && !other; i++) {
		struct hk_slot slot;
		other = hk_slot_read(object, &object->plt, i, &slot);
		for (size_t k = 0; k < sizeof(of_start) / sizeof(of_start[0]) && other; k++) {
			other = strcmp(slot.function, of_start[k]) != 0;
		}
	}
	return other;
}

bool hk_slot_is_compared(const struct hk_object *object, const struct hk_slot *slot, bool own,
			 bool described)
{
	return slot->kind == HK_SLOT_GOT && (own || (!described && hk_slot_calls(object)));
}

#if defined(__x86_64__)
/* Returns whether CODE is the part of a lazy PLT entry that pushes the relocation's number, which
 * is the content of a slot before its first call. */
static bool is_stub(const struct hk_object *object, uintptr_t code, uint32_t order)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t bytes[9];
	if (!hk_object_executes(object, code) || !hk_object_holds(object, code, sizeof(bytes))) {
		return false;
	}
	memcpy(bytes, (const void *)code, sizeof(bytes));
	const uint8_t *push = memcmp(bytes, endbr64, sizeof(endbr64)) == 0 ? bytes + 4 : bytes;
	uint32_t pushed;
	memcpy(&pushed, push + 1, sizeof(pushed));
	return push[0] == 0x68 && pushed == order;
}
#else
/* Returns whether CODE is the first entry of a PLT, to which every slot of the object leads before
 * its first call. It begins by saving x16 and x30, as no function does. */
static bool is_stub(const struct hk_object *object, uintptr_t code, uint32_t order)
{
	static const uint32_t bti_c = 0xd503245f, stp_x16_x30 = 0xa9bf7bf0;
	uint32_t words[2];
	(void)order;
	if (code % sizeof(words[0]) || !hk_object_executes(object, code) ||
	    !hk_object_holds(object, code, sizeof(words))) {
		return false;
	}
	memcpy(words, (const void *)code, sizeof(words));
	return words[0] == stp_x16_x30 || (words[0] == bti_c && words[1] == stp_x16_x30);
}
#endif

enum hk_slot_value hk_slot_classify(const struct hk_object *object, const struct hk_slot *slot,
				    uintptr_t value, bool elsewhere)
{
	bool weak = ELF64_ST_BIND(slot->symbol->st_info) == STB_WEAK;
	if (!value) {
		return weak ? HK_VALUE_EMPTY : HK_VALUE_UNRELOCATED;
	}
	if (object->base && value < object->extent &&
	    hk_object_executes(object, object->base + value) &&
	    (!elsewhere || is_stub(object, object->base + value, slot->order))) {
		return HK_VALUE_UNRELOCATED;
	}
	if (!hk_object_executes(object, value)) {
		return HK_VALUE_FUNCTION;
	}
	if (slot->symbol->st_value && value == object->base + slot->symbol->st_value) {
		return slot->symbol->st_shndx == SHN_UNDEF ? HK_VALUE_OWN_PLT : HK_VALUE_FUNCTION;
	}
	if (slot->kind == HK_SLOT_PLT &&
	    (slot->symbol->st_shndx == SHN_UNDEF || is_stub(object, value, slot->order))) {
		return HK_VALUE_LAZY;
	}
	return HK_VALUE_FUNCTION;
}

bool hk_slot_writable(const void *address)
{
	/* FUTEX_WAKE_OP adds 0 to the word atomically, and reports a page that is not writable. It
	 * wakes no thread. */
	static uint32_t nobody;
	long result = hk_kernel(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
				address, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0));
	return result >= 0;
}

int hk_slot_write(const struct hk_object *object, struct hk_slot_pages *pages, void **at,
		  void *value)
{
	uintptr_t address = (uintptr_t)at;
	bool open = address >= pages->start && address < pages->end;
	if (!open && !hk_slot_writable(at)) {
		/* RELRO is opened as a whole: an object has many slots, and each change takes two
		 * system calls. */
		if (address < object->relro || address >= object->relro_end ||
		    hk_kernel(SYS_mprotect, object->relro, object->relro_end - object->relro,
			      PROT_READ | PROT_WRITE, 0, 0, 0) < 0) {
			return -EACCES;
		}
		pages->start = object->relro;
		pages->end = object->relro_end;
	}
	atomic_store_explicit((void *_Atomic *)at, value, memory_order_release);
	return 0;
}

void hk_slot_close(struct hk_slot_pages *pages)
{
	if (pages->end > pages->start) {
		hk_kernel(SYS_mprotect, pages->start, pages->end - pages->start, PROT_READ, 0, 0,
			  0);
	}
	pages->start = 0;
	pages->end = 0;
}

void *hk_slot_rearm(void **slot, void *thunk)
{
	void *_Atomic *at = (void *_Atomic *)slot;
	void *value = atomic_load_explicit(at, memory_order_acquire);
	if (value == thunk) {
		return NULL;
	}
	atomic_store_explicit(at, thunk, memory_order_release);
	return value;
}
