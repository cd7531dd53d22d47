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

/* Adds a record if its site concerns memory, else ignores it. Threads' records may come in any
 * order. Returns 0 or -ENOMEM. */
int hk_ledger_add(struct hk_ledger *ledger, const struct hk_record *record);

/* Applies the waiting events before HORIZON_TICKS. No event before that time may be added later. */
void hk_ledger_advance(struct hk_ledger *ledger, uint64_t horizon_ticks);

/* The same, but the newest KEEP effects go on waiting. */
void hk_ledger_advance_but(struct hk_ledger *ledger, uint64_t horizon_ticks, size_t keep);

/* Whether anything waits. */
bool hk_ledger_waits(const struct hk_ledger *ledger);

/* Sets the number of lost records of memory calls so far. */
void hk_ledger_set_lost(struct hk_ledger *ledger, uint64_t lost);

/* Notes that RECORDS of any calls can never be added: their effect is unknown. */
void hk_ledger_note_gap(struct hk_ledger *ledger, uint64_t records);

/* Reads row INDEX (from 0) of the rows with an allocation, each after the "*" of its kind and
 * device. Returns 1, or 0 beyond the last row. */
int hk_ledger_row(const struct hk_ledger *ledger, size_t index, struct hk_ledger_row *ret_row);

/* Returns the number of releases without an allocation, which came before tracing or from an
 * untraced call. */
uint64_t hk_ledger_unknown_frees(const struct hk_ledger *ledger);

#endif
