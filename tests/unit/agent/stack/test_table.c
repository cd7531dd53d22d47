/* Unwind tables of an object made by hand: index and entries lie in segments of their own, each
 * before a page that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "agent/stack/code.h"

#define PAGE 4096u
#define DAMAGES 200000
#define CODE_BYTES 64u
#if defined(__x86_64__)
#define RETURN_COLUMN 16
#define STACK_COLUMN 7
#else
#define RETURN_COLUMN 30
#define STACK_COLUMN 31
#endif

enum { CODE, INDEX, ENTRIES, SEGMENTS };

static uint8_t *room; /* of each segment a page, with an unreadable one behind */
static ElfW(Phdr) phdr[SEGMENTS + 1];
static uint8_t *index_at, *entries_at;

/* Size of .eh_frame_hdr and of the CIE and FDE with their instructions. */
#define INDEX_BYTES 20u
#define ENTRIES_BYTES 52u

static void put(uint8_t **at, const void *bytes, size_t count)
{
	memcpy(*at, bytes, count);
	*at += count;
}

static void put_word(uint8_t **at, int64_t word)
{
	int32_t value = (int32_t)word;
	put(at, &value, sizeof(value));
}

/* Offset 16 from the stack pointer, and 48 from the 8th byte of code on. */
static void write_entries(void)
{
	uint8_t *at = entries_at;
	const uint8_t cie[] = {1,
			       'z',
			       'R',
			       0,
			       1,
			       0x78,
			       RETURN_COLUMN,
			       1,
			       0x1b,
			       0x0c,
			       STACK_COLUMN,
			       16,
			       0x80 | RETURN_COLUMN,
			       1,
			       0,
			       0};
	const uint8_t own[] = {0, 0x48, 0x0e, 48, 0, 0, 0, 0, 0, 0, 0, 0};

	put_word(&at, 4 + sizeof(cie));
	put_word(&at, 0);
	put(&at, cie, sizeof(cie));
	uint8_t *fde = at;
	put_word(&at, 12 + sizeof(own));
	put_word(&at, fde + 4 - entries_at);
	put_word(&at, room - at);
	put_word(&at, CODE_BYTES);
	put(&at, own, sizeof(own));
	assert_int_equal(at - entries_at, ENTRIES_BYTES);

	at = index_at;
	put(&at, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	put_word(&at, entries_at - at);
	put_word(&at, 1);
	put_word(&at, room - index_at);
	put_word(&at, fde - index_at);
	assert_int_equal(at - index_at, INDEX_BYTES);
}

static struct hk_row row_at(uint32_t offset)
{
	struct hk_object object = {
	    .base = (uintptr_t)room, .phdr = phdr, .phdr_count = SEGMENTS + 1};
	struct hk_code code;
	uintptr_t address = (uintptr_t)room + offset;

	hk_code_forget((struct hk_span){(uintptr_t)room, (uintptr_t)room + CODE_BYTES});
	assert_true(hk_code_add(&object, "made"));
	assert_true(hk_code_find(address, &code));
	hk_table_base(&code.table, address);
	return hk_table_row(&code.table, address);
}

static void describe(size_t index, uint32_t type, uint32_t flags, const uint8_t *at, size_t bytes)
{
	phdr[index] = (ElfW(Phdr)){
	    .p_type = type, .p_flags = flags, .p_vaddr = (uintptr_t)(at - room), .p_memsz = bytes};
}

static int set_up(void **state)
{
	(void)state;
	room =
	    mmap(NULL, (size_t)2 * SEGMENTS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < SEGMENTS; i++) {
		mprotect(room + 2 * i * PAGE, PAGE, PROT_READ | PROT_WRITE);
	}
	index_at = room + (2 * INDEX + 1) * PAGE - INDEX_BYTES;
	entries_at = room + (2 * ENTRIES + 1) * PAGE - ENTRIES_BYTES;
	describe(CODE, PT_LOAD, PF_R | PF_X, room, CODE_BYTES);
	describe(INDEX, PT_LOAD, PF_R, index_at, INDEX_BYTES);
	describe(ENTRIES, PT_LOAD, PF_R | PF_W, entries_at, ENTRIES_BYTES);
	describe(SEGMENTS, PT_GNU_EH_FRAME, PF_R, index_at, INDEX_BYTES);
	return 0;
}

/* As in libnvrtc.so, whose .eh_frame is writable. */
static void test_entries_in_another_segment(void **state)
{
	(void)state;
	write_entries();
	assert_int_equal(row_at(0).kind, HK_ROW_STACK);
	assert_int_equal(row_at(0).cfa, 16);
	assert_int_equal(row_at(7).cfa, 16);
	assert_int_equal(row_at(8).cfa, 48);
	assert_int_equal(row_at(CODE_BYTES - 1).ra, -1);
}

static void test_entries_outside_of_the_object(void **state)
{
	int32_t far = -(1 << 30);

	(void)state;
	write_entries();
	memcpy(index_at + 4, &far, sizeof(far));
	assert_int_equal(row_at(0).kind, HK_ROW_UNKNOWN);
	write_entries();
	memcpy(index_at + 16, &far, sizeof(far));
	assert_int_equal(row_at(0).kind, HK_ROW_UNKNOWN);
}

/* Whatever the bytes are, nothing outside of the two segments is read. */
static void test_damage(void **state)
{
	uint64_t seed = 1;
	uint32_t kinds[16] = {0};

	(void)state;
	for (int i = 0; i < DAMAGES; i++) {
		write_entries();
		for (int changes = 1 + i % 4; changes > 0; changes--) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint32_t at = (uint32_t)(seed >> 33) % (INDEX_BYTES + ENTRIES_BYTES);
			uint8_t *byte =
			    at < INDEX_BYTES ? index_at + at : entries_at + at - INDEX_BYTES;
			*byte = (uint8_t)(seed >> 25);
		}
		kinds[row_at((uint32_t)i % CODE_BYTES).kind]++;
	}
	assert_true(kinds[HK_ROW_UNKNOWN] && kinds[HK_ROW_STACK] && kinds[HK_ROW_COMPLEX]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_entries_in_another_segment),
	    cmocka_unit_test(test_entries_outside_of_the_object),
	    cmocka_unit_test(test_damage),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
