/* accounts.h: live and peak bytes by kind of memory, device and calling library.
 *
 * Each account of a library adds to the account of all libraries with its kind and device, which is
 * made before it. The first HK_ACCOUNTS_SERIES accounts of all libraries also have a series over
 * time. Bounded: beyond HK_ACCOUNTS_LIBRARIES names and HK_ACCOUNTS_MAX accounts, only the sums are
 * kept. Not thread-safe. A zeroed struct is empty; fini frees.
 */
#ifndef HK_COLLECTOR_MEMORY_ACCOUNTS_H
#define HK_COLLECTOR_MEMORY_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/memory/series.h"

#define HK_ACCOUNTS_LIBRARIES 4096u
#define HK_ACCOUNTS_MAX 65536u
#define HK_ACCOUNTS_SERIES 64u
#define HK_ACCOUNTS_DEVICES 1024 /* a higher number is no device */
#define HK_ACCOUNTS_ALL 0u	 /* the library "*" */

enum hk_account_kind {
	HK_ACCOUNT_HEAP = 0,
	HK_ACCOUNT_MAP,
	HK_ACCOUNT_DEVICE,
	HK_ACCOUNT_MANAGED,
	HK_ACCOUNT_PINNED,
};

struct hk_account {
	enum hk_account_kind kind;
	int32_t device;	  /* -1: the host, or an unknown device */
	uint32_t library; /* index of its name */
	uint32_t all;	  /* number of the account of all libraries, its own if it is that */
	uint64_t allocs, frees;
	uint64_t live_bytes, peak_bytes, peak_ticks;
	uint64_t exact_peak; /* peak until the first loss */
	uint64_t largest;    /* bytes of the largest allocation; kept by the account of all */
	/* The live bytes of this account at the peak of the account of all. They equal the live
	 * bytes now, unless these have changed since that peak: then they are stored here. The
	 * account of all numbers its peaks. */
	uint64_t at_peak;
	uint64_t at_peak_number; /* of the peak that at_peak is of */
	uint64_t peak_number;
	struct hk_series *series; /* of the account of all; NULL: none */
};

struct hk_accounts_library; /* a name */
struct hk_accounts_key;	    /* what an account is found by */

struct hk_accounts {
	struct hk_account *list; /* by number */
	uint32_t count;
	struct hk_accounts_library *by_name;
	struct hk_accounts_library **libraries; /* by index; 0 is "*" */
	uint32_t library_count;
	struct hk_accounts_key *by_key;
	uint32_t series_count;
};

/* Returns the index of library NAME, HK_ACCOUNTS_ALL if there are too many, or -ENOMEM. */
int hk_accounts_library(struct hk_accounts *accounts, const char *name, uint32_t *ret_index);

/* Name of a library by its index; the accounts'. */
const char *hk_accounts_name(const struct hk_accounts *accounts, uint32_t library);

/* Returns the number of the account, which it makes if it is new, -ENOSPC or -ENOMEM. DEVICE comes
 * from a record and may be any number. */
int hk_accounts_get(struct hk_accounts *accounts, enum hk_account_kind kind, uint64_t device,
		    uint32_t library, uint32_t *ret_account);

/* Adds BYTES, which may be negative, to the live bytes of an account and of the account of all.
 * EXACT: no record was lost so far. */
void hk_accounts_grow(struct hk_accounts *accounts, uint32_t account, uint64_t bytes,
		      uint64_t now_ticks, bool exact);
void hk_accounts_shrink(struct hk_accounts *accounts, uint32_t account, uint64_t bytes,
			uint64_t now_ticks);

/* Returns the live bytes of an account at the peak of the account of all. */
uint64_t hk_accounts_at_peak(const struct hk_accounts *accounts, uint32_t account);

/* Returns the series of an account of all, which it makes if it is new, or NULL if there are too
 * many. */
struct hk_series *hk_accounts_series(struct hk_accounts *accounts, uint32_t account);

/* Adds to the numbers of allocations and releases of an account and of the account of all. */
void hk_accounts_count(struct hk_accounts *accounts, uint32_t account, int64_t allocs,
		       int64_t frees);

void hk_accounts_fini(struct hk_accounts *accounts);

#endif
