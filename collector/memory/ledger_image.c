#include "collector/memory/ledger_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/memory/ledger_tables.h"

#define NAME_BYTES_MAX 65536u

/* The image: counts, then names of libraries, accounts, blocks of each pool, ranges, events, as
 * many as the counts say; since major 2 then of each account the bytes at the peak, a count of
 * series and these. All integers are little-endian, nothing is padded. */
struct counts {
	uint64_t now_ticks, lost, lost_here, unknown_frees, event_sequence;
	uint64_t blocks[HK_POOLS];
	uint32_t libraries, accounts, ranges, events;
};
static_assert(sizeof(struct counts) == 72, "counts");

struct account {
	uint32_t kind;
	int32_t device;
	uint32_t library, reserved;
	uint64_t allocs, frees, live_bytes, peak_bytes, peak_ticks, exact_peak, largest;
};
static_assert(sizeof(struct account) == 72, "account");
static_assert(sizeof(struct hk_heap_block) == 32, "block");
static_assert(sizeof(struct hk_event) == 56, "event");

struct range {
	uint64_t start, end;
	uint32_t account, reserved;
};
static_assert(sizeof(struct range) == 24, "range");

/* A series. For each bin follow two numbers: most and last bytes. */
struct series {
	uint32_t account, shift, count, reserved;
	uint64_t start_ticks;
};
static_assert(sizeof(struct series) == 24, "series");

/* ---- to bytes ---- */

static void put_names(const struct hk_accounts *accounts, struct hk_image *image)
{
	for (uint32_t i = 0; i < accounts->library_count; i++) {
		const char *name = hk_accounts_name(accounts, i);
		uint32_t length = (uint32_t)strnlen(name, NAME_BYTES_MAX);
		hk_image_put(image, &length, sizeof(length));
		hk_image_put(image, name, length);
	}
}

static void put_accounts(const struct hk_accounts *accounts, struct hk_image *image)
{
	for (uint32_t i = 0; i < accounts->count; i++) {
		const struct hk_account *from = &accounts->list[i];
		const struct account account = {
		    .kind = from->kind,
		    .device = from->device,
		    .library = from->library,
		    .allocs = from->allocs,
		    .frees = from->frees,
		    .live_bytes = from->live_bytes,
		    .peak_bytes = from->peak_bytes,
		    .peak_ticks = from->peak_ticks,
		    .exact_peak = from->exact_peak,
		    .largest = from->largest,
		};
		hk_image_put(image, &account, sizeof(account));
	}
}

static void put_blocks(const struct hk_blocks *blocks, struct hk_image *image)
{
	for (size_t i = 0; i < blocks->capacity; i++) {
		if (blocks->slots[i].pointer != 0) {
			hk_image_put(image, &blocks->slots[i], sizeof(blocks->slots[i]));
		}
	}
}

static void put_series(const struct hk_accounts *accounts, struct hk_image *image)
{
	for (uint32_t i = 0; i < accounts->count; i++) {
		uint64_t at_peak = hk_accounts_at_peak(accounts, i);
		hk_image_put(image, &at_peak, sizeof(at_peak));
	}
	hk_image_put(image, &accounts->series_count, sizeof(accounts->series_count));
	for (uint32_t i = 0; i < accounts->count; i++) {
		const struct hk_series *from = accounts->list[i].series;
		if (!from) {
			continue;
		}
		const struct series series = {i, from->shift, from->count, 0, from->start_ticks};
		hk_image_put(image, &series, sizeof(series));
		for (uint32_t k = 0; k < from->count; k++) {
			const uint64_t bin[] = {from->max_bytes[k], from->last_bytes[k]};
			hk_image_put(image, bin, sizeof(bin));
		}
	}
}

void hk_ledger_image_put(const struct hk_ledger *ledger, struct hk_image *image)
{
	const struct counts counts = {
	    .now_ticks = ledger->now_ticks,
	    .lost = ledger->lost,
	    .lost_here = ledger->lost_here,
	    .unknown_frees = ledger->unknown_frees,
	    .event_sequence = ledger->events.sequence,
	    .blocks = {ledger->blocks[HK_POOL_HEAP].count, ledger->blocks[HK_POOL_DEVICE].count},
	    .libraries = ledger->accounts.library_count,
	    .accounts = ledger->accounts.count,
	    .ranges = (uint32_t)ledger->ranges.count,
	    .events = (uint32_t)ledger->events.count,
	};
	hk_image_put(image, &counts, sizeof(counts));
	put_names(&ledger->accounts, image);
	put_accounts(&ledger->accounts, image);
	for (unsigned i = 0; i < HK_POOLS; i++) {
		put_blocks(&ledger->blocks[i], image);
	}
	for (size_t i = 0; i < ledger->ranges.count; i++) {
		const struct hk_range *from = &ledger->ranges.list[i];
		const struct range range = {from->start, from->end, from->account, 0};
		hk_image_put(image, &range, sizeof(range));
	}
	hk_image_put(image, ledger->events.heap,
		     ledger->events.count * sizeof(*ledger->events.heap));
	put_series(&ledger->accounts, image);
}

/* ---- from bytes ---- */

/* Reads the next structure of the image. */
#define GET(image, value) hk_image_get((image), (value), sizeof(*(value)))

static int get_names(struct hk_accounts *accounts, uint32_t count, struct hk_image *image)
{
	char *name = malloc(NAME_BYTES_MAX + 1);
	uint32_t length, index;
	int r = name ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = GET(image, &length);
		if (r == 0 && length > NAME_BYTES_MAX) {
			r = -EBADMSG;
		}
		r = r < 0 ? r : hk_image_get(image, name, length);
		if (r == 0) {
			name[length] = '\0';
			r = hk_accounts_library(accounts, name, &index);
		}
		/* Each name must occur once and in its place, "*" first. */
		r = r == 0 && index != i ? -EBADMSG : r;
	}
	free(name);
	return r;
}

static int get_account(struct hk_accounts *accounts, uint32_t number, struct hk_image *image)
{
	struct account from;
	uint32_t found;
	int r = GET(image, &from);
	if (r < 0) {
		return r;
	}
	if (from.kind > HK_ACCOUNT_PINNED || from.device < -1 ||
	    from.device >= HK_ACCOUNTS_DEVICES || from.library >= accounts->library_count) {
		return -EBADMSG;
	}
	uint64_t device = from.device < 0 ? UINT64_MAX : (uint64_t)from.device;
	r = hk_accounts_get(accounts, (enum hk_account_kind)from.kind, device, from.library,
			    &found);
	if (r < 0 || found != number || accounts->count != number + 1) {
		return r == -ENOMEM ? r : -EBADMSG;
	}
	struct hk_account *to = &accounts->list[number];
	to->allocs = from.allocs;
	to->frees = from.frees;
	to->live_bytes = from.live_bytes;
	to->peak_bytes = from.peak_bytes;
	to->peak_ticks = from.peak_ticks;
	to->exact_peak = from.exact_peak;
	to->largest = from.largest;
	return 0;
}

static int get_blocks(struct hk_ledger *ledger, unsigned pool, uint64_t count,
		      struct hk_image *image)
{
	struct hk_blocks *blocks = &ledger->blocks[pool];
	struct hk_heap_block block;
	int r = 0;
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = GET(image, &block);
		if (r == 0 && (block.pointer == 0 || block.account >= ledger->accounts.count ||
			       hk_blocks_find(blocks, block.pointer))) {
			r = -EBADMSG;
		}
		r = r < 0 ? r : hk_blocks_put(blocks, &block);
	}
	return r == -ENOSPC ? -EBADMSG : r;
}

static int get_ranges(struct hk_ledger *ledger, uint32_t count, struct hk_image *image)
{
	uint64_t end = 0;
	struct range range;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = GET(image, &range);
		if (r == 0 && (range.start < end || range.end <= range.start ||
			       range.account >= ledger->accounts.count)) {
			r = -EBADMSG;
		}
		r = r < 0 ? r
			  : hk_ranges_add(&ledger->ranges, range.start, range.end, range.account);
		end = range.end;
	}
	return r == -ENOSPC ? -EBADMSG : r;
}

static int get_events(struct hk_ledger *ledger, uint32_t count, struct hk_image *image)
{
	struct hk_event event;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = GET(image, &event);
		if (r == 0 && (event.kind < HK_EVENT_ALLOC || event.kind > HK_EVENT_UNMAP ||
			       event.pool >= HK_POOLS ||
			       (event.account >= ledger->accounts.count && event.account != 0))) {
			r = -EBADMSG;
		}
		r = r < 0 ? r : hk_events_restore(&ledger->events, &event);
	}
	return r == -ENOSPC ? -EBADMSG : r;
}

static int get_one_series(struct hk_accounts *accounts, struct hk_image *image)
{
	struct series from;
	uint64_t bin[2] = {0};
	int r = GET(image, &from);
	if (r < 0) {
		return r;
	}
	if (from.account >= accounts->count || accounts->list[from.account].series ||
	    from.shift < HK_SERIES_SHIFT_MIN || from.shift > HK_SERIES_SHIFT_MAX ||
	    from.count == 0 || from.count > HK_SERIES_BINS) {
		return -EBADMSG;
	}
	struct hk_series *series = hk_accounts_series(accounts, from.account);
	if (!series) {
		/* The account is not one of all libraries, there are too many series, or memory is
		 * short. */
		return -EBADMSG;
	}
	series->start_ticks = from.start_ticks;
	series->shift = from.shift;
	series->count = from.count;
	for (uint32_t i = 0; i < from.count && r == 0; i++) {
		r = hk_image_get(image, bin, sizeof(bin));
		r = r == 0 && bin[1] > bin[0] ? -EBADMSG : r;
		series->max_bytes[i] = bin[0];
		series->last_bytes[i] = bin[1];
	}
	bool ends_now = bin[1] == accounts->list[from.account].live_bytes;
	return r < 0 || ends_now ? r : -EBADMSG;
}

static int get_series(struct hk_accounts *accounts, struct hk_image *image)
{
	uint32_t count;
	int r = 0;
	for (uint32_t i = 0; i < accounts->count && r == 0; i++) {
		r = GET(image, &accounts->list[i].at_peak);
	}
	r = r < 0 ? r : GET(image, &count);
	if (r == 0 && count > HK_ACCOUNTS_SERIES) {
		return -EBADMSG;
	}
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = get_one_series(accounts, image);
	}
	return r;
}

/* Returns whether there is an account for every waiting allocation. */
static bool events_have_accounts(const struct hk_ledger *ledger)
{
	for (size_t i = 0; i < ledger->events.count && ledger->accounts.count == 0; i++) {
		uint32_t kind = ledger->events.heap[i].kind;
		if (kind == HK_EVENT_ALLOC || kind == HK_EVENT_MAP) {
			return false;
		}
	}
	return true;
}

static void add_live(const struct hk_accounts *accounts, uint64_t *live, uint32_t account,
		     uint64_t bytes)
{
	uint32_t all = accounts->list[account].all;
	live[account] += bytes;
	live[all] += all != account ? bytes : 0;
}

/* Checks that the live bytes of each account are the sum of its blocks and ranges. Otherwise
 * releases could take more than there is. */
static int check_live(const struct hk_ledger *ledger)
{
	const struct hk_accounts *accounts = &ledger->accounts;
	uint64_t *live = calloc(accounts->count + (size_t)1, sizeof(*live));
	int r = 0;
	if (!live) {
		return -ENOMEM;
	}
	for (unsigned pool = 0; pool < HK_POOLS; pool++) {
		const struct hk_blocks *blocks = &ledger->blocks[pool];
		for (size_t i = 0; i < blocks->capacity; i++) {
			if (blocks->slots[i].pointer != 0) {
				add_live(accounts, live, blocks->slots[i].account,
					 blocks->slots[i].size);
			}
		}
	}
	for (size_t i = 0; i < ledger->ranges.count; i++) {
		const struct hk_range *range = &ledger->ranges.list[i];
		add_live(accounts, live, range->account, range->end - range->start);
	}
	for (uint32_t i = 0; i < accounts->count; i++) {
		r = live[i] != accounts->list[i].live_bytes ? -EBADMSG : r;
	}
	free(live);
	return r;
}

int hk_ledger_image_get(struct hk_ledger *ledger, unsigned major, struct hk_image *image)
{
	struct counts counts;
	int r = GET(image, &counts);
	if (r < 0) {
		return r;
	}
	ledger->now_ticks = counts.now_ticks;
	ledger->lost = counts.lost;
	ledger->lost_here = counts.lost_here;
	ledger->unknown_frees = counts.unknown_frees;
	ledger->events.sequence = counts.event_sequence;
	r = get_names(&ledger->accounts, counts.libraries, image);
	for (uint32_t i = 0; r == 0 && i < counts.accounts; i++) {
		r = get_account(&ledger->accounts, i, image);
	}
	for (unsigned i = 0; r == 0 && i < HK_POOLS; i++) {
		r = get_blocks(ledger, i, counts.blocks[i], image);
	}
	r = r < 0 ? r : get_ranges(ledger, counts.ranges, image);
	r = r < 0 ? r : get_events(ledger, counts.events, image);
	if (r == 0 && !events_have_accounts(ledger)) {
		r = -EBADMSG;
	}
	if (r == 0 && major >= HK_LEDGER_IMAGE_MAJOR) {
		r = get_series(&ledger->accounts, image);
	}
	return r < 0 ? r : check_live(ledger);
}
