#include "collector/memory/accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct hk_accounts_library {
	char *name;
	uint32_t index;
	UT_hash_handle hh;
};

/* No padding: uthash compares bytes. */
struct identity {
	uint32_t kind;
	int32_t device;
	uint32_t library;
};

struct hk_accounts_key {
	struct identity identity;
	uint32_t account;
	UT_hash_handle hh;
};

/* ---- libraries ---- */

static struct hk_accounts_library *add_library(struct hk_accounts *accounts, const char *name)
{
	struct hk_accounts_library **list =
	    realloc(accounts->libraries, (accounts->library_count + 1) * sizeof(*list));
	if (!list) {
		return NULL;
	}
	accounts->libraries = list;
	struct hk_accounts_library *library = calloc(1, sizeof(*library));
	if (!library || !(library->name = strdup(name))) {
		free(library);
		return NULL;
	}
	library->index = accounts->library_count;
	accounts->libraries[accounts->library_count++] = library;
	HASH_ADD_KEYPTR(hh, accounts->by_name, library->name, strlen(library->name), library);
	return library;
}

int hk_accounts_library(struct hk_accounts *accounts, const char *name, uint32_t *ret_index)
{
	struct hk_accounts_library *library;
	if (accounts->library_count == 0 && !add_library(accounts, "*")) {
		return -ENOMEM;
	}
	HASH_FIND_STR(accounts->by_name, name, library);
	if (!library && accounts->library_count >= HK_ACCOUNTS_LIBRARIES) {
		*ret_index = HK_ACCOUNTS_ALL;
		return 0;
	}
	if (!library) {
		library = add_library(accounts, name);
	}
	if (!library) {
		return -ENOMEM;
	}
	*ret_index = library->index;
	return 0;
}

const char *hk_accounts_name(const struct hk_accounts *accounts, uint32_t library)
{
	return accounts->libraries[library]->name;
}

/* ---- accounts ---- */

/* Makes room for one more account. Capacities are powers of two, so the count gives the capacity.
 */
static int make_room(struct hk_accounts *accounts)
{
	uint32_t count = accounts->count;
	if (count >= HK_ACCOUNTS_MAX) {
		return -ENOSPC;
	}
	if ((count & (count - 1)) != 0) {
		return 0;
	}
	uint32_t capacity = count ? count * 2 : 1;
	struct hk_account *list = realloc(accounts->list, capacity * sizeof(*list));
	if (!list) {
		return -ENOMEM;
	}
	accounts->list = list;
	return 0;
}

static int add_account(struct hk_accounts *accounts, const struct identity *identity, uint32_t all,
		       uint32_t *ret_account)
{
	int r = make_room(accounts);
	if (r < 0) {
		return r;
	}
	struct hk_accounts_key *key = calloc(1, sizeof(*key));
	if (!key) {
		return -ENOMEM;
	}
	key->identity = *identity;
	key->account = accounts->count;
	HASH_ADD(hh, accounts->by_key, identity, sizeof(key->identity), key);
	accounts->list[accounts->count] = (struct hk_account){
	    .kind = (enum hk_account_kind)identity->kind,
	    .device = identity->device,
	    .library = identity->library,
	    .all = identity->library == HK_ACCOUNTS_ALL ? accounts->count : all,
	};
	*ret_account = accounts->count++;
	return 0;
}

static int find_or_add(struct hk_accounts *accounts, const struct identity *identity, uint32_t all,
		       uint32_t *ret_account)
{
	struct hk_accounts_key *key;
	HASH_FIND(hh, accounts->by_key, identity, sizeof(*identity), key);
	if (!key) {
		return add_account(accounts, identity, all, ret_account);
	}
	*ret_account = key->account;
	return 0;
}

int hk_accounts_get(struct hk_accounts *accounts, enum hk_account_kind kind, uint64_t device,
		    uint32_t library, uint32_t *ret_account)
{
	struct identity identity = {
	    .kind = kind,
	    .device = device < HK_ACCOUNTS_DEVICES ? (int32_t)device : -1,
	    .library = HK_ACCOUNTS_ALL,
	};
	uint32_t all;
	int r = find_or_add(accounts, &identity, 0, &all);
	if (r < 0 || library == HK_ACCOUNTS_ALL) {
		*ret_account = all;
		return r;
	}
	identity.library = library;
	r = find_or_add(accounts, &identity, all, ret_account);
	if (r == -ENOSPC) {
		*ret_account = all;
		r = 0;
	}
	return r;
}

/* ---- bytes ---- */

struct hk_series *hk_accounts_series(struct hk_accounts *accounts, uint32_t account)
{
	struct hk_account *all = &accounts->list[account];
	if (!all->series && all->all == account && accounts->series_count < HK_ACCOUNTS_SERIES) {
		all->series = calloc(1, sizeof(*all->series));
		accounts->series_count += all->series != NULL;
	}
	return all->series;
}

/* Keeps the bytes of ACCOUNT at the last peak, before they change. */
static void put_aside(struct hk_account *account, const struct hk_account *all)
{
	if (account->at_peak_number != all->peak_number) {
		account->at_peak = account->live_bytes;
		account->at_peak_number = all->peak_number;
	}
}

uint64_t hk_accounts_at_peak(const struct hk_accounts *accounts, uint32_t account)
{
	const struct hk_account *own = &accounts->list[account], *all = &accounts->list[own->all];
	return own->at_peak_number != all->peak_number ? own->live_bytes : own->at_peak;
}

static void grow(struct hk_account *account, uint64_t bytes, uint64_t now_ticks, bool exact)
{
	account->live_bytes += bytes;
	if (account->live_bytes > account->peak_bytes) {
		account->peak_bytes = account->live_bytes;
		account->peak_ticks = now_ticks;
		account->exact_peak = exact ? account->peak_bytes : account->exact_peak;
		account->peak_number++;
	}
}

static void note(struct hk_accounts *accounts, uint32_t all, uint64_t now_ticks)
{
	struct hk_series *series = hk_accounts_series(accounts, all);
	if (series) {
		hk_series_add(series, now_ticks, accounts->list[all].live_bytes);
	}
}

void hk_accounts_grow(struct hk_accounts *accounts, uint32_t account, uint64_t bytes,
		      uint64_t now_ticks, bool exact)
{
	struct hk_account *own = &accounts->list[account], *all = &accounts->list[own->all];
	put_aside(own, all);
	if (own != all) {
		put_aside(all, all);
		grow(own, bytes, now_ticks, exact);
	}
	grow(all, bytes, now_ticks, exact);
	all->largest = bytes > all->largest ? bytes : all->largest;
	note(accounts, own->all, now_ticks);
}

void hk_accounts_shrink(struct hk_accounts *accounts, uint32_t account, uint64_t bytes,
			uint64_t now_ticks)
{
	struct hk_account *own = &accounts->list[account], *all = &accounts->list[own->all];
	put_aside(own, all);
	if (own != all) {
		put_aside(all, all);
		own->live_bytes -= bytes;
	}
	all->live_bytes -= bytes;
	note(accounts, own->all, now_ticks);
}

void hk_accounts_count(struct hk_accounts *accounts, uint32_t account, int64_t allocs,
		       int64_t frees)
{
	struct hk_account *own = &accounts->list[account], *all = &accounts->list[own->all];
	all->allocs += (uint64_t)allocs;
	all->frees += (uint64_t)frees;
	if (own != all) {
		own->allocs += (uint64_t)allocs;
		own->frees += (uint64_t)frees;
	}
}

void hk_accounts_fini(struct hk_accounts *accounts)
{
	struct hk_accounts_key *key, *next;
	HASH_ITER (hh, accounts->by_key, key, next) {
		HASH_DEL(accounts->by_key, key);
		free(key);
	}
	HASH_CLEAR(hh, accounts->by_name);
	for (uint32_t i = 0; i < accounts->library_count; i++) {
		free(accounts->libraries[i]->name);
		free(accounts->libraries[i]);
	}
	for (uint32_t i = 0; i < accounts->count; i++) {
		free(accounts->list[i].series);
	}
	free(accounts->libraries);
	free(accounts->list);
	memset(accounts, 0, sizeof(*accounts));
}
