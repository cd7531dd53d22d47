/* What slots of a made-up object hold, and writing to pages that are closed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/object/slot.h"

/* An object of two pages: code with one lazy PLT entry, and data. */
struct image {
	uint8_t *base;
	size_t page;
	ElfW(Phdr) phdr[2];
	struct hk_object object;
};

static struct image image;
#define PLT_ENTRY 0x40u

static int setup(void **state)
{
	(void)state;
	image.page = (size_t)sysconf(_SC_PAGESIZE);
	image.base =
	    mmap(NULL, 3 * image.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image.base == MAP_FAILED) {
		return -1;
	}
	static const uint8_t push_7[] = {0x68, 7, 0, 0, 0, 0xe9, 0, 0, 0, 0};
	memcpy(image.base + PLT_ENTRY, push_7, sizeof(push_7));
	image.phdr[0] =
	    (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = image.page};
	image.phdr[1] = (ElfW(Phdr)){.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_W,
				     .p_vaddr = image.page,
				     .p_memsz = 2 * image.page};
	image.object = (struct hk_object){.base = (uintptr_t)image.base,
					  .name = "image",
					  .phdr = image.phdr,
					  .phdr_count = 2,
					  .extent = 3 * image.page,
					  .relro = (uintptr_t)image.base + image.page,
					  .relro_end = (uintptr_t)image.base + 2 * image.page};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(image.base, 3 * image.page);
}

static enum hk_slot_value classify(enum hk_slot_kind kind, ElfW(Sym) symbol, uint32_t order,
				   uintptr_t value, bool elsewhere)
{
	const struct hk_slot slot = {.symbol = &symbol, .order = order, .kind = kind};
	return hk_slot_classify(&image.object, &slot, value, elsewhere);
}

static void test_values_are_told_apart(void **state)
{
	(void)state;
	uintptr_t base = (uintptr_t)image.base;
	ElfW(Sym) undefined = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
	ElfW(Sym) weak = {.st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC)};
	ElfW(Sym) canonical = undefined;
	canonical.st_value = 0x80;
	ElfW(Sym) own = canonical;
	own.st_shndx = 5;
	uintptr_t far = (uintptr_t)&classify;

	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, far, true), HK_VALUE_FUNCTION);
	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, base + PLT_ENTRY, false),
			 HK_VALUE_LAZY);
	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, PLT_ENTRY, false),
			 HK_VALUE_UNRELOCATED);
	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, 0, false), HK_VALUE_UNRELOCATED);
	assert_int_equal(classify(HK_SLOT_GOT, weak, 0, 0, false), HK_VALUE_EMPTY);
	assert_int_equal(classify(HK_SLOT_GOT, undefined, 0, 0, false), HK_VALUE_UNRELOCATED);
	assert_int_equal(classify(HK_SLOT_GOT, canonical, 0, base + 0x80, false), HK_VALUE_OWN_PLT);
	/* A call of the object to its own function: by its value, or still by its stub. */
	assert_int_equal(classify(HK_SLOT_PLT, own, 7, base + 0x80, false), HK_VALUE_FUNCTION);
#if defined(__x86_64__)
	assert_int_equal(classify(HK_SLOT_PLT, own, 7, base + PLT_ENTRY, false), HK_VALUE_LAZY);
	assert_int_equal(classify(HK_SLOT_PLT, own, 8, base + PLT_ENTRY, false), HK_VALUE_FUNCTION);
	/* A file offset that by chance is an address of the program: the stub it would be decides.
	 */
	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, PLT_ENTRY, true),
			 HK_VALUE_UNRELOCATED);
	assert_int_equal(classify(HK_SLOT_PLT, undefined, 7, 0x200, true), HK_VALUE_FUNCTION);
#endif
}

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#define WORD R_X86_64_64
#else
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT R_AARCH64_GLOB_DAT
#define WORD R_AARCH64_ABS64
#endif

static void test_tables_are_read_only_as_such(void **state)
{
	(void)state;
	ElfW(Sym) symbols[] = {{0},
			       {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)},
			       {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)}};
	struct hk_object object = image.object;
	object.symbols = symbols;
	object.symbol_room = 3;
	object.strings = "\0f";
	object.string_bytes = 3;
	const size_t at = image.page;
	const ElfW(Rela) entries[] = {
	    {.r_offset = at, .r_info = ELF64_R_INFO(1, JUMP_SLOT)},
	    {.r_offset = at, .r_info = ELF64_R_INFO(1, GLOB_DAT)},
	    {.r_offset = at, .r_info = ELF64_R_INFO(1, WORD)},
	    {.r_offset = at, .r_info = ELF64_R_INFO(2, WORD)},		      /* data */
	    {.r_offset = at, .r_info = ELF64_R_INFO(1, WORD), .r_addend = 8}, /* into it */
	    {.r_offset = at + 4, .r_info = ELF64_R_INFO(1, WORD)},	      /* packed */
	};
	static const enum hk_slot_kind wanted[] = {HK_SLOT_PLT, HK_SLOT_GOT, HK_SLOT_TABLE};
	const struct hk_relocations table = {entries, sizeof(entries) / sizeof(entries[0])};
	for (size_t i = 0; i < table.count; i++) {
		struct hk_slot slot = {.kind = HK_SLOT_NONE};
		assert_int_equal(hk_slot_read(&object, &table, i, &slot), i < 2);
		assert_int_equal(hk_slot_read_table(&object, &table, i, &slot), i == 2);
		assert_int_equal(slot.kind, i < 3 ? wanted[i] : HK_SLOT_NONE);
	}
}

static bool readable_only(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	char line[512];
	bool result = false;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end;
		char mode[5];
		if (sscanf(line, "%lx-%lx %4s", &start, &end, mode) == 3 && start <= address &&
		    address < end) {
			result = strcmp(mode, "r--p") == 0;
		}
	}
	fclose(maps);
	return result;
}

static void test_closed_pages_are_opened_and_closed_again(void **state)
{
	(void)state;
	uint8_t *relro = image.base + image.page;
	void **first = (void **)(relro + 16);
	void **last = (void **)(relro + image.page - 8);
	void **open = (void **)(relro + image.page);
	*first = (void *)1;
	assert_true(hk_slot_writable(first));
	assert_ptr_equal(*first, (void *)1);
	assert_int_equal(mprotect(relro, image.page, PROT_READ), 0);
	assert_false(hk_slot_writable(first));

	struct hk_slot_pages pages = {0, 0};
	assert_int_equal(hk_slot_write(&image.object, &pages, open, (void *)5), 0);
	assert_int_equal(pages.end, 0); /* nothing had to be opened */
	assert_true(readable_only((uintptr_t)first));
	assert_int_equal(hk_slot_write(&image.object, &pages, first, (void *)2), 0);
	assert_int_equal(hk_slot_write(&image.object, &pages, last, (void *)3), 0);
	hk_slot_close(&pages);
	assert_ptr_equal(*first, (void *)2);
	assert_ptr_equal(*last, (void *)3);
	assert_ptr_equal(*open, (void *)5);
	assert_true(readable_only((uintptr_t)first));
	assert_false(readable_only((uintptr_t)open));
}

static void test_pages_outside_relro_are_left_closed(void **state)
{
	(void)state;
	struct hk_slot_pages pages = {0, 0};
	uint8_t *data = image.base + 2 * image.page;
	assert_int_equal(mprotect(data, image.page, PROT_READ), 0);
	assert_int_equal(hk_slot_write(&image.object, &pages, (void **)data, (void *)1), -EACCES);
	assert_int_equal(mprotect(data, image.page, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values_are_told_apart),
	    cmocka_unit_test(test_tables_are_read_only_as_such),
	    cmocka_unit_test(test_closed_pages_are_opened_and_closed_again),
	    cmocka_unit_test(test_pages_outside_relro_are_left_closed),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
