#include "ring/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>

#include "ring/kernel.h"

#define CROWDED_BLOCKS 4u      /* a step of growth where room is short */
#define REFUSALS_IN_A_ROW 256u /* pages not requested again after one refusal */
#define EMPTY_PROBES 64u       /* pages checked after a whole pool was found empty */
#define MADV_POPULATE_WRITE_5_14 23

static const uint32_t item_stride[] = {
    [HK_BLOCK_THREADS] = sizeof(struct hk_thread_slot),
    [HK_BLOCK_CELLS] = sizeof(struct hk_cell),
    [HK_BLOCK_OCTAVES] = HK_OCTAVE_BUCKETS * sizeof(uint64_t),
    [HK_BLOCK_SITES] = sizeof(struct hk_site),
    [HK_BLOCK_STRINGS] = 1,
    [HK_BLOCK_PAGE] = HK_BLOCK_BYTES,
    [HK_BLOCK_FRAMES] = sizeof(struct hk_stack_frame),
    [HK_BLOCK_OBJECTS] = sizeof(struct hk_stack_object),
    [HK_BLOCK_CODES] = sizeof(struct hk_stack_code),
    [HK_BLOCK_ASKS] = sizeof(struct hk_ask_python),
    [HK_BLOCK_KERNELS] = HK_KERNEL_UNIT,
};

static struct hk_block *block_at(const struct hk_writer *writer, uint32_t number)
{
	return (struct hk_block *)((char *)writer->header + (uint64_t)number * HK_BLOCK_BYTES);
}

/* Growing past RLIMIT_FSIZE would send the host a SIGXFSZ. */
static bool file_limit_allows(uint64_t bytes)
{
	struct rlimit limit = {0};
	if (hk_kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit, 0, 0) < 0) {
		return true;
	}
	return limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

static int reserve(int fd, uint64_t from, uint64_t to)
{
	if (!file_limit_allows(to)) {
		return -EFBIG;
	}
	/* A hole in a full tmpfs is a SIGBUS on first touch; fallocate says so now. */
	return (int)hk_kernel(SYS_fallocate, fd, 0, from, to - from, 0, 0);
}

bool hk_writer_crowds(uint64_t free_bytes, uint64_t all_bytes, uint64_t more_bytes)
{
	uint64_t others =
	    all_bytes / 4 < HK_LEFT_TO_OTHERS_BYTES ? all_bytes / 4 : HK_LEFT_TO_OTHERS_BYTES;
	return free_bytes < more_bytes || free_bytes - more_bytes < others;
}

static bool is_crowded(int fd, uint64_t more_bytes)
{
	struct statfs space;
	if (hk_kernel(SYS_fstatfs, fd, &space, 0, 0, 0, 0) < 0) {
		return false;
	}
	return hk_writer_crowds((uint64_t)space.f_bavail * (uint64_t)space.f_bsize,
				(uint64_t)space.f_blocks * (uint64_t)space.f_bsize, more_bytes);
}

static int open_file(const struct hk_writer *writer)
{
	return (int)hk_kernel(SYS_openat, AT_FDCWD, writer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW,
			      0, 0, 0);
}

/* Grows the file. Statistics may use all room; records, which are many, leave a reserve. */
static int grow(struct hk_writer *writer, bool records)
{
	uint32_t step = HK_GROW_BYTES / HK_BLOCK_BYTES;
	uint32_t to = writer->file_blocks / step * step + step;
	if (writer->file_blocks == 1) {
		to = HK_FIRST_BYTES / HK_BLOCK_BYTES; /* short-lived processes make few calls */
	}
	if (to > writer->mapped_blocks) {
		to = writer->mapped_blocks;
	}
	if (writer->fixed || to <= writer->file_blocks) {
		return -ENOSPC;
	}
	int fd = open_file(writer);
	if (fd < 0) {
		return fd;
	}
	int status = 0;
	if (writer->file_blocks > 1 &&
	    is_crowded(fd, (to - writer->file_blocks) * HK_BLOCK_BYTES)) {
		status = records ? -ENOSPC : 0;
		to = to < writer->file_blocks + CROWDED_BLOCKS
			 ? to
			 : writer->file_blocks + CROWDED_BLOCKS;
	}
	uint64_t from_bytes = (uint64_t)writer->file_blocks * HK_BLOCK_BYTES;
	uint64_t to_bytes = (uint64_t)to * HK_BLOCK_BYTES;
	status = status < 0 ? status : reserve(fd, from_bytes, to_bytes);
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	if (status < 0) {
		return status;
	}
	/* First touches of a page cost a microsecond each: take them here at once, not inside a
	 * traced call. */
	hk_kernel(SYS_madvise, (char *)writer->header + from_bytes, to_bytes - from_bytes,
		  MADV_POPULATE_WRITE_5_14, 0, 0, 0);
	writer->file_blocks = to;
	return 0;
}

void hk_writer_reserve(struct hk_writer *writer, uint64_t bytes)
{
	while ((uint64_t)writer->file_blocks * HK_BLOCK_BYTES < bytes && grow(writer, true) == 0) {
	}
}

bool hk_writer_can_open(const struct hk_writer *writer)
{
	int fd = open_file(writer);
	if (fd >= 0) {
		hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	return fd >= 0;
}

void hk_writer_cut(struct hk_writer *writer, uint64_t bytes)
{
	uint32_t used = atomic_load_explicit(&writer->header->blocks, memory_order_relaxed);
	uint64_t blocks = bytes / HK_BLOCK_BYTES;
	blocks = blocks > used ? blocks : used;
	if (blocks < writer->mapped_blocks) {
		uint64_t kept = blocks * HK_BLOCK_BYTES;
		hk_kernel(SYS_munmap, (char *)writer->header + kept,
			  (uint64_t)writer->mapped_blocks * HK_BLOCK_BYTES - kept, 0, 0, 0, 0);
		writer->mapped_blocks = (uint32_t)blocks;
	}
	if (writer->file_blocks > writer->mapped_blocks) {
		writer->file_blocks = writer->mapped_blocks;
	}
}

void hk_writer_fix(struct hk_writer *writer, bool fixed)
{
	writer->fixed = fixed;
	atomic_store_explicit(&writer->header->blocks_limit,
			      fixed ? writer->file_blocks : writer->mapped_blocks,
			      memory_order_relaxed);
}

/* Makes sure block NUMBER exists. After one refusal, pages leave the remaining room to
 * statistics. */
static int make_room(struct hk_writer *writer, uint32_t number, bool records)
{
	bool refused = records && writer->pages_refused;
	if (number < writer->file_blocks && !refused) {
		return 0;
	}
	if (refused && writer->pages_refused % REFUSALS_IN_A_ROW) {
		writer->pages_refused++;
		return -ENOSPC;
	}
	int status = grow(writer, records);
	if (records) {
		writer->pages_refused = status < 0 ? writer->pages_refused + 1 : 0;
	}
	return status;
}

static uint32_t new_block(struct hk_writer *writer, enum hk_block_kind kind)
{
	struct hk_segment_header *header = writer->header;
	uint32_t number = atomic_load_explicit(&header->blocks, memory_order_relaxed);
	if (make_room(writer, number, kind == HK_BLOCK_PAGE) < 0) {
		return 0;
	}
	struct hk_block *block = block_at(writer, number);
	block->magic = HK_BLOCK_MAGIC;
	block->kind = kind;
	block->stride = item_stride[kind];
	block->offset = kind == HK_BLOCK_OCTAVES ? item_stride[kind]
			: kind == HK_BLOCK_PAGE	 ? HK_PAGE_HEADER_BYTES
						 : sizeof(struct hk_block);
	/* Pairs with the reader's acquire of `blocks`. */
	atomic_store_explicit(&header->blocks, number + 1, memory_order_release);
	return number;
}

/* Room for COUNT more items of KIND in one block; the items count as used only after *_commit. */
static void *take_items(struct hk_writer *writer, enum hk_block_kind kind, uint32_t count)
{
	uint32_t number = writer->open_block[kind];
	uint32_t stride = item_stride[kind];
	struct hk_block *block = number ? block_at(writer, number) : NULL;
	uint32_t used = block ? atomic_load_explicit(&block->used, memory_order_relaxed) : 0;
	if (!block || block->offset + (uint64_t)(used + count) * stride > HK_BLOCK_BYTES) {
		number = new_block(writer, kind);
		if (!number) {
			return NULL;
		}
		writer->open_block[kind] = number;
		block = block_at(writer, number);
		used = 0;
	}
	return (char *)block + block->offset + (uint64_t)used * stride;
}

static void commit_items(struct hk_writer *writer, enum hk_block_kind kind, uint32_t count)
{
	struct hk_block *block = block_at(writer, writer->open_block[kind]);
	uint32_t used = atomic_load_explicit(&block->used, memory_order_relaxed);
	atomic_store_explicit(&block->used, used + count, memory_order_release);
}

static void *take_item(struct hk_writer *writer, enum hk_block_kind kind)
{
	void *item = take_items(writer, kind, 1);
	if (item) {
		commit_items(writer, kind, 1);
	}
	return item;
}

uint32_t hk_writer_string(struct hk_writer *writer, const char *text)
{
	uint32_t length = 0;
	while (text[length] && length < HK_STRING_MAX) {
		length++;
	}
	uint32_t bytes = (2 + length + 1 + 1) & ~1u;
	char *item = take_items(writer, HK_BLOCK_STRINGS, bytes);
	if (!item) {
		return 0;
	}
	*(uint16_t *)(void *)item = (uint16_t)length;
	for (uint32_t i = 0; i < length; i++) {
		item[2 + i] = text[i];
	}
	item[2 + length] = 0;
	commit_items(writer, HK_BLOCK_STRINGS, bytes);
	return (uint32_t)(item - (char *)writer->header);
}

struct hk_site *hk_writer_site(struct hk_writer *writer)
{
	return take_item(writer, HK_BLOCK_SITES);
}

struct hk_thread_slot *hk_writer_thread(struct hk_writer *writer, uint32_t *ret_slot)
{
	struct hk_thread_slot *slot = take_item(writer, HK_BLOCK_THREADS);
	if (slot) {
		*ret_slot = writer->threads++;
	}
	return slot;
}

struct hk_cell *hk_writer_cell(struct hk_writer *writer)
{
	struct hk_cell *cell = take_item(writer, HK_BLOCK_CELLS);
	if (cell) {
		cell->min_ns = ~0ULL;
	}
	return cell;
}

uint32_t hk_writer_octave(struct hk_writer *writer)
{
	char *octave = take_item(writer, HK_BLOCK_OCTAVES);
	return octave ? (uint32_t)(octave - (char *)writer->header) : 0;
}

uint32_t hk_writer_frame(struct hk_writer *writer, uint32_t caller, uint32_t object,
			 uint64_t address)
{
	struct hk_stack_frame *frame =
	    writer->frames < HK_FRAMES_MAX ? take_items(writer, HK_BLOCK_FRAMES, 1) : NULL;
	if (!frame) {
		return 0;
	}
	*frame = (struct hk_stack_frame){caller, object, address};
	commit_items(writer, HK_BLOCK_FRAMES, 1);
	return ++writer->frames;
}

uint32_t hk_writer_object(struct hk_writer *writer, const char *path, const uint8_t *build_id,
			  uint32_t build_id_bytes)
{
	uint32_t text = hk_writer_string(writer, path);
	struct hk_stack_object *object = text && writer->objects < HK_STACK_OBJECTS_MAX
					     ? take_items(writer, HK_BLOCK_OBJECTS, 1)
					     : NULL;
	if (!object) {
		return 0;
	}
	object->path = text;
	object->build_id_bytes =
	    build_id_bytes <= HK_BUILD_ID_BYTES ? build_id_bytes : HK_BUILD_ID_BYTES;
	for (uint32_t i = 0; i < object->build_id_bytes; i++) {
		object->build_id[i] = build_id[i];
	}
	commit_items(writer, HK_BLOCK_OBJECTS, 1);
	return ++writer->objects;
}

uint32_t hk_writer_code(struct hk_writer *writer, uint32_t file, uint32_t name, uint32_t first_line)
{
	struct hk_stack_code *code =
	    writer->codes < HK_STACK_CODES_MAX ? take_items(writer, HK_BLOCK_CODES, 1) : NULL;
	if (!code) {
		return 0;
	}
	*code = (struct hk_stack_code){file, name, first_line, 0};
	commit_items(writer, HK_BLOCK_CODES, 1);
	return ++writer->codes;
}

/* Room for UNITS more units of kernels, or NULL if their share of the segment is used up. */
static void *take_kernel(struct hk_writer *writer, uint32_t units)
{
	uint32_t before = writer->open_block[HK_BLOCK_KERNELS];
	uint32_t share = writer->mapped_blocks / 16;
	const struct hk_block *open = before ? block_at(writer, before) : NULL;
	uint32_t used = open ? atomic_load_explicit(&open->used, memory_order_relaxed) : 0;
	bool fits = open && open->offset + (used + units) * HK_KERNEL_UNIT <= HK_BLOCK_BYTES;
	if (!fits &&
	    (writer->kernel_blocks >= HK_KERNEL_BLOCKS_MAX || writer->kernel_blocks > share)) {
		return NULL;
	}
	void *item = take_items(writer, HK_BLOCK_KERNELS, units);
	writer->kernel_blocks += writer->open_block[HK_BLOCK_KERNELS] != before;
	return item;
}

uint32_t hk_writer_kernel(struct hk_writer *writer, const struct hk_kernel *kernel,
			  const char *name)
{
	uint32_t units = hk_kernel_units(kernel->name_bytes);
	struct hk_kernel *item =
	    writer->kernels < HK_KERNELS_MAX ? take_kernel(writer, units) : NULL;
	if (!item) {
		return 0;
	}
	item->hash = kernel->hash;
	item->name_bytes = kernel->name_bytes;
	item->object = kernel->object;
	item->address = kernel->address;
	for (uint32_t i = 0; i < hk_kernel_kept(kernel->name_bytes); i++) {
		item->name[i] = name[i];
	}
	commit_items(writer, HK_BLOCK_KERNELS, units);
	return ++writer->kernels;
}

struct hk_ask_python *hk_writer_ask(struct hk_writer *writer)
{
	return take_item(writer, HK_BLOCK_ASKS);
}

static struct hk_page *free_page(struct hk_writer *writer, struct hk_page_pool *pool,
				 uint32_t probes)
{
	for (uint32_t i = 0; i < probes && i < pool->count; i++) {
		uint32_t number = pool->blocks[pool->cursor];
		pool->cursor = pool->cursor + 1 < pool->count ? pool->cursor + 1 : 0;
		struct hk_page *page = (struct hk_page *)block_at(writer, number);
		/* Pairs with the collector's release when it gives the page back. */
		if (atomic_load_explicit(&page->state, memory_order_acquire) == HK_PAGE_FREE) {
			return page;
		}
	}
	return NULL;
}

/* Most pages that POOL may have: its share of a file that may be as long as the mapping, or will
 * never be longer than it is. */
static uint32_t pool_limit(const struct hk_writer *writer, const struct hk_page_pool *pool)
{
	uint32_t room = writer->fixed ? writer->file_blocks : writer->mapped_blocks;
	return room / pool->share;
}

struct hk_page *hk_writer_page(struct hk_writer *writer, uint32_t slot, uint32_t stream,
			       uint64_t position, uint64_t thread, uint32_t tid)
{
	struct hk_page_pool *pool = &writer->pool[stream == HK_STREAM_MEMORY];
	/* Pages come back in about the order they were sealed: a short search before growing, a
	 * full one (up to 100 us) before giving up. */
	struct hk_page *page = free_page(writer, pool, 8);
	if (!page && pool->count < pool_limit(writer, pool)) {
		uint32_t number = new_block(writer, HK_BLOCK_PAGE);
		if (number) {
			pool->blocks[pool->count++] = number;
			page = (struct hk_page *)block_at(writer, number);
		}
	}
	if (!page) {
		page = free_page(writer, pool, pool->empty ? EMPTY_PROBES : pool->count);
	}
	pool->empty = !page;
	if (!page) {
		return NULL;
	}
	page->slot = slot;
	page->stream = stream;
	page->position = position;
	page->thread = thread;
	page->tid = tid;
	atomic_store_explicit(&page->next, 0, memory_order_relaxed);
	atomic_store_explicit(&page->written, 0, memory_order_relaxed);
	atomic_store_explicit(&page->state, HK_PAGE_ACTIVE, memory_order_release);
	return page;
}

static void write_path(char *path, const char *directory, const uint8_t uid[16])
{
	static const char digits[] = "0123456789abcdef";
	char *out = path;
	for (const char *in = directory; *in && out < path + PATH_MAX - 48; in++) {
		*out++ = *in;
	}
	*out++ = '/';
	for (unsigned i = 0; i < 16; i++) {
		*out++ = digits[uid[i] >> 4];
		*out++ = digits[uid[i] & 15];
	}
	for (const char *in = HK_SEGMENT_SUFFIX; *in; in++) {
		*out++ = *in;
	}
	*out = 0;
}

int hk_writer_create(struct hk_writer *writer, const char *directory,
		     const struct hk_segment_header *template, uint32_t blocks_max,
		     uint32_t *pool_room)
{
	write_path(writer->path, directory, template->uid);
	int fd = (int)hk_kernel(SYS_openat, AT_FDCWD, writer->path,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600, 0, 0);
	if (fd < 0) {
		return fd;
	}
	uint64_t span = (uint64_t)blocks_max * HK_BLOCK_BYTES;
	int status = reserve(fd, 0, HK_BLOCK_BYTES);
	long address = status;
	if (status == 0) {
		address = hk_kernel(SYS_mmap, 0, span, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_NORESERVE, fd, 0);
	}
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	if (address < 0 && address > -4096) {
		hk_kernel(SYS_unlinkat, AT_FDCWD, writer->path, 0, 0, 0, 0);
		return (int)address;
	}
	struct hk_segment_header *header = (struct hk_segment_header *)address;
	*header = *template;
	header->major = HK_SEGMENT_MAJOR;
	header->minor = HK_SEGMENT_MINOR;
	header->header_bytes = sizeof(*header);
	header->block_bytes = HK_BLOCK_BYTES;
	header->blocks_max = blocks_max;
	header->cell_stride = sizeof(struct hk_cell);
	header->thread_stride = sizeof(struct hk_thread_slot);
	header->site_stride = sizeof(struct hk_site);
	header->open_calls = HK_OPEN_CALLS;
	atomic_store_explicit(&header->blocks, 1, memory_order_relaxed);
	atomic_store_explicit(&header->state, HK_STATE_OPEN, memory_order_relaxed);
	writer->header = header;
	writer->file_blocks = 1;
	writer->mapped_blocks = blocks_max;
	writer->fixed = false;
	writer->pages_refused = 0;
	writer->threads = writer->frames = writer->objects = writer->codes = 0;
	writer->kernels = writer->kernel_blocks = 0;
	for (uint32_t kind = 0; kind < sizeof(writer->open_block) / sizeof(uint32_t); kind++) {
		writer->open_block[kind] = 0;
	}
	/* Calls may take half of the blocks, memory records a quarter. A flood of calls therefore
	 * leaves a quarter to memory records, and a quarter to cells and sites. */
	writer->pool[0] = (struct hk_page_pool){.blocks = pool_room, .share = 2};
	writer->pool[1] = (struct hk_page_pool){.blocks = pool_room + blocks_max, .share = 4};
	/* The magic is written last: a collector that opens the file earlier tries again later. */
	__atomic_store_n(&header->magic, HK_SEGMENT_MAGIC, __ATOMIC_RELEASE);
	return 0;
}
