#include "agent/stack/python.h"

#include <stddef.h>

#include "agent/frame/hot.h"
#include "agent/frame/state.h"
#include "agent/record/process.h"

#define MIX 0x9e3779b97f4a7c15ULL /* 2^64 over the golden ratio */
#define MIX_PLACE 0xff51afd7ed558ccdULL
#define MIX_NAME 0xc4ceb9fe1a85ec53ULL
#define PAGE_SHIFT 12
#define PAGES_BITS 11
#define PAGES (1u << PAGES_BITS)

enum owner { OWNER_C_STACK = 3 };

/* ---- memory ---- */

/* Pages that could be read once: pairs by a hash of their number, plus 1; 0: none. Any thread
 * writes them. */
static uint64_t known_pages[PAGES][2];

static __attribute__((noinline)) bool learn_page(uint64_t page, uint64_t known[2])
{
	if (hk_process.sealed || !hk_state_is_readable(page << PAGE_SHIFT)) {
		return false;
	}
	__atomic_store_n(&known[1], __atomic_load_n(&known[0], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&known[0], page + 1, __ATOMIC_RELAXED);
	return true;
}

static inline bool is_readable(uint64_t address, bool trust)
{
	uint64_t page = address >> PAGE_SHIFT;
	uint64_t *known = known_pages[(page ^ page >> PAGES_BITS) % PAGES];

	if (likely(trust) && likely(__atomic_load_n(&known[0], __ATOMIC_RELAXED) == page + 1 ||
				    __atomic_load_n(&known[1], __ATOMIC_RELAXED) == page + 1)) {
		return true;
	}
	return learn_page(page, known);
}

static inline bool may_read(uint64_t address, uint64_t bytes, bool trust)
{
	return is_readable(address, trust) &&
	       ((address + bytes - 1) >> PAGE_SHIFT == address >> PAGE_SHIFT ||
		is_readable(address + bytes - 1, trust));
}

/* As may_read(). *LAST is the page that the last call found readable, plus 1. */
static inline bool may_read_again(uint64_t address, uint64_t bytes, bool trust, uint64_t *last)
{
	uint64_t page = address >> PAGE_SHIFT;

	if (likely(page + 1 == *last) && likely((address + bytes - 1) >> PAGE_SHIFT == page)) {
		return true;
	}
	if (!may_read(address, bytes, trust)) {
		return false;
	}
	*last = trust ? page + 1 : 0;
	return true;
}

bool hk_python_may_read(uint64_t address, uint64_t bytes, enum hk_python_care care)
{
	uint64_t last = address + bytes - 1;

	for (uint64_t at = address; at <= last && at >= address;
	     at = ((at >> PAGE_SHIFT) + 1) << PAGE_SHIFT) {
		if (!is_readable(at, care == HK_PYTHON_USUAL)) {
			return false;
		}
	}
	return bytes > 0 && last >= address;
}

static inline uint64_t word_at(uint64_t address)
{
	uint64_t word;
	__builtin_memcpy(&word, (const void *)address, sizeof(word));
	return word;
}

static inline uint32_t half_at(uint64_t address)
{
	uint32_t half;
	__builtin_memcpy(&half, (const void *)address, sizeof(half));
	return half;
}

static inline uint8_t byte_at(uint64_t address)
{
	return *(const uint8_t *)address;
}

/* ---- the thread ---- */

/* Returns whether state THREAD has a frame, or an evaluation. */
static bool has_frames(const struct hk_python_layout *layout, uint64_t thread)
{
	uint64_t at = thread + layout->thread_frame;

	if (!may_read(at, sizeof(at), false)) {
		return false;
	}
	uint64_t frame = word_at(at);
	if (!layout->entry_previous) {
		return frame;
	}
	return may_read(frame, layout->entry_previous + sizeof(frame), false) &&
	       (word_at(frame + layout->entry_frame) || word_at(frame + layout->entry_previous));
}

/* Returns the state of the calling thread in the interpreter that it runs, or 0. A thread that
 * released the GIL of a sub-interpreter before 3.12 is known by its first state only. From 3.12 on
 * `holder` reads a variable of the thread's own, whose first use may allocate it: in a signal
 * handler it is asked only for threads that have used it. */
static uint64_t thread_of(const struct hk_interpreter *interpreter, enum hk_python_care care)
{
	const struct hk_python_layout *layout = &interpreter->layout;
	uint32_t inside = hk_in_agent;

	hk_in_agent = 2;
	uint64_t own = (uint64_t)interpreter->thread();
	bool unused = own && care == HK_PYTHON_SIGNAL && layout->version >= 0x030c &&
		      !has_frames(layout, own);
	own = unused ? 0 : own;
	uint64_t holder = own ? (uint64_t)interpreter->holder() : 0;
	bool ends = own != holder && interpreter->ends();
	hk_in_agent = inside;
	if (own == holder || !own) {
		return own;
	}
	/* At the interpreter's end, states of threads without the GIL are freed. */
	if (ends) {
		return 0;
	}
	if (layout->version >= 0x030c) {
		return holder ? holder : own;
	}
	bool readable = holder && may_read(own + layout->thread_id, sizeof(uint64_t), true) &&
			may_read(holder + layout->thread_id, sizeof(uint64_t), true);
	bool is_own =
	    readable && word_at(own + layout->thread_id) == word_at(holder + layout->thread_id);
	return is_own ? holder : own;
}

/* ---- frames ---- */

/* What a frame is. The walk that hashes is compiled for each of them, so that it does not test the
 * layout at every frame: 63 frames of 3.12 took 364 ns with such tests and take 220 ns without. */
enum family {
	FRAME_OBJECTS, /* up to 3.10 */
	ENTRY_FRAMES,  /* 3.11 */
	STACK_FRAMES,  /* from 3.12 on */
};

static inline enum family family_of(const struct hk_python_layout *layout)
{
	return !layout->frame_owner	? FRAME_OBJECTS
	       : layout->frame_is_entry ? ENTRY_FRAMES
					: STACK_FRAMES;
}

/* Where a walk is. */
struct cursor {
	const struct hk_interpreter *interpreter;
	uint64_t frame; /* next; 0: none */
	uint64_t entry; /* 3.11: the evaluation that runs it */
	uint64_t mark;	/* of the frame before, 0: none */
	enum hk_python_care care;
	bool without_marks;		/* where each frame has one */
	uint64_t frame_page, code_page; /* of the frame before, plus 1 */
};

static inline bool trusts(const struct cursor *cursor)
{
	return cursor->care == HK_PYTHON_USUAL;
}

static inline bool is_frame(const struct hk_interpreter *interpreter, uint64_t frame,
			    enum family family)
{
	const struct hk_python_layout *layout = &interpreter->layout;

	return family != FRAME_OBJECTS
		   ? byte_at(frame + layout->frame_owner) <= OWNER_C_STACK
		   : word_at(frame + layout->object_type) == interpreter->frame_type;
}

/* Returns whether the evaluation ENTRY runs a frame. The thread lists an evaluation a few
 * instructions before that. Until then its outermost frame is not one that the evaluation before it
 * called. */
static bool has_begun(const struct cursor *cursor, uint64_t entry)
{
	const struct hk_python_layout *layout = &cursor->interpreter->layout;
	uint64_t frame = word_at(entry + layout->entry_frame);
	uint64_t before = word_at(entry + layout->entry_previous) + layout->entry_frame;

	if (before == layout->entry_frame || !may_read(before, sizeof(before), false)) {
		return true;
	}
	for (uint32_t i = 0; i < HK_PYTHON_FRAMES; i++) {
		if (!frame || frame % sizeof(uint64_t) ||
		    !may_read(frame, layout->frame_bytes, false) ||
		    !is_frame(cursor->interpreter, frame, family_of(layout))) {
			return false;
		}
		bool outermost = layout->frame_is_entry
				     ? byte_at(frame + layout->frame_is_entry)
				     : byte_at(frame + layout->frame_owner) == OWNER_C_STACK;
		frame = word_at(frame + layout->frame_previous);
		if (outermost) {
			return frame == word_at(before);
		}
	}
	return true;
}

/* Starts CURSOR at the innermost evaluation, ENTRY. If a signal interrupted that before it began,
 * starts at the one before. */
static bool begin_entry(struct cursor *cursor, uint64_t entry)
{
	const struct hk_python_layout *layout = &cursor->interpreter->layout;
	uint64_t bytes = layout->entry_previous + sizeof(entry);

	if (!may_read(entry, bytes, trusts(cursor))) {
		return false;
	}
	if (cursor->care == HK_PYTHON_SIGNAL && !has_begun(cursor, entry)) {
		entry = word_at(entry + layout->entry_previous);
		if (!may_read(entry, bytes, false)) {
			return false;
		}
	}
	cursor->entry = entry;
	cursor->frame = word_at(entry + layout->entry_frame);
	return true;
}

static bool begin(struct cursor *cursor, enum hk_python_care care)
{
	const struct hk_interpreter *interpreter = hk_interpreter_get();

	*cursor = (struct cursor){.interpreter = interpreter, .care = care};
	uint64_t thread = interpreter ? thread_of(interpreter, care) : 0;
	if (!thread) {
		return false;
	}
	const struct hk_python_layout *layout = &interpreter->layout;
	uint64_t at = thread + layout->thread_frame;
	if (!may_read(at, sizeof(at), trusts(cursor))) {
		return false;
	}
	cursor->frame = word_at(at);
	return layout->entry_previous ? begin_entry(cursor, cursor->frame) : true;
}

/* Returns the address in a frame's native evaluation if the frame is the outermost one there. */
static inline uint64_t mark_behind(struct cursor *cursor, uint64_t frame, enum family family)
{
	const struct hk_python_layout *layout = &cursor->interpreter->layout;

	if (family == FRAME_OBJECTS) {
		return cursor->without_marks ? 0 : frame;
	}
	if (family == STACK_FRAMES || !byte_at(frame + layout->frame_is_entry)) {
		return 0;
	}
	uint64_t entry = cursor->entry, at = entry + layout->entry_previous;
	cursor->entry = may_read(at, sizeof(at), trusts(cursor)) ? word_at(at) : 0;
	return entry;
}

static inline int64_t place_in(const struct hk_python_layout *layout, uint64_t frame, uint64_t code,
			       enum family family)
{
	if (family != FRAME_OBJECTS) {
		return (int64_t)(word_at(frame + layout->frame_place) - code - layout->code_start);
	}
	int64_t place = (int32_t)half_at(frame + layout->frame_place);
	return layout->version == 0x030a ? place * 2 : place;
}

/* Sets *ret_item to the next frame or mark. Returns false at the end. */
static inline __attribute__((always_inline)) bool next(struct cursor *cursor, enum family family,
						       struct hk_python_item *ret_item)
{
	const struct hk_interpreter *interpreter = cursor->interpreter;
	const struct hk_python_layout *layout = &interpreter->layout;
	uint64_t frame = cursor->frame;

	if (cursor->mark) {
		*ret_item = (struct hk_python_item){0, (int64_t)cursor->mark};
		cursor->mark = 0;
		return true;
	}
	if (!frame || frame % sizeof(uint64_t) ||
	    !may_read_again(frame, layout->frame_bytes, trusts(cursor), &cursor->frame_page) ||
	    !is_frame(interpreter, frame, family)) {
		return false;
	}
	cursor->frame = word_at(frame + layout->frame_previous);
	if (family == STACK_FRAMES && byte_at(frame + layout->frame_owner) == OWNER_C_STACK) {
		*ret_item = (struct hk_python_item){0, (int64_t)frame};
		return true;
	}
	uint64_t code = word_at(frame + layout->frame_code);
	if (!code || code % sizeof(uint64_t) ||
	    !may_read_again(code, layout->code_bytes, trusts(cursor), &cursor->code_page) ||
	    word_at(code + layout->object_type) != interpreter->code_type) {
		return false;
	}
	*ret_item = (struct hk_python_item){code, place_in(layout, frame, code, family)};
	cursor->mark = mark_behind(cursor, frame, family);
	cursor->care = cursor->care == HK_PYTHON_FREEING ? HK_PYTHON_USUAL : cursor->care;
	return true;
}

/* ---- results ---- */

#define NO_HASH (~0ULL)

/* Returns the text's hash; if it has none yet a number made of its length and last bytes. */
static inline uint64_t text_identity(const struct hk_python_layout *layout, uint64_t text)
{
	if (!may_read(text, layout->text_wide, true)) {
		return 0;
	}
	uint64_t hash = word_at(text + layout->text_hash);
	if (likely(hash != NO_HASH)) {
		return hash;
	}
	uint64_t length = word_at(text + layout->text_length), last = sizeof(uint64_t);
	uint64_t end = text + layout->text_ascii + length;
	return length ^
	       (length >= last && may_read(end - last, last, true) ? word_at(end - last) : 0);
}

/* The last file's: frames that follow each other are often of one file. */
struct file_identity {
	uint64_t file, identity;
};

/* Returns what tells the code object CODE from another one that was, or will be, at its address.
 * Before 3.12 that is all that is shown of it, and where that lies. */
static inline __attribute__((always_inline)) uint64_t
identity_of(const struct hk_python_layout *layout, uint64_t code, enum family family,
	    struct file_identity *last)
{
	if (family == STACK_FRAMES) {
		return half_at(code + layout->code_version);
	}
	uint64_t name = word_at(code + layout->code_name), file = word_at(code + layout->code_file);
	if (file != last->file) {
		*last = (struct file_identity){
		    file, (file ^ text_identity(layout, file) * MIX_NAME) * MIX};
	}
	return (name ^ text_identity(layout, name) ^ half_at(code + layout->code_first_line)) *
		   MIX_NAME ^
	       word_at(code + layout->code_lines) ^ last->identity;
}

uint64_t hk_python_identity(const struct hk_interpreter *interpreter, uint64_t code)
{
	struct file_identity last = {0, 0};

	return (code ^
		identity_of(&interpreter->layout, code, family_of(&interpreter->layout), &last) *
		    MIX_NAME) *
	       MIX;
}

static inline __attribute__((always_inline)) uint64_t hash_frames(struct cursor cursor,
								  uint64_t hash, enum family family)
{
	struct hk_python_item item;
	struct file_identity last = {0, 0};
	uint32_t frames = 0;

	for (uint32_t i = 0;
	     i < HK_PYTHON_ITEMS && frames < HK_PYTHON_FRAMES && next(&cursor, family, &item);
	     i++) {
		uint64_t value = MIX_NAME;
		if (item.code) {
			value = item.code ^
				identity_of(&cursor.interpreter->layout, item.code, family, &last) *
				    MIX_NAME ^
				(uint64_t)item.place * MIX_PLACE;
			frames++;
		}
		hash = (hash ^ value) * MIX;
		hash ^= hash >> 32;
	}
	return hash;
}

uint64_t hk_python_hash(uint64_t hash, enum hk_python_care care)
{
	struct cursor cursor;

	if (!begin(&cursor, care)) {
		return hash;
	}
	cursor.without_marks = true;
	switch (family_of(&cursor.interpreter->layout)) {
	case FRAME_OBJECTS:
		return hash_frames(cursor, hash, FRAME_OBJECTS);
	case ENTRY_FRAMES:
		return hash_frames(cursor, hash, ENTRY_FRAMES);
	default:
		return hash_frames(cursor, hash, STACK_FRAMES);
	}
}

uint32_t hk_python_items(struct hk_python_item *items, enum hk_python_care care, bool *ret_deep)
{
	struct cursor cursor;
	uint32_t count = 0, frames = 0;

	*ret_deep = false;
	if (!begin(&cursor, care)) {
		return 0;
	}
	enum family family = family_of(&cursor.interpreter->layout);
	while (count < HK_PYTHON_ITEMS && frames < HK_PYTHON_FRAMES &&
	       next(&cursor, family, &items[count])) {
		frames += items[count].code != 0;
		count++;
	}
	*ret_deep = frames == HK_PYTHON_FRAMES && cursor.frame;
	return count;
}
