/* reader_map.h: what the parts of the reader share: the mapping, its blocks as seen so far, private
 * copies.
 *
 * Private to reader_*.c. Mapped bytes change under us: they are
 * read through hk_map_* only, once, into a local value that is then checked.
 */
#ifndef HK_RING_READER_MAP_H
#define HK_RING_READER_MAP_H

#include "ring/guard.h"
#include "ring/reader.h"

#define HK_READER_SLOTS_MAX 65536u /* thread slots of one process that are looked at */
#define HK_READER_STRING_MAX HK_STRING_MAX

/* Private state of one page chain. A page number of 0: none yet. */
struct hk_reader_chain {
	bool started, sought, broken;
	uint32_t oldest; /* first page not given back */
	uint32_t page;	 /* being read */
	uint32_t tail;	 /* last page seen */
	uint32_t pages;	 /* oldest .. tail */
	uint32_t tid;	 /* of the thread whose records come at `at` */
	uint64_t thread;
	uint64_t position;  /* delivered up to here */
	uint64_t at;	    /* parsed up to here; lower than `position` only after a seek */
	uint64_t page_base; /* position of page's body */
	uint64_t tail_base;
	uint64_t tail_end; /* committed up to here, as last seen */
	uint64_t released; /* records before `oldest` */
	uint64_t records;  /* records before `at` */
};

struct hk_reader_slot {
	struct hk_reader_chain chain[HK_STREAMS];
};

/* A valid block never changes its kind. */
struct hk_reader_block {
	uint8_t kind; /* enum hk_block_kind, 0: invalid */
	uint16_t offset;
	uint32_t text_bytes; /* of `text` copied so far */
	char *text;	     /* private copy of a strings block, NULL until asked for */
};

/* Numbers of the blocks of one kind, in order. */
struct hk_reader_list {
	uint32_t *numbers;
	uint32_t count, room;
};

struct hk_reader_site {
	struct hk_site_info info;
	uint64_t offset; /* of the site in the file; 0: not found yet */
	bool copied;
};
#define HK_READER_SITES_PER_PAGE 256u

struct hk_reader {
	int fd;
	bool stale;
	bool orphans_swept;
	char *map;
	uint64_t map_bytes; /* blocks_max blocks, whatever the file has */
	uint32_t blocks_max;
	uint32_t blocks_limit; /* the file will not have more, at most blocks_max */
	struct hk_guard *guard;
	struct hk_segment_identity identity;
	uint64_t damage;

	uint32_t block_count, block_room;
	struct hk_reader_block *blocks;
	struct hk_reader_list threads, cells, sites, frames, objects, codes, kernels;
	uint32_t kernel_number; /* kernels before kernel_cursor */
	uint64_t kernel_cursor; /* units read so far */
	char kernel_name[HK_KERNEL_NAME_BYTES + 8u];

	struct hk_reader_site **site_pages;
	uint32_t site_page_count;
	uint32_t site_cursor;	/* sites before it are found */
	uint32_t sites_counted; /* as of the last search */
	uint32_t site_searches; /* since the last refresh */

	struct hk_reader_slot *slots;
	uint32_t slot_room;

	uint64_t page_copy[HK_PAGE_BODY_BYTES / sizeof(uint64_t)];
};

static inline uint32_t hk_map_u32(const void *at)
{
	return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
}

static inline uint64_t hk_map_u64(const void *at)
{
	return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
}

typedef uint64_t __attribute__((may_alias)) hk_map_word;

/* Copies whole words, each of them untorn, whatever fields they hold. */
static inline void hk_map_copy(void *to, const void *from, size_t bytes)
{
	hk_map_word *out = to;
	const hk_map_word *in = from;
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
		out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
	}
}

static inline char *hk_map_block(const struct hk_reader *reader, uint32_t number)
{
	return reader->map + (uint64_t)number * HK_BLOCK_BYTES;
}

static inline bool hk_map_failed(struct hk_reader *reader)
{
	reader->stale = reader->stale || hk_guard_poisoned(reader->guard);
	return reader->stale;
}

/* Items of STRIDE that fit a block whose items start right after its header. */
static inline uint32_t hk_map_capacity(uint32_t stride)
{
	return (HK_BLOCK_BYTES - (uint32_t)sizeof(struct hk_block)) / stride;
}

/* Items in use in block NUMBER, at most LIMIT. Pairs with the writer's release of `used`. */
static inline uint32_t hk_map_used(const struct hk_reader *reader, uint32_t number, uint32_t limit)
{
	const struct hk_block *block = (const void *)hk_map_block(reader, number);
	uint32_t used = atomic_load_explicit(&block->used, memory_order_acquire);
	return used < limit ? used : limit;
}

/* Item ORDINAL of the blocks in LIST, or NULL; *ordinal moves on over the unused rest of blocks. */
char *hk_map_item(const struct hk_reader *reader, const struct hk_reader_list *list,
		  uint32_t stride, uint64_t *ordinal);

/* Control bytes of TEXT become '?'. */
void hk_map_make_printable(char *text, size_t bytes);

/* A page's header at one moment. */
struct hk_page_view {
	uint32_t state, next, tid;
	uint64_t position, written, thread;
};
#define HK_PAGE_POSITION_MAX (1ull << 62)

static inline struct hk_page *hk_map_page(const struct hk_reader *reader, uint32_t number)
{
	return (struct hk_page *)(void *)hk_map_block(reader, number);
}

/* Looks at page NUMBER of chain (SLOT, STREAM). -EBADMSG: no such page, or not in use by that
 * chain. */
int hk_page_find(const struct hk_reader *reader, uint32_t slot, uint32_t stream, uint32_t number,
		 struct hk_page_view *ret_view);

/* Looks at the page after the FULL page VIEW. -EBADMSG; -EAGAIN: a block newer than the last
 * refresh. */
int hk_page_follow(const struct hk_reader *reader, uint32_t slot, uint32_t stream,
		   const struct hk_page_view *view, struct hk_page_view *ret_next);

#define HK_ALIKE_STEP 16u

/* Whether none of HK_ALIKE_STEP records of SIZE words each has another kind or size than LIKE, word
 * 1 from HK_RECORD_KIND_SHIFT on, or an escaped duration. */
bool hk_records_alike(const uint64_t *words, size_t size, uint64_t like);

/* Private chains of thread SLOT, or NULL: no memory or an absurd number. */
struct hk_reader_slot *hk_reader_slot_state(struct hk_reader *reader, uint32_t slot);

/* The slot as the agent writes it, or NULL if there is none yet. */
struct hk_thread_slot *hk_reader_slot_shared(const struct hk_reader *reader, uint32_t slot);

/* Bytes committed on chain (SLOT, STREAM) and not yet read. */
uint64_t hk_reader_chain_pending(struct hk_reader *reader, uint32_t slot, uint32_t stream);

#endif
