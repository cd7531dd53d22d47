#include "agent/patch/known.h"

#include <string.h>
#include <time.h>

#include "agent/memory/arena.h"
#include "agent/object/slot.h"
#include "ring/kernel.h"

#define ROOM_FIRST 128u
/* Longest relocation. After that, another writer left the RELRO pages writable. */
#define SETTLE_NS (2ull * 1000 * 1000 * 1000)

static bool is(const struct hk_known *known, const struct hk_object *object, const char *path)
{
	return known->base == object->base && known->dynamic == object->dynamic &&
	       strcmp(known->path, path) == 0;
}

static bool grow(struct hk_knowns *knowns)
{
	size_t room = knowns->room ? knowns->room * 2 : ROOM_FIRST;
	struct hk_known *entries = hk_arena_take(room * sizeof(*entries));
	if (!entries) {
		return false;
	}
	if (knowns->count) {
		memcpy(entries, knowns->entries, knowns->count * sizeof(*entries));
	}
	knowns->entries = entries;
	knowns->room = room;
	return true;
}

/* Returns the stored path. Paths are never freed, so a known one is used again: a program may load
 * and unload libraries for days. */
static const char *keep(const char *path)
{
	static struct path {
		struct path *next;
		const char *text;
	} * paths;
	for (struct path *at = paths; at; at = at->next) {
		if (strcmp(at->text, path) == 0) {
			return at->text;
		}
	}
	struct path *added = hk_arena_take(sizeof(*added));
	const char *text = hk_arena_text(path);
	if (!added || !text) {
		return NULL;
	}
	added->text = text;
	added->next = paths;
	paths = added;
	return text;
}

struct hk_known *hk_known_find(const struct hk_knowns *knowns, const struct hk_object *object,
			       const char *program, size_t hint)
{
	const char *path = object->name[0] ? object->name : program;
	if (hint < knowns->count && is(&knowns->entries[hint], object, path)) {
		return &knowns->entries[hint];
	}
	for (size_t i = 0; i < knowns->count; i++) {
		if (is(&knowns->entries[i], object, path)) {
			return &knowns->entries[i];
		}
	}
	return NULL;
}

struct hk_known *hk_known_get(struct hk_knowns *knowns, const struct hk_object *object,
			      const char *program, size_t hint)
{
	struct hk_known *known = hk_known_find(knowns, object, program, hint);
	if (known) {
		return known;
	}
	if (knowns->count == knowns->room && !grow(knowns)) {
		return NULL;
	}
	const char *path = keep(object->name[0] ? object->name : program);
	if (!path) {
		return NULL;
	}
	known = &knowns->entries[knowns->count++];
	memset(known, 0, sizeof(*known));
	known->base = object->base;
	known->dynamic = object->dynamic;
	known->span = hk_object_span(object);
	known->path = path;
	return known;
}

/* Slots without room stay counted, even when their object is unloaded. */
static void keep_missed(struct hk_knowns *knowns, const struct hk_known *known)
{
	static const uint32_t reasons[] = {HK_REFUSED_THUNKS, HK_REFUSED_MEMORY};
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		knowns->missed[reasons[i]] += known->slots_refused[reasons[i]];
	}
}

void hk_known_sweep(struct hk_knowns *knowns, void (*gone)(struct hk_span span))
{
	size_t kept = 0;
	for (size_t i = 0; i < knowns->count; i++) {
		if (knowns->entries[i].seen) {
			knowns->entries[kept++] = knowns->entries[i];
		} else {
			keep_missed(knowns, &knowns->entries[i]);
			gone(knowns->entries[i].span);
		}
	}
	knowns->count = kept;
}

void hk_known_count(const struct hk_knowns *knowns, struct hk_coverage *coverage)
{
	coverage->objects = (uint32_t)knowns->count;
	coverage->objects_pending = 0;
	coverage->slots_found = 0;
	coverage->slots_patched = 0;
	memcpy(coverage->slots_refused, knowns->missed, sizeof(coverage->slots_refused));
	for (size_t reason = 0; reason < HK_REFUSALS_MAX; reason++) {
		coverage->slots_found += knowns->missed[reason];
	}
	for (size_t i = 0; i < knowns->count; i++) {
		const struct hk_known *known = &knowns->entries[i];
		coverage->objects_pending += !known->done && !known->skipped;
		coverage->slots_found += known->slots_found;
		coverage->slots_patched += known->slots_patched;
		for (size_t reason = 0; reason < HK_REFUSALS_MAX; reason++) {
			coverage->slots_refused[reason] += known->slots_refused[reason];
		}
	}
}

bool hk_known_settled(struct hk_known *known, const struct hk_object *object)
{
	if (object->relro_end <= object->relro || !hk_slot_writable((void *)object->relro)) {
		return true;
	}
	struct timespec now = {0, 0};
	hk_kernel(SYS_clock_gettime, CLOCK_MONOTONIC, &now, 0, 0, 0, 0);
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (!known->open_since_ns) {
		known->open_since_ns = now_ns;
	}
	return now_ns - known->open_since_ns > SETTLE_NS;
}

void hk_known_forget_slots(struct hk_knowns *knowns)
{
	for (size_t i = 0; i < knowns->count; i++) {
		struct hk_known *known = &knowns->entries[i];
		known->skipped = known->done = known->lazy = false;
	}
}
