#include "agent/compat/heap.h"

#include <stddef.h>
#include <string.h>

#include "agent/memory/arena.h"

#define SLOTS (1u << 18) /* slots; at most three quarters are used */
#define ACCOUNTS 1024u

struct block {
	uint64_t pointer; /* 0: free */
	uint64_t size;
	uint32_t account;
	uint32_t reserved;
};

static struct block *blocks;
static uint32_t used;
static struct hk_compat_account accounts[ACCOUNTS];
static uint32_t account_count;

static uint32_t place_of(uint64_t pointer)
{
	return (uint32_t)((pointer * 0x9e3779b97f4a7c15ULL) >> 32) % SLOTS;
}

static struct block *find(uint64_t pointer)
{
	for (uint32_t at = place_of(pointer); blocks && blocks[at].pointer; at = (at + 1) % SLOTS) {
		if (blocks[at].pointer == pointer) {
			return &blocks[at];
		}
	}
	return NULL;
}

static struct hk_compat_account *account_of(const char *library, int64_t device, uint32_t kind)
{
	for (uint32_t i = 0; i < account_count; i++) {
		if (accounts[i].device == device && accounts[i].kind == kind &&
		    strcmp(accounts[i].library, library) == 0) {
			return &accounts[i];
		}
	}
	if (account_count == ACCOUNTS) {
		return NULL;
	}
	accounts[account_count] =
	    (struct hk_compat_account){.library = library, .device = device, .kind = kind};
	return &accounts[account_count++];
}

/* Moves up displaced blocks after AT, so that no search stops early. */
static void take_out(uint32_t at)
{
	for (uint32_t next = (at + 1) % SLOTS; blocks[next].pointer; next = (next + 1) % SLOTS) {
		uint32_t away = (next - place_of(blocks[next].pointer)) % SLOTS;
		if (away >= (next - at) % SLOTS) {
			blocks[at] = blocks[next];
			at = next;
		}
	}
	blocks[at].pointer = 0;
	used--;
}

static struct block *take_block(uint64_t pointer)
{
	if (!blocks) {
		blocks = hk_arena_take(SLOTS * sizeof(*blocks));
	}
	if (!blocks || used >= SLOTS / 4 * 3) {
		return NULL;
	}
	uint32_t at = place_of(pointer);
	while (blocks[at].pointer) {
		at = (at + 1) % SLOTS;
	}
	used++;
	blocks[at].pointer = pointer;
	return &blocks[at];
}

const struct hk_compat_account *hk_compat_heap_add(uint64_t pointer, uint64_t size,
						   const char *library, int64_t device,
						   uint32_t kind)
{
	struct hk_compat_account *account = account_of(library, device, kind);

	hk_compat_heap_remove(pointer); /* the free of the earlier block was not traced */
	struct block *block = account ? take_block(pointer) : NULL;
	if (!block) {
		return NULL;
	}
	block->size = size;
	block->account = (uint32_t)(account - accounts);
	account->live += size;
	account->peak = account->live > account->peak ? account->live : account->peak;
	return account;
}

const struct hk_compat_account *hk_compat_heap_remove(uint64_t pointer)
{
	struct block *block = pointer ? find(pointer) : NULL;

	if (!block) {
		return NULL;
	}
	struct hk_compat_account *account = &accounts[block->account];
	account->live -= block->size;
	take_out((uint32_t)(block - blocks));
	return account;
}
