#include "agent/stack/walk.h"

#include <stddef.h>

#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"
#include "agent/stack/code.h"
#include "agent/stack/place.h"
#include "agent/stack/row.h"

#define CACHE_BITS 14
#define CACHE_ROWS (1u << CACHE_BITS)
#define MIX 0x9e3779b97f4a7c15ULL /* 2^64 over the golden ratio */
#define PAGE_SHIFT 12
/* The bit of a row's word that differs between HK_ROW_STACK and HK_ROW_FRAME. */
#define FRAME_BIT ((uint64_t)HK_ROW_FRAME << 8 * offsetof(struct hk_row, kind))
#define FRAME_BYTES_MOST (64ull << 20) /* a frame is smaller, or the walk is astray */

/* A row is kept with a check word, by which a reader sees whether both words belong together and to
 * the address. So threads need no lock here. */
static struct kept {
	uint64_t check, row;
} cache[CACHE_ROWS] __attribute__((aligned(32)));

/* ---- memory ---- */

static bool probe(uint64_t address)
{
	return !hk_process.sealed && hk_state_is_readable(address);
}

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
	if (!probe(address) || !probe(address + sizeof(code))) {
		return false;
	}
	for (size_t i = 0; i < sizeof(code); i++) {
		if (at[i] != code[i]) {
			return false;
		}
	}
	return true;
}

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
	struct hk_row row = {.kind = HK_ROW_UNKNOWN};
	struct hk_code code;

	if (hk_code_find(address, &code)) {
		row = hk_table_row(&code.table, address);
	}
	/* Not every C library describes where its signal handlers return to, nor does an emulator.
	 */
	if (row.kind == HK_ROW_UNKNOWN && ends_signal(address + 1)) {
		row.kind = HK_ROW_SIGNAL;
	}
	return row;
}

/* Returns the place of the row for the instruction before BEHIND. In few steps: the walk's next one
 * waits for each. Functions of equal size lie at equal distances; the second shift spreads their
 * rows over all sets of the processor's cache, which the first alone would leave to an eighth of
 * them. */
static inline size_t place_of(uint64_t behind)
{
	return (behind << 4 ^ behind << 1) & (CACHE_ROWS - 1) * sizeof(struct kept);
}

static inline struct kept *kept_at(size_t place)
{
	return (struct kept *)(void *)((char *)cache + place);
}

/* Whether PLACE has the row for ADDRESS, which *RET_WORD is then. */
static inline bool is_kept(size_t place, uint64_t address, uint64_t version, uint64_t *ret_word)
{
	uint64_t check = __atomic_load_n(&kept_at(place)->check, __ATOMIC_RELAXED);

	*ret_word = __atomic_load_n(&kept_at(place)->row, __ATOMIC_RELAXED);
	return likely(check == check_of(address, *ret_word, version));
}

static void keep(size_t place, uint64_t check, uint64_t word)
{
	__atomic_store_n(&kept_at(place)->row, word, __ATOMIC_RELAXED);
	__atomic_store_n(&kept_at(place)->check, check, __ATOMIC_RELAXED);
}

/* Returns the row for ADDRESS, which is not at FIRST, its place: the place beside it has the row
 * that was there before. With one place alone, a stack of 71 frames has two of them at the same one
 * in every seventh process, and each walk would read both rows again. */
static __attribute__((noinline)) uint64_t row_beside(size_t first, uint64_t address,
						     uint64_t version)
{
	size_t second = first ^ sizeof(struct kept);
	uint64_t word;

	if (!is_kept(second, address, version, &word)) {
		keep(second, __atomic_load_n(&kept_at(first)->check, __ATOMIC_RELAXED),
		     __atomic_load_n(&kept_at(first)->row, __ATOMIC_RELAXED));
		word = word_of(find_row(address));
		keep(first, check_of(address, word, version), word);
	}
	return word;
}

static inline uint64_t word_at(uint64_t address, uint64_t version)
{
	size_t place = place_of(address + 1);
	uint64_t word;

	return is_kept(place, address, version, &word) ? word : row_beside(place, address, version);
}

/* ---- the stack's pages ---- */

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

/* Whether the page of ADDRESS was read before. */
static inline bool is_known(const struct hk_thread_walk *walk, uint64_t address)
{
	uint64_t page = (address >> PAGE_SHIFT) - walk->first_page;

	return page < HK_WALK_PAGES && walk->readable[page / 64] >> page % 64 & 1;
}

static void note_page(struct hk_thread_walk *walk, uint64_t address)
{
	uint64_t page = (address >> PAGE_SHIFT) - walk->first_page;

	if (page < HK_WALK_PAGES) {
		walk->readable[page / 64] |= 1ull << page % 64;
	}
}

/* Reads the word at ADDRESS. Returns false if that is impossible. */
static bool read_word(struct hk_thread_walk *walk, uint64_t address, uint64_t *ret_word)
{
	if (address % sizeof(uint64_t)) {
		return false;
	}
	if (!is_known(walk, address)) {
		if (!probe(address)) {
			return false;
		}
		note_page(walk, address);
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

/* Functions save x29 and x30 as a pair, mostly at the end of their frame. */
#define USUAL_RA (-1)

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

#define USUAL_RA (-1) /* the word below the frame's end: where a call puts it */

static uint64_t without_signature(uint64_t address)
{
	return address;
}
#endif

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

/* Reads what the base register held in the frame whose address is at INDEX: the next inner frame
 * that saved it has it. */
static bool read_base(struct hk_thread_walk *walk, uint32_t index, uint64_t *ret_base)
{
	while (index-- > 0) {
		uint64_t address = walk->address[index];
		struct hk_base base = {.state = HK_BASE_OTHER};
		struct hk_code code;
		if (hk_code_find(address, &code)) {
			base = hk_table_base(&code.table, address);
		}
		if (base.state != HK_BASE_UNCHANGED) {
			return base.state == HK_BASE_SAVED &&
			       read_word(walk, walk->frame_end[index] + (uint64_t)base.offset,
					 ret_base);
		}
	}
	return false;
}

/* Returns ROW, of the frame whose address is at INDEX and which ends at a distance from the base
 * register, with the distance from the stack pointer instead. */
static struct hk_row without_base(struct hk_thread_walk *walk, const struct hk_frame *frame,
				  struct hk_row row, uint32_t index)
{
	const struct hk_row complex = {.kind = HK_ROW_COMPLEX};
	uint64_t base = 0;

	if (!read_base(walk, index, &base)) {
		return complex;
	}
	uint64_t cfa = base + (uint64_t)(int64_t)row.cfa, size = cfa - frame->sp;
	if (size > FRAME_BYTES_MOST) {
		return complex;
	}
	if (row.kind == HK_ROW_BASE_FRAME) {
		int64_t words = (int64_t)(frame->fp - cfa) / 8 + row.fp;
		if ((frame->fp - cfa) % 8 || words <= INT16_MIN || words > INT16_MAX) {
			return complex;
		}
		row.fp = (int16_t)words;
	}
	row.cfa = (int32_t)size;
	row.kind = HK_ROW_STACK;
	return row;
}

static bool find_cfa(struct hk_thread_walk *walk, const struct hk_frame *frame, struct hk_row row,
		     uint64_t *ret_cfa)
{
	uint64_t offset = (uint64_t)(int64_t)row.cfa;

	if (row.kind == HK_ROW_KEPT) {
		uint64_t kept = 0;
		bool read = read_word(walk, frame->sp + offset, &kept);
		*ret_cfa = kept + 8;
		return read;
	}
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
	case HK_ROW_KEPT:
		return leave_frame(walk, frame, row);
	case HK_ROW_SIGNAL:
		return leave_signal(walk, frame);
	case HK_ROW_UNKNOWN:
		return leave_unknown(walk, frame);
	default:
		return HK_WALK_COMPLEX;
	}
}

/* Adds ADDRESS to the walk's HASH. */
static inline uint64_t hash_of(uint64_t hash, uint64_t address)
{
	hash = (hash ^ address) * MIX;
	return hash ^ hash >> 32;
}

/* What a walk has so far. */
struct progress {
	struct hk_frame frame; /* next */
	uint64_t version, hash;
	uint32_t count;
	enum hk_walk_end end;
};

static inline struct hk_row note(struct hk_thread_walk *walk, struct progress *progress,
				 uint64_t address)
{
	walk->address[progress->count++] = address;
	progress->hash = hash_of(progress->hash, address);
	return row_of(word_at(address, progress->version));
}

/* Walks over frames of the usual kind, all of whose words lie on pages that were read before. Ends
 * before the first other one. */
static void walk_usual(struct hk_thread_walk *walk, struct progress *progress)
{
	uint64_t pc = progress->frame.pc, sp = progress->frame.sp, fp = progress->frame.fp;
	uint64_t version = progress->version, hash = progress->hash, page = 0;
	uint32_t count = progress->count;

	while (pc && count < HK_WALK_FRAMES) {
		uint64_t word = word_at(pc - 1, version);
		struct hk_row row = row_of(word);
		if (row.ra != USUAL_RA || (row.kind != HK_ROW_STACK && row.kind != HK_ROW_FRAME)) {
			break;
		}
		/* One bit tells the two kinds apart: a shorter way to the next row than the byte.
		 */
		uint64_t cfa = (word & FRAME_BIT ? fp : sp) + (uint64_t)(int64_t)row.cfa;
		const uint64_t *end = (const uint64_t *)cfa;
		if (cfa - sp - 1 >= FRAME_BYTES_MOST || cfa % sizeof(uint64_t)) {
			break;
		}
		if ((uint64_t)(end + USUAL_RA) >> PAGE_SHIFT != page) {
			if (!is_known(walk, (uint64_t)(end + USUAL_RA))) {
				break;
			}
			page = (uint64_t)(end + USUAL_RA) >> PAGE_SHIFT;
		}
		if (row.fp != HK_ROW_UNCHANGED) {
			if ((uint64_t)(end + row.fp) >> PAGE_SHIFT != page &&
			    !is_known(walk, (uint64_t)(end + row.fp))) {
				break;
			}
			fp = end[row.fp];
		}
		walk->address[count] = pc - 1;
		walk->frame_end[count++] = cfa;
		hash = hash_of(hash, pc - 1);
		pc = hk_place_caller(without_signature(end[USUAL_RA]));
		sp = cfa;
	}
	progress->frame = (struct hk_frame){.pc = pc, .sp = sp, .fp = fp};
	progress->hash = hash;
	progress->count = count;
}

/* Walks over one frame of any kind. */
static void walk_any(struct hk_thread_walk *walk, struct progress *progress)
{
	struct hk_frame *frame = &progress->frame;
	struct hk_row row = note(walk, progress, frame->exact ? frame->pc : frame->pc - 1);

	if (row.kind == HK_ROW_OUTERMOST) {
		frame->pc = 0;
	} else {
		if (row.kind == HK_ROW_BASE || row.kind == HK_ROW_BASE_FRAME) {
			row = without_base(walk, frame, row, progress->count - 1);
		}
		progress->end = leave(walk, frame, row);
	}
	walk->frame_end[progress->count - 1] = frame->sp;
	walk->interrupted = walk->interrupted || row.kind == HK_ROW_SIGNAL;
}

void hk_walk_take(struct hk_frame frame, struct hk_thread_walk *walk)
{
	uint64_t version = hk_code_version();
	struct progress progress = {
	    .frame = frame, .version = version, .hash = version, .end = HK_WALK_WHOLE};

	place_window(walk, frame.sp);
	walk->start = frame.sp;
	walk->interrupted = false;
	while (progress.end == HK_WALK_WHOLE && progress.frame.pc) {
		if (!progress.frame.exact) {
			walk_usual(walk, &progress);
		}
		if (progress.count == HK_WALK_FRAMES) {
			progress.end = HK_WALK_DEEP;
		} else if (progress.frame.pc) {
			walk_any(walk, &progress);
		}
	}
	bool sealed = hk_process.sealed && progress.end == HK_WALK_ASTRAY;
	walk->end = sealed ? HK_WALK_NO_CALLS : progress.end;
	walk->count = progress.count;
	walk->hash = progress.hash ^ progress.end;
}
