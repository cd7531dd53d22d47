#include "segment_maker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(int holds, const char *what)
{
	if (!holds) {
		perror(what);
		abort();
	}
}

void segment_maker_init(struct segment_maker *maker, uint32_t blocks_max)
{
	memset(maker, 0, sizeof(*maker));
	snprintf(maker->directory, sizeof(maker->directory), "/tmp/hk-test-segment-XXXXXX");
	check(mkdtemp(maker->directory) != NULL, "mkdtemp");
	maker->dirfd = open(maker->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check(maker->dirfd >= 0, "directory");
	snprintf(maker->name, sizeof(maker->name), "000102030405060708090a0b0c0d0eff.seg");
	maker->fd = openat(maker->dirfd, maker->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	check(maker->fd >= 0, "segment");
	check(ftruncate(maker->fd, HK_BLOCK_BYTES) == 0, "ftruncate");
	maker->blocks_max = blocks_max;
	maker->map = mmap(NULL, (size_t)blocks_max * HK_BLOCK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED, maker->fd, 0);
	check(maker->map != MAP_FAILED, "mmap");

	struct hk_segment_header *header = segment_maker_header(maker);
	header->magic = HK_SEGMENT_MAGIC;
	header->major = HK_SEGMENT_MAJOR;
	header->minor = HK_SEGMENT_MINOR;
	header->header_bytes = sizeof(*header);
	header->block_bytes = HK_BLOCK_BYTES;
	header->blocks_max = blocks_max;
	header->cell_stride = sizeof(struct hk_cell);
	header->thread_stride = sizeof(struct hk_thread_slot);
	header->site_stride = sizeof(struct hk_site);
	header->open_calls = HK_OPEN_CALLS;
	for (int i = 0; i < 16; i++) {
		header->uid[i] = (uint8_t)(i < 15 ? i : 0xff);
	}
	header->pid = 4242;
	header->ppid = 4241;
	header->pid_namespace = 4026531836u;
	header->pid_start = 987654;
	header->rank = 3;
	header->world_size = 4;
	header->local_rank = 1;
	header->clock_kind = HK_CLOCK_TSC;
	header->tick_ns_q32 = 1431655765;
	header->start = (struct hk_anchor){1000, 2000, 3000};
	header->default_level = 5;
	snprintf(header->job, sizeof(header->job), "job-1");
	snprintf(header->job_source, sizeof(header->job_source), "HOOK_JOB");
	snprintf(header->host, sizeof(header->host), "node7");
	snprintf(header->program, sizeof(header->program), "/usr/bin/a.out");
	snprintf(header->command, sizeof(header->command), "./a.out \x1b[31m -n 3");
	header->blocks = 1;
	header->state = HK_STATE_OPEN;
}

void segment_maker_fini(struct segment_maker *maker)
{
	munmap(maker->map, (size_t)maker->blocks_max * HK_BLOCK_BYTES);
	close(maker->fd);
	unlinkat(maker->dirfd, maker->name, 0);
	close(maker->dirfd);
	check(rmdir(maker->directory) == 0, "rmdir");
}

struct hk_segment_header *segment_maker_header(struct segment_maker *maker)
{
	return (struct hk_segment_header *)(void *)maker->map;
}

struct hk_block *segment_maker_block(struct segment_maker *maker, uint32_t number)
{
	return (struct hk_block *)(void *)(maker->map + (size_t)number * HK_BLOCK_BYTES);
}

struct hk_page *segment_maker_page_at(struct segment_maker *maker, uint32_t number)
{
	return (struct hk_page *)(void *)segment_maker_block(maker, number);
}

uint32_t segment_maker_add_block(struct segment_maker *maker, uint32_t kind)
{
	static const uint32_t strides[] = {0, 408, 320, 256, 56, 1, 16384, 16, 40, 16, 16320};
	static const uint32_t offsets[] = {0, 64, 64, 256, 64, 64, 128, 64, 64, 64, 64};
	struct hk_segment_header *header = segment_maker_header(maker);
	uint32_t number = header->blocks;

	check(number < maker->blocks_max, "blocks_max");
	check(ftruncate(maker->fd, (off_t)(number + 1) * HK_BLOCK_BYTES) == 0, "ftruncate");
	struct hk_block *block = segment_maker_block(maker, number);
	block->magic = HK_BLOCK_MAGIC;
	block->kind = kind;
	block->stride = strides[kind];
	block->offset = offsets[kind];
	header->blocks = number + 1;
	return number;
}

static void *add_items(struct segment_maker *maker, uint32_t kind, uint32_t count)
{
	struct hk_block *block = segment_maker_block(maker, maker->open_block[kind]);
	if (!maker->open_block[kind] ||
	    block->offset + (block->used + count) * block->stride > HK_BLOCK_BYTES) {
		maker->open_block[kind] = segment_maker_add_block(maker, kind);
		block = segment_maker_block(maker, maker->open_block[kind]);
	}
	char *item = (char *)block + block->offset + block->used * block->stride;
	block->used += count;
	return item;
}

uint32_t segment_maker_string(struct segment_maker *maker, const char *text)
{
	uint16_t length = (uint16_t)strlen(text);
	char *item = add_items(maker, HK_BLOCK_STRINGS, (uint32_t)(length + 4) & ~1u);
	memcpy(item, &length, sizeof(length));
	memcpy(item + 2, text, length + 1u);
	return (uint32_t)(item - maker->map);
}

struct hk_site *segment_maker_site(struct segment_maker *maker, const char *function,
				   const char *library, const char *provider)
{
	uint32_t function_offset = segment_maker_string(maker, function);
	uint32_t library_offset = segment_maker_string(maker, library);
	uint32_t provider_offset = provider ? segment_maker_string(maker, provider) : 0;
	struct hk_site *site = add_items(maker, HK_BLOCK_SITES, 1);
	site->id = maker->sites++;
	site->function = function_offset;
	site->library = library_offset;
	site->provider = provider_offset;
	snprintf(site->domain, sizeof(site->domain), "mpi");
	site->flags = 0x10;
	site->meaning = 2;
	site->level = 5;
	site->key_count = 2;
	site->keys[0] = 7;
	site->keys[1] = 9;
	segment_maker_header(maker)->sites = maker->sites;
	return site;
}

struct hk_thread_slot *segment_maker_thread(struct segment_maker *maker, uint32_t state,
					    uint32_t tid, uint64_t uid)
{
	struct hk_thread_slot *thread = add_items(maker, HK_BLOCK_THREADS, 1);
	thread->tid = tid;
	thread->uid = uid;
	thread->state = state;
	maker->threads++;
	return thread;
}

struct hk_cell *segment_maker_cell(struct segment_maker *maker, uint32_t slot, uint32_t site)
{
	struct hk_cell *cell = add_items(maker, HK_BLOCK_CELLS, 1);
	cell->calls = 1000 + site;
	cell->errors = 1;
	cell->total_ns = 5000000000u + site;
	cell->self_ns = 4000000000u;
	cell->outermost_ns = 4500000000u;
	cell->bytes = 1ull << 40;
	cell->min_ns = 12;
	cell->max_ns = 99999;
	cell->slot = slot;
	cell->site = site + 1;
	return cell;
}

uint32_t segment_maker_octave(struct segment_maker *maker, uint64_t first)
{
	uint64_t *buckets = add_items(maker, HK_BLOCK_OCTAVES, 1);
	for (uint32_t i = 0; i < HK_OCTAVE_BUCKETS; i++) {
		buckets[i] = first + i;
	}
	return (uint32_t)((char *)buckets - maker->map);
}

struct hk_stack_frame *segment_maker_frame(struct segment_maker *maker, uint32_t caller,
					   uint32_t object, uint64_t address)
{
	struct hk_stack_frame *frame = add_items(maker, HK_BLOCK_FRAMES, 1);
	*frame = (struct hk_stack_frame){caller, object, address};
	return frame;
}

struct hk_stack_object *segment_maker_object(struct segment_maker *maker, const char *path)
{
	uint32_t offset = segment_maker_string(maker, path);
	struct hk_stack_object *object = add_items(maker, HK_BLOCK_OBJECTS, 1);
	*object = (struct hk_stack_object){.path = offset, .build_id_bytes = 20};
	return object;
}

struct hk_stack_code *segment_maker_code(struct segment_maker *maker, const char *file,
					 const char *name, uint32_t first_line)
{
	uint32_t file_offset = segment_maker_string(maker, file);
	uint32_t name_offset = segment_maker_string(maker, name);
	struct hk_stack_code *code = add_items(maker, HK_BLOCK_CODES, 1);
	*code = (struct hk_stack_code){file_offset, name_offset, first_line, 0};
	return code;
}

uint32_t segment_maker_page(struct segment_maker *maker, struct hk_thread_slot *thread,
			    uint32_t slot, uint32_t stream, uint32_t previous)
{
	uint32_t number = segment_maker_add_block(maker, HK_BLOCK_PAGE);
	struct hk_page *page = segment_maker_page_at(maker, number);
	page->slot = slot;
	page->stream = stream;
	page->thread = thread->uid;
	page->tid = thread->tid;
	page->state = HK_PAGE_ACTIVE;
	if (previous) {
		struct hk_page *before = segment_maker_page_at(maker, previous);
		page->position = before->position + before->written;
		before->next = number;
		before->state = HK_PAGE_FULL;
	} else {
		thread->chain[stream].first = number;
	}
	return number;
}

int segment_maker_record(struct segment_maker *maker, uint32_t number, uint64_t start,
			 uint32_t duration, uint32_t site, uint32_t kind, const uint64_t *words,
			 uint32_t count)
{
	struct hk_page *page = segment_maker_page_at(maker, number);
	uint64_t bytes = (2u + count) * 8u;
	if (page->written + bytes > HK_PAGE_BODY_BYTES) {
		return 0;
	}
	uint64_t *at = page->body + page->written / 8;
	at[0] = start;
	at[1] = duration | (uint64_t)site << 32 | (uint64_t)kind << 52 | (uint64_t)count << 56;
	for (uint32_t i = 0; i < count; i++) {
		at[2 + i] = words[i];
	}
	page->written += bytes;
	return 1;
}

void segment_maker_fill(struct segment_maker *maker)
{
	static const uint64_t words[] = {11, 22, 33};

	segment_maker_site(maker, "MPI_Send", "/usr/bin/a.out", "/lib/libmpi.so.40");
	segment_maker_site(maker, "malloc", "/lib/liba.so", NULL);
	segment_maker_site(maker, "we\x1bird", "*", NULL);
	segment_maker_object(maker, "/usr/bin/python3");
	segment_maker_code(maker, "/home/me/n\xc3\xa4me.py", "Class.method", 12);
	segment_maker_code(maker, "<string>", "we\x1bird", 1);
	segment_maker_frame(maker, 0, 1, 0x1234);
	segment_maker_frame(maker, 1, HK_FRAME_PYTHON | 1, 14);
	segment_maker_frame(maker, 2, HK_FRAME_PYTHON | 2, 0);
	for (uint32_t slot = 0; slot < 3; slot++) {
		struct hk_thread_slot *thread = segment_maker_thread(
		    maker, slot == 2 ? HK_SLOT_VACANT : HK_SLOT_LIVE, 100 + slot, slot + 1);
		thread->depth = slot;
		thread->open[0].site = 1;
		thread->open[0].start_ticks = 777;
		for (uint32_t site = 0; site < 3; site++) {
			struct hk_cell *cell = segment_maker_cell(maker, slot, site);
			cell->octave[5] = segment_maker_octave(maker, slot * 1000 + site * 100);
		}
		for (uint32_t stream = 0; stream < 2; stream++) {
			uint32_t page = 0;
			for (uint32_t i = 0; i < 3; i++) {
				page = segment_maker_page(maker, thread, slot, stream, page);
				for (uint32_t n = 0; n < 40; n++) {
					uint64_t owner[] = {slot + 50, slot + 500};
					int is_switch = i == 1 && n == 20;
					segment_maker_record(
					    maker, page, n, 10, n % 3,
					    is_switch ? HK_RECORD_THREAD : HK_RECORD_CALL,
					    is_switch ? owner : words, is_switch ? 2 : n % 4);
				}
			}
		}
	}
}
