/* ledger.h: memory of one process, on the host and on devices, from the records of its memory
 * calls.
 *
 * An allocation takes effect when its call ends, and a release when its call starts, whichever
 * thread made the call. So records wait in order of time until no earlier one can still arrive
 * (hk_ledger_advance). Heap blocks are matched by pointer, blocks of devices by pointer among
 * themselves, and mappings as address ranges of whole pages. A row has a kind ("heap", "map",
 * "device", "managed", "pinned"), a device and a calling library, or "*" for all libraries. A
 * release counts for the row of its allocation. realloc and mremap count as a release and an
 * allocation. Not thread-safe. Memory is bounded: calls that find no room count as lost.
 */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_H
#define HK_COLLECTOR_MEMORY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk/codec/record.h"
#include "collector/memory/ledger_options.h"
#include "collector/memory/series.h"

struct hk_ledger;

struct hk_ledger_row {
	const char *kind;    /* as above; static */
	int32_t device;	     /* -1: host memory, or on an unknown device */
	const char *library; /* "*": all; the ledger's */
	uint64_t allocs, frees;
	uint64_t live_bytes, peak_bytes;
	uint64_t peak_low, peak_high; /* the same as peak_bytes unless records were lost */
	uint64_t peak_ticks;
	uint64_t at_peak_bytes;		/* live when "*" of this kind and device had its peak */
	const struct hk_series *series; /* live bytes of "*" over time, the ledger's; else NULL */
};

/* NULL: out of memory. */
struct hk_ledger *hk_ledger_new(const struct hk_ledger_options *options);
/* Frees; accepts NULL, returns NULL. */
struct hk_ledger *hk_ledger_free(struct hk_ledger *ledger);

/* Forgets everything but the options: a new ledger. */
void hk_ledger_clear(struct hk_ledger *ledger);

/* Takes in a record if its site is about memory, else ignores it. Any order between threads;
 * -ENOMEM. */
int hk_ledger_add(struct hk_ledger *ledger, const struct hk_record *record);

/* Nothing that takes effect before HORIZON_TICKS will be added any more: applies what waits until
 * there. */
void hk_ledger_advance(struct hk_ledger *ledger, uint64_t horizon_ticks);

/* The same, but the newest KEEP effects go on waiting. */
void hk_ledger_advance_but(struct hk_ledger *ledger, uint64_t horizon_ticks, size_t keep);

/* Whether anything waits. */
bool hk_ledger_waits(const struct hk_ledger *ledger);

/* LOST records of memory calls are missing so far, in all. */
void hk_ledger_set_lost(struct hk_ledger *ledger, uint64_t lost);

/* RECORDS of any calls can never be shown to this ledger: what they would have changed is not
 * known.
 */
void hk_ledger_note_gap(struct hk_ledger *ledger, uint64_t records);

/* Rows with any allocation, each after the "*" of its kind and device: 1 and row INDEX (0..), 0
 * beyond the last. */
int hk_ledger_row(const struct hk_ledger *ledger, size_t index, struct hk_ledger_row *ret_row);

/* Releases of pointers never seen allocated: from before tracing, or by a path that is not traced.
 */
uint64_t hk_ledger_unknown_frees(const struct hk_ledger *ledger);

#endif
