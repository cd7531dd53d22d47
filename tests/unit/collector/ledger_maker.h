/* ledger_maker.h: ledgers for tests, shown calls one by one. Include cmocka.h first. */
#ifndef HK_TEST_LEDGER_MAKER_H
#define HK_TEST_LEDGER_MAKER_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/memory/ledger.h"
#include "hooks/hook.h"

/* Sites: meaning * 2 + library. */
#define LIBRARIES 2
#define SITE(meaning, library) ((uint32_t)(meaning)*LIBRARIES + (library))
/* The same of device memory. */
#define MEMORY_SITES 1000u
#define DEVICE_SITE(memory, meaning, library) \
	((uint32_t)(memory)*MEMORY_SITES + SITE(meaning, library))
static const char *const library_names[LIBRARIES] = {"/lib/a.so", "/lib/b.so"};

static inline int define_site(void *context, uint32_t id, struct hk_chunk_site *ret_site)
{
	static const uint8_t keys[][4] = {
	    [HK_MEANING_ALLOC] = {HK_KEY_SIZE, HK_KEY_POINTER, HK_KEY_DEVICE},
	    [HK_MEANING_FREE] = {HK_KEY_POINTER},
	    [HK_MEANING_REALLOC] = {HK_KEY_OLD_POINTER, HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_MAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_UNMAP] = {HK_KEY_POINTER, HK_KEY_SIZE},
	    [HK_MEANING_REMAP] = {HK_KEY_OLD_POINTER, HK_KEY_OLD_SIZE, HK_KEY_POINTER, HK_KEY_SIZE},
	};
	(void)context;
	uint32_t meaning = id % MEMORY_SITES / LIBRARIES;
	if (meaning > HK_MEANING_IO) {
		return -ENOENT;
	}
	ret_site->id = id;
	ret_site->meaning = (uint8_t)meaning;
	ret_site->flags = id / MEMORY_SITES << HK_HOOK_MEMORY_SHIFT | HK_HOOK_DESCRIBED;
	ret_site->library = library_names[id % LIBRARIES];
	ret_site->function = ret_site->domain = "x";
	ret_site->key_count = 4;
	if (meaning >= HK_MEANING_ALLOC && meaning <= HK_MEANING_REMAP) {
		memcpy(ret_site->keys, keys[meaning], 4);
	}
	return 0;
}

static inline struct hk_ledger *make_ledger(void)
{
	const struct hk_ledger_options options = {.ticks_per_ns = 1.0, .site = define_site};
	struct hk_ledger *ledger = hk_ledger_new(&options);
	assert_non_null(ledger);
	return ledger;
}

struct call {
	uint64_t start, end;
	uint64_t words[4];
	uint32_t site, thread;
};

static inline void add(struct hk_ledger *ledger, const struct call *call)
{
	struct hk_chunk_thread thread = {.uid = call->thread};
	struct hk_record record = {
	    .start_ticks = call->start,
	    .duration_ns = call->end - call->start,
	    .words = call->words,
	    .thread = &thread,
	    .site = call->site,
	    .kind = HK_CHUNK_KIND_CALL,
	    .word_count = 4,
	};
	assert_int_equal(hk_ledger_add(ledger, &record), 0);
}

static inline struct hk_ledger_row row_of(const struct hk_ledger *ledger, const char *kind,
					  const char *library)
{
	struct hk_ledger_row row, found = {0};
	for (size_t i = 0; hk_ledger_row(ledger, i, &row) > 0; i++) {
		if (strcmp(row.kind, kind) == 0 && strcmp(row.library, library) == 0) {
			assert_null(found.kind);
			found = row;
		}
	}
	return found;
}

#define CHECK(ledger, kind, library, want_allocs, want_frees, want_live, want_peak) \
	do {                                                                        \
		struct hk_ledger_row row_ = row_of(ledger, kind, library);          \
		assert_int_equal(row_.allocs, want_allocs);                         \
		assert_int_equal(row_.frees, want_frees);                           \
		assert_int_equal(row_.live_bytes, want_live);                       \
		assert_int_equal(row_.peak_bytes, want_peak);                       \
	} while (0)

#endif
