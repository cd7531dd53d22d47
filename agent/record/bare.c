#include "agent/record/bare.h"

#include <stdbool.h>
#include <string.h>

static struct hk_bare_table *table_of(struct hk_segment_header *header)
{
	return (struct hk_bare_table *)(void *)((char *)header + HK_BARE_OFFSET);
}

/* Returns the part of PROGRAM that an entry has room for: its end. */
static const char *kept(const char *program)
{
	size_t length = strlen(program);
	return length < HK_BARE_PROGRAM_BYTES ? program
					      : program + length - (HK_BARE_PROGRAM_BYTES - 1);
}

/* The name lies in shared memory, which another process may have changed: it need not end. */
static bool is_same(const struct hk_bare *entry, enum hk_bare_reason reason, const char *program)
{
	return atomic_load_explicit(&entry->reason, memory_order_acquire) == reason &&
	       strncmp(entry->program, program, HK_BARE_PROGRAM_BYTES) == 0;
}

struct hk_bare *hk_bare_enter(struct hk_segment_header *header, enum hk_bare_reason reason,
			      const char *program)
{
	struct hk_bare_table *table = table_of(header);
	program = kept(program);
	for (unsigned i = 0; i < HK_BARE_MAX; i++) {
		struct hk_bare *entry = &table->entry[i];
		if (is_same(entry, reason, program)) {
			atomic_fetch_add_explicit(&entry->times, 1, memory_order_relaxed);
			return entry;
		}
	}
	uint32_t number = atomic_fetch_add_explicit(&table->asked, 1, memory_order_relaxed);
	if (number >= HK_BARE_MAX) {
		return NULL;
	}
	struct hk_bare *entry = &table->entry[number];
	atomic_store_explicit(&entry->times, 1, memory_order_relaxed);
	memcpy(entry->program, program, strlen(program) + 1);
	atomic_store_explicit(&entry->reason, reason, memory_order_release);
	return entry;
}

void hk_bare_withdraw(struct hk_bare *entry)
{
	if (entry) {
		atomic_fetch_sub_explicit(&entry->times, 1, memory_order_relaxed);
	}
}
