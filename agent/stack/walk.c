#include "agent/stack/walk.h"

#include <stddef.h>

#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "agent/stack/code.h"
#include "agent/stack/place.h"
#include "agent/stack/row.h"

#define CACHE_BITS 14
#define CACHE_ROWS (1u << CACHE_BITS)
#define MIX 0x9e3779b97f4a7c15ULL /* 2^64 over the golden ratio */
#define PAGE_SHIFT 12
#define FRAME_BYTES_MOST (64ull << 20) /* a frame is smaller, or the walk is astray */

/* A row is kept with a check word, by which a reader sees whether both words belong together and to
 * the address. So threads need no lock here. */
static struct kept {
	uint64_t check, row;
} cache[CACHE_ROWS];

/* ---- rows ---- */

static uint64_t word_of(struct hk_row row)
{
	uint64_t word;
	__builtin_memcpy(&word, &row, sizeof(word));
	return word;
}

static struct hk_row row_of(uint64_t word)
{
	struct hk_row row;
	__builtin_memcpy(&row, &word, sizeof(row));
	return row;
}

static uint64_t check_of(uint64_t address, uint64_t word, uint64_t version)
{
	return address ^ (word * MIX) ^ (version << 48);
}

static struct hk_row find_row(uint64_t address)
{
	struct hk_code code;

	return hk_code_find(address, &code) ? hk_table_row(&code.table, address)
					    : (struct hk_row){.kind = HK_ROW_UNKNOWN};
}

static struct hk_row row_at(uint64_t address, uint64_t version)
{
	struct kept *kept = &cache[address * MIX >> (64 - CACHE_BITS)];
	uint64_t check = __atomic_load_n(&kept->check, __ATOMIC_RELAXED);
	uint64_t word = __atomic_load_n(&kept->row, __ATOMIC_RELAXED);

	if (check != check_of(address, word, version)) {
		word = word_of(find_row(address));
		__atomic_store_n(&kept->row, word, __ATOMIC_RELAXED);
		__atomic_store_n(&kept->check, check_of(address, word, version), __ATOMIC_RELAXED);
	}
	return row_of(word);
}

/* ---- the stack's pages ---- */

static bool probe(uint64_t address)
{
	return !hk_process.sealed && hk_state_is_readable(address);
}

/* Moves the window if it begins above the walk, or too far below for the frames to lie in it. Pages
 * of an older stack at the same place may be gone, so nothing is known of a window that moved. */
static void place_window(struct hk_thread_walk *walk, uint64_t sp)
{
	uint64_t page = sp >> PAGE_SHIFT;

	if (page - walk->first_page < HK_WALK_PAGES / 2) {
		return;
	}
	walk->first_page = page > HK_WALK_PAGES / 4 ? page - HK_WALK_PAGES / 4 : 0;
	for (size_t i = 0; i < HK_WALK_PAGES / 64; i++) {
		walk->readable[i] = 0;
	}
}

/* Reads the word at ADDRESS. Returns false if that is impossible. */
static bool read_word(struct hk_thread_walk *walk, uint64_t address, uint64_t *ret_word)
{
	uint64_t page = (address >> PAGE_SHIFT) - walk->first_page;

	if (address % sizeof(uint64_t)) {
		return false;
	}
	if (page >= HK_WALK_PAGES || !(walk->readable[page / 64] >> page % 64 & 1)) {
		if (!probe(address)) {
			return false;
		}
		if (page < HK_WALK_PAGES) {
			walk->readable[page / 64] |= 1ull << page % 64;
		}
	}
	*ret_word = *(const uint64_t *)address;
	return true;
}

/* ---- from a frame to its caller ---- */

#if defined(__aarch64__)
/* Bytes of the frame that the kernel made for a signal: of the interrupted registers x29, sp, pc
 * and x30, behind 128 bytes of siginfo_t and 168 of ucontext_t, aligned to 16, and an address. */
#define SIGNAL_REGISTERS (128 + 176 + 8)
#define SIGNAL_FP (SIGNAL_REGISTERS + 29 * 8)
#define SIGNAL_LINK (SIGNAL_REGISTERS + 30 * 8)
#define SIGNAL_SP (SIGNAL_REGISTERS + 31 * 8)
#define SIGNAL_PC (SIGNAL_REGISTERS + 32 * 8)

static uint64_t without_signature(uint64_t address)
{
	register uint64_t link __asm__("x30") = address;
	__asm__("hint #7" : "+r"(link)); /* xpaclri: nothing where there are no signatures */
	return link;
}
#else
/* Of the ucontext_t at the stack pointer: RBP, RSP and RIP behind 40 bytes. */
#define SIGNAL_FP (40 + 10 * 8)
#define SIGNAL_SP (40 + 15 * 8)
#define SIGNAL_PC (40 + 16 * 8)

static uint64_t without_signature(uint64_t address)
{
	return address;
}
#endif

/* Whether the code at ADDRESS ends a signal handler by a system call. Others mark their frames in
 * the same way. */
static bool ends_signal(uint64_t address)
{
#if defined(__aarch64__)
	static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
#else
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
#endif
	const uint8_t *at = (const uint8_t *)address;
	for (size_t i = 0; i < sizeof(code); i++) {
		if (at[i] != code[i]) {
			return false;
		}
	}
	return true;
}

static enum hk_walk_end leave_signal(struct hk_thread_walk *walk, struct hk_frame *frame)
{
	uint64_t at = frame->sp;

	if (!ends_signal(frame->pc)) {
		return HK_WALK_COMPLEX;
	}
	if (!read_word(walk, at + SIGNAL_FP, &frame->fp) ||
	    !read_word(walk, at + SIGNAL_SP, &frame->sp) ||
	    !read_word(walk, at + SIGNAL_PC, &frame->pc)) {
		return HK_WALK_ASTRAY;
	}
#if defined(__aarch64__)
	if (!read_word(walk, at + SIGNAL_LINK, &frame->link)) {
		return HK_WALK_ASTRAY;
	}
#endif
	frame->exact = true;
	return HK_WALK_WHOLE;
}

static bool find_cfa(struct hk_thread_walk *walk, const struct hk_frame *frame, struct hk_row row,
		     uint64_t *ret_cfa)
{
	uint64_t offset = (uint64_t)(int64_t)row.cfa;

	if (row.kind == HK_ROW_REALIGNED) {
		return read_word(walk, frame->fp + offset, ret_cfa);
	}
	*ret_cfa = (row.kind == HK_ROW_FRAME ? frame->fp : frame->sp) + offset;
	return true;
}

static enum hk_walk_end leave_frame(struct hk_thread_walk *walk, struct hk_frame *frame,
				    struct hk_row row)
{
	uint64_t cfa, fp = frame->fp, pc = frame->link;

	/* Frames lie above each other; one without stack of its own may keep its address once. */
	if (!find_cfa(walk, frame, row, &cfa) || cfa < frame->sp ||
	    cfa - frame->sp > FRAME_BYTES_MOST || (cfa == frame->sp && !frame->exact)) {
		return HK_WALK_ASTRAY;
	}
	uint64_t saved = row.kind == HK_ROW_REALIGNED ? fp : cfa;
	saved += (uint64_t)((int64_t)row.fp * 8);
	if (row.ra != HK_ROW_IN_REGISTER &&
	    !read_word(walk, cfa + (uint64_t)((int64_t)row.ra * 8), &pc)) {
		return HK_WALK_ASTRAY;
	}
	if (row.fp != HK_ROW_UNCHANGED && !read_word(walk, saved, &fp)) {
		return HK_WALK_ASTRAY;
	}
	*frame = (struct hk_frame){hk_place_caller(without_signature(pc)), cfa, fp, 0, false};
	return HK_WALK_WHOLE;
}

/* Code without unwind information may keep a frame pointer, as that of just-in-time compilers does.
 * What lies there counts as a frame if its caller is known code, or if the caller's frame pointer
 * is higher. */
static enum hk_walk_end leave_unknown(struct hk_thread_walk *walk, struct hk_frame *frame)
{
	uint64_t fp, pc;
	struct hk_code code;

	if (frame->fp < frame->sp || frame->fp - frame->sp > FRAME_BYTES_MOST ||
	    !read_word(walk, frame->fp, &fp) || !read_word(walk, frame->fp + 8, &pc)) {
		return HK_WALK_UNKNOWN;
	}
	pc = hk_place_caller(without_signature(pc));
	if (!hk_code_find(pc, &code) && fp <= frame->fp) {
		return HK_WALK_UNKNOWN;
	}
	*frame = (struct hk_frame){pc, frame->fp + 16, fp, 0, false};
	return HK_WALK_WHOLE;
}

static enum hk_walk_end leave(struct hk_thread_walk *walk, struct hk_frame *frame,
			      struct hk_row row)
{
	switch (row.kind) {
	case HK_ROW_STACK:
	case HK_ROW_FRAME:
	case HK_ROW_REALIGNED:
		return leave_frame(walk, frame, row);
	case HK_ROW_SIGNAL:
		return leave_signal(walk, frame);
	case HK_ROW_UNKNOWN:
		return leave_unknown(walk, frame);
	default:
		return HK_WALK_COMPLEX;
	}
}

void hk_walk_take(struct hk_frame frame, struct hk_thread_walk *walk)
{
	uint64_t version = hk_code_version(), hash = version;
	uint32_t count = 0;
	enum hk_walk_end end = HK_WALK_WHOLE;

	place_window(walk, frame.sp);
	while (end == HK_WALK_WHOLE && frame.pc) {
		if (count == HK_WALK_FRAMES) {
			end = HK_WALK_DEEP;
			break;
		}
		uint64_t address = frame.exact ? frame.pc : frame.pc - 1;
		struct hk_row row = row_at(address, version);
		walk->address[count++] = address;
		hash = (hash ^ address) * MIX;
		hash ^= hash >> 32;
		if (row.kind == HK_ROW_OUTERMOST) {
			break;
		}
		end = leave(walk, &frame, row);
	}
	walk->end = hk_process.sealed && end == HK_WALK_ASTRAY ? HK_WALK_NO_CALLS : end;
	walk->count = count;
	walk->hash = hash ^ end;
}
