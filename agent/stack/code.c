#include "agent/stack/code.h"

#include <elf.h>
#include <stdatomic.h>
#include <stddef.h>

#include "agent/memory/arena.h"

#define PAGE_OBJECTS 128u
#define PAGES 128u

struct entry {
	_Atomic uint32_t version; /* odd while the entry is written */
	struct hk_code code;	  /* an empty span: free */
};

static struct entry *_Atomic pages[PAGES];
static _Atomic uint32_t used; /* entries, free ones among them */
static _Atomic uint64_t version = 1;
static uint32_t numbers; /* handed out */

static struct entry *entry_at(uint32_t index)
{
	struct entry *page =
	    atomic_load_explicit(&pages[index / PAGE_OBJECTS], memory_order_acquire);
	return page ? &page[index % PAGE_OBJECTS] : NULL;
}

static void write_entry(struct entry *entry, const struct hk_code *code)
{
	uint32_t before = atomic_load_explicit(&entry->version, memory_order_relaxed);

	atomic_store_explicit(&entry->version, before + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	entry->code = *code;
	atomic_store_explicit(&entry->version, before + 2, memory_order_release);
}

/* Copies the entry. Returns false if it is being written. */
static bool read_entry(const struct entry *entry, struct hk_code *ret_code)
{
	uint32_t before = atomic_load_explicit(&entry->version, memory_order_acquire);

	*ret_code = entry->code;
	atomic_thread_fence(memory_order_acquire);
	return before % 2 == 0 &&
	       atomic_load_explicit(&entry->version, memory_order_relaxed) == before;
}

/* Copies the build id, if NOTES hold one: the content of a PT_NOTE segment. */
static void read_notes(struct hk_span notes, struct hk_code *code)
{
	uintptr_t at = notes.start;

	while (notes.end - at >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		uintptr_t name = at + sizeof(*note);
		uintptr_t content = name + ((note->n_namesz + 3u) & ~3u);
		uintptr_t next = content + ((note->n_descsz + 3u) & ~3u);
		if (content < name || next < content || next > notes.end) {
			return;
		}
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    note->n_descsz <= HK_BUILD_ID_BYTES) {
			for (uint32_t i = 0; i < note->n_descsz; i++) {
				code->build_id[i] = ((const uint8_t *)content)[i];
			}
			code->build_id_bytes = note->n_descsz;
			return;
		}
		at = next;
	}
}

/* Returns the segment that holds ADDRESS, or an empty span. */
static struct hk_span segment_of(const struct hk_object *object, uintptr_t address)
{
	for (size_t i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdr[i];
		struct hk_span segment = {object->base + phdr->p_vaddr, 0};
		segment.end = segment.start + phdr->p_memsz;
		if (phdr->p_type == PT_LOAD && hk_span_holds(segment, address)) {
			return segment;
		}
	}
	return (struct hk_span){0, 0};
}

/* Linkers put .eh_frame beside its index, except where an object's is writable (libnvrtc.so). */
static void describe_table(const struct hk_object *object, uintptr_t index, struct hk_table *table)
{
	struct hk_span segment = segment_of(object, index);

	if (!index || segment.end == 0) {
		return;
	}
	table->index = index;
	table->index_end = segment.end;
	segment = segment_of(object, hk_table_entries(table));
	table->start = segment.start;
	table->end = segment.end;
}

static void describe(const struct hk_object *object, struct hk_code *code)
{
	code->base = object->base;
	code->span = (struct hk_span){UINTPTR_MAX, 0};
	uintptr_t index = 0;
	for (size_t i = 0; i < object->phdr_count; i++) {
		const ElfW(Phdr) *phdr = &object->phdr[i];
		uintptr_t start = object->base + phdr->p_vaddr, end = start + phdr->p_memsz;
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_X) {
			code->span.start = start < code->span.start ? start : code->span.start;
			code->span.end = end > code->span.end ? end : code->span.end;
		}
		index = phdr->p_type == PT_GNU_EH_FRAME ? start : index;
		if (phdr->p_type == PT_NOTE && !code->build_id_bytes &&
		    hk_object_holds(object, start, phdr->p_memsz)) {
			read_notes((struct hk_span){start, end}, code);
		}
	}
	describe_table(object, index, &code->table);
}

static uint32_t free_index(void)
{
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++) {
		if (entry_at(i)->code.span.start >= entry_at(i)->code.span.end) {
			return i;
		}
	}
	return count;
}

/* Returns whether A and B, at one address, were read from the same file. */
static bool is_same(const struct hk_code *a, const struct hk_code *b)
{
	bool same = a->span.end == b->span.end && a->path == b->path &&
		    a->table.index == b->table.index && a->build_id_bytes == b->build_id_bytes;

	for (uint32_t i = 0; same && i < a->build_id_bytes; i++) {
		same = a->build_id[i] == b->build_id[i];
	}
	return same;
}

/* Returns the entry of the object whose code begins at START, else a free one. */
static uint32_t index_of(uintptr_t start)
{
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++) {
		if (entry_at(i)->code.span.start == start) {
			return i;
		}
	}
	return free_index();
}

bool hk_code_add(const struct hk_object *object, const char *path)
{
	struct hk_code code = {.path = path};
	describe(object, &code);
	uint32_t index = index_of(code.span.start);
	if (index == PAGES * PAGE_OBJECTS) {
		return false;
	}
	if (!entry_at(index)) {
		struct entry *page = hk_arena_take(PAGE_OBJECTS * sizeof(*page));
		if (!page) {
			return false;
		}
		atomic_store_explicit(&pages[index / PAGE_OBJECTS], page, memory_order_release);
	}
	if (entry_at(index)->code.span.start == code.span.start &&
	    is_same(&entry_at(index)->code, &code)) {
		return true;
	}
	code.number = ++numbers;
	write_entry(entry_at(index), &code);
	if (index == atomic_load_explicit(&used, memory_order_relaxed)) {
		atomic_store_explicit(&used, index + 1, memory_order_release);
	}
	hk_code_note_change();
	return true;
}

void hk_code_forget(struct hk_span span)
{
	static const struct hk_code none;
	uint32_t count = atomic_load_explicit(&used, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++) {
		struct hk_span own = entry_at(i)->code.span;
		if (own.start < own.end && own.start >= span.start && own.end <= span.end) {
			write_entry(entry_at(i), &none);
		}
	}
	hk_code_note_change();
}

uint64_t hk_code_version(void)
{
	return atomic_load_explicit(&version, memory_order_acquire);
}

void hk_code_note_change(void)
{
	atomic_fetch_add_explicit(&version, 1, memory_order_release);
}

bool hk_code_find(uintptr_t address, struct hk_code *ret_code)
{
	uint32_t count = atomic_load_explicit(&used, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		const struct entry *entry = entry_at(i);
		if (hk_span_holds(entry->code.span, address) && read_entry(entry, ret_code) &&
		    hk_span_holds(ret_code->span, address)) {
			return true;
		}
	}
	return false;
}
