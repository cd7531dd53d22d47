#include "agent/annotate_names.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/frame/plain_site.h"
#include "agent/memory/arena.h"
#include "agent/object/loader.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

#define ACTIVITY_BYTES 1024u /* of what a device's library names */
#define NAMES_MAX 4096u
#define SLOTS (2u * NAMES_MAX)

#define ACTIVITY(what, where)                                                                 \
	{                                                                                     \
		.library = "*", .symbol = "*", .domain = (where), .flags = HK_HOOK_DESCRIBED, \
		.meaning = (what), .value_count = HK_ANNOTATE_ACTIVITY_VALUES,                \
		.values = {{.key = HK_KEY_DEVICE}, {.key = HK_KEY_STREAM},                    \
			   {.key = HK_KEY_BYTES},  {.key = HK_KEY_SUBMITTED},                 \
			   {.key = HK_KEY_BEGAN},  {.key = HK_KEY_DURATION},                  \
			   {.key = HK_KEY_THREAD}},                                           \
	}

/* Hooks of annotations, as a line of the hooks language would describe them. */
static const struct hk_hook hooks[] = {
    [HK_USE_RANGE] = {.library = "*",
		      .symbol = "*",
		      .domain = "user",
		      .flags = HK_HOOK_DESCRIBED,
		      .meaning = HK_MEANING_RANGE},
    [HK_USE_MARK] = {.library = "*",
		     .symbol = "*",
		     .domain = "user",
		     .flags = HK_HOOK_DESCRIBED,
		     .meaning = HK_MEANING_MARK},
    [HK_USE_STEP] = {.library = "*",
		     .symbol = "*",
		     .domain = "user",
		     .flags = HK_HOOK_DESCRIBED,
		     .meaning = HK_MEANING_MARK,
		     .value_count = 1,
		     .values = {{.key = HK_KEY_STEP}}},
    [HK_USE_COUNTER] = {.library = "*",
			.symbol = "*",
			.domain = "user",
			.flags = HK_HOOK_DESCRIBED,
			.meaning = HK_MEANING_COUNTER,
			.value_count = 1,
			.values = {{.key = HK_KEY_VALUE}}},
    [HK_USE_KERNEL] = ACTIVITY(HK_MEANING_DEVICE_KERNEL, "device"),
    [HK_USE_COPY] = ACTIVITY(HK_MEANING_DEVICE_COPY, "device"),
    [HK_USE_SET] = ACTIVITY(HK_MEANING_DEVICE_SET, "device"),
    [HK_USE_NCCL] = ACTIVITY(HK_MEANING_DEVICE_KERNEL, "nccl.event"),
    [HK_USE_TRANSFER] = {.library = "*",
			 .symbol = "*",
			 .domain = "nccl.transfer",
			 .flags = HK_HOOK_DESCRIBED,
			 .value_count = 1,
			 .values = {{.key = HK_KEY_BYTES}}},
    [HK_USE_COUNT] = {.library = "*",
		      .symbol = "*",
		      .domain = "nccl.event",
		      .flags = HK_HOOK_DESCRIBED,
		      .meaning = HK_MEANING_MARK},
    [HK_USE_DIGEST] = {.library = "*",
		       .symbol = "*",
		       .domain = HK_AGREEMENT_DOMAIN,
		       .flags = HK_HOOK_DESCRIBED,
		       .meaning = HK_MEANING_MARK,
		       .value_count = 2,
		       .values = {{.key = HK_KEY_STEP}, {.key = HK_KEY_DIGEST}}},
    [HK_USE_DIGESTS] = {.library = "*",
			.symbol = "*",
			.domain = HK_AGREEMENT_DOMAIN,
			.flags = HK_HOOK_DESCRIBED,
			.meaning = HK_MEANING_MARK,
			.value_count = 3,
			.values = {{.key = HK_KEY_STEP},
				   {.key = HK_KEY_COUNT},
				   {.key = HK_KEY_EPOCH}}},
};

#define SITE_UNKNOWN 0u /* looked up at the next use of the name */
#define RECENT_BITS 9

/* A name and the object that uses it. Names are never freed. */
struct name {
	uintptr_t caller;
	_Atomic uint32_t site; /* its index; HK_PLAIN_NONE: the name has no site */
	uint8_t use;	       /* enum hk_annotate_use */
	char text[];
};

static struct name *_Atomic names[SLOTS];
/* Names that were used last, by the address of the text and the caller. */
static struct name *_Atomic recent[1u << RECENT_BITS];
static _Atomic uint32_t name_count;
static uint8_t names_level;

void hk_annotate_names_start(uint8_t level)
{
	names_level = level;
}

/* Copies NAME as far as it fits into BYTES. Returns the hash of the whole name. A name that is cut
 * ends in its hash, so that no two of them look alike, if BYTES are more than
 * HK_ANNOTATE_NAME_BYTES. */
static uint32_t copy_name(const char *name, char *text, uint32_t bytes)
{
	uint64_t hash = 14695981039346656037ULL;
	uint32_t length = 0, kept = 0;
	bool whole = bytes > HK_ANNOTATE_NAME_BYTES;

	for (; name && name[length] && (whole || length + 1 < bytes); length++) {
		hash = (hash ^ (uint8_t)name[length]) * 1099511628211ULL;
		if (kept + 1 < bytes) {
			text[kept++] = name[length];
		}
	}
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);
	text[kept] = 0;
	for (uint32_t i = 0; i < 8 && kept < length; i++) {
		text[kept - 1 - i] = "0123456789abcdef"[folded >> 4 * i & 15];
	}
	if (kept < length) {
		text[kept - 9] = '~';
	}
	return folded;
}

struct search {
	uintptr_t address;
	char path[1024];
};

static int is_holder(struct dl_phdr_info *info, size_t size, void *context)
{
	struct search *search = context;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD &&
		    search->address - info->dlpi_addr - segment->p_vaddr < segment->p_memsz) {
			size_t length = strlen(info->dlpi_name);
			length = length < sizeof(search->path) ? length : sizeof(search->path) - 1;
			memcpy(search->path, info->dlpi_name, length);
			search->path[length] = 0;
			return 1;
		}
	}
	return 0;
}

/* Returns the index of the site of the new name TEXT used at CALLER, or HK_PLAIN_NONE if no site is
 * left. LIBRARY, if not NULL, replaces the object of CALLER. */
static uint32_t bind(const char *text, enum hk_annotate_use use, uintptr_t caller,
		     const char *library)
{
	struct search search = {.address = caller};

	if (!library) {
		hk_loader_iterate(is_holder, &search);
		library = search.path[0] ? search.path : hk_process.writer.header->program;
	}
	const struct hk_plain_request request = {
	    .hook = &hooks[use],
	    .function = {text, strlen(text)},
	    .library = {library, strlen(library)},
	    .provider = "",
	    .level = names_level,
	};
	return hk_plain_site_define_inside(&request);
}

/* Returns the name in the table, or NULL and the free slot for it. */
static struct name *look_up(const char *text, uint32_t hash, enum hk_annotate_use use,
			    uintptr_t caller, uint32_t *ret_slot)
{
	uint32_t at = (hash ^ (uint32_t)caller * 0x9e3779b1u ^ use) % SLOTS;

	for (;; at = (at + 1) % SLOTS) { /* the table is never more than half full */
		struct name *found = atomic_load_explicit(&names[at], memory_order_acquire);
		if (!found || (found->caller == caller && found->use == use &&
			       strcmp(found->text, text) == 0)) {
			*ret_slot = at;
			return found;
		}
	}
}

/* Two threads may make the same name at once. Both get the same site, and one name is kept. */
static struct name *make_name(const char *text, uint32_t hash, enum hk_annotate_use use,
			      uintptr_t caller, const char *library)
{
	size_t bytes = strlen(text) + 1;
	struct name *made = hk_arena_take(sizeof(*made) + bytes), *none;
	struct name *found;
	uint32_t slot;

	if (!made) {
		return NULL;
	}
	made->caller = caller;
	made->use = (uint8_t)use;
	memcpy(made->text, text, bytes);
	made->site = bind(text, use, caller, library);
	do {
		found = look_up(text, hash, use, caller, &slot);
		none = NULL;
	} while (!found && !atomic_compare_exchange_strong_explicit(&names[slot], &none, made,
								    memory_order_release,
								    memory_order_relaxed));
	return found ? found : made;
}

static struct name *look_up_whole(const char *name, enum hk_annotate_use use, uintptr_t caller,
				  const char *library, bool whole)
{
	char text[ACTIVITY_BYTES];
	uint32_t slot, bytes = whole ? ACTIVITY_BYTES : HK_ANNOTATE_NAME_BYTES;
	uint32_t hash = copy_name(name, text, bytes);
	struct name *found = look_up(text, hash, use, caller, &slot);

	if (!found && atomic_load_explicit(&name_count, memory_order_relaxed) >= NAMES_MAX) {
		hash = copy_name("(more names)", text, HK_ANNOTATE_NAME_BYTES);
		caller = 0;
		found = look_up(text, hash, use, caller, &slot);
	}
	if (!found && !hk_process.sealed) { /* a sandbox has no memory for more */
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
		found = make_name(text, hash, use, caller, library);
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
	}
	if (found && found->site == SITE_UNKNOWN && !hk_process.sealed) {
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		found->site = bind(text, use, caller, library);
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
	}
	return found;
}

/* Returns the place among the recent names. */
static struct name *_Atomic *recent_of(const char *name, enum hk_annotate_use use, uintptr_t caller)
{
	uint64_t sum = (uintptr_t)name + caller * 31 + use;
	return &recent[sum * 0x9e3779b97f4a7c15ULL >> (64 - RECENT_BITS)];
}

struct hk_site_hot *hk_annotate_names_site(const char *name, enum hk_annotate_use use,
					   uintptr_t caller, const char *library, bool whole)
{
	struct name *_Atomic *place = recent_of(name, use, caller);
	struct name *found = atomic_load_explicit(place, memory_order_acquire);

	/* Another text may lie at the address of a recent one. */
	if (!found || !name || library || found->caller != caller || found->use != use ||
	    found->site == SITE_UNKNOWN || strcmp(found->text, name) != 0) {
		found = look_up_whole(name, use, caller, library, whole);
		atomic_store_explicit(place, found, memory_order_release);
	}
	return found ? hk_plain_site(found->site) : NULL;
}

void hk_annotate_names_forget(struct hk_span span)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct name *name = atomic_load_explicit(&names[i], memory_order_acquire);
		if (name && hk_span_holds(span, name->caller)) {
			name->site = SITE_UNKNOWN;
		}
	}
}
