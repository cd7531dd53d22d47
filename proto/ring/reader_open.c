#include "ring/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/reader_map.h"

#define NAME_BYTES (32u + sizeof(HK_SEGMENT_SUFFIX) - 1u)

#define ERRNO_MAX 4095

/* A tick between 1/16 ns and 1 us. */
#define Q32_LEAST ((1ull << 32) / 16u)
#define Q32_MOST ((1ull << 32) * 1000u)

void hk_map_make_printable(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes && text[i]; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
			text[i] = '?';
		}
	}
}

char *hk_map_item(const struct hk_reader *reader, const struct hk_reader_list *list,
		  uint32_t stride, uint64_t *ordinal)
{
	uint32_t capacity = hk_map_capacity(stride);

	while (*ordinal / capacity < list->count) {
		uint32_t number = list->numbers[*ordinal / capacity];
		uint32_t item = (uint32_t)(*ordinal % capacity);
		if (item < hk_map_used(reader, number, capacity)) {
			return hk_map_block(reader, number) + sizeof(struct hk_block) +
			       (uint64_t)item * stride;
		}
		*ordinal += capacity - item;
	}
	return NULL;
}

static int check_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0) {
		return -errno;
	}
	if (!S_ISREG(status.st_mode)) {
		return -EPROTO;
	}
	if (status.st_uid != geteuid() && status.st_uid != 0 && geteuid() != 0) {
		return -EPERM;
	}
	return status.st_size < (off_t)HK_BLOCK_BYTES ? -EAGAIN : 0;
}

/* The file's name must be the identity in the header: otherwise two files could claim to be the
 * same process. */
static bool is_named(const char *name, const uint8_t uid[16])
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(name) != NAME_BYTES || strcmp(name + 32, HK_SEGMENT_SUFFIX) != 0) {
		return false;
	}
	for (size_t i = 0; i < 16; i++) {
		if (name[2 * i] != digits[uid[i] >> 4] || name[2 * i + 1] != digits[uid[i] & 15]) {
			return false;
		}
	}
	return true;
}

static int check_header(const struct hk_segment_header *header, const char *name)
{
	if (header->magic == 0) {
		return -EAGAIN;
	}
	if (header->magic != HK_SEGMENT_MAGIC) {
		return -EPROTO;
	}
	if (header->major != HK_SEGMENT_MAJOR || header->features != 0) {
		return -EPROTONOSUPPORT;
	}
	bool shape =
	    header->header_bytes == sizeof(*header) && header->block_bytes == HK_BLOCK_BYTES &&
	    header->cell_stride == sizeof(struct hk_cell) &&
	    header->thread_stride == sizeof(struct hk_thread_slot) &&
	    header->site_stride == sizeof(struct hk_site) && header->open_calls == HK_OPEN_CALLS &&
	    header->blocks_max >= 1 && header->blocks_max <= HK_SEGMENT_BLOCKS_MAX;
	bool clock =
	    (header->clock_kind == HK_CLOCK_TSC || header->clock_kind == HK_CLOCK_MONOTONIC) &&
	    header->tick_ns_q32 >= Q32_LEAST && header->tick_ns_q32 <= Q32_MOST;
	return shape && clock && is_named(name, header->uid) ? 0 : -EPROTO;
}

/* SIZE bytes with a NUL among them. */
static void copy_text(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size - 1);
	memset(to, 0, size);
	memcpy(to, from, length);
	hk_map_make_printable(to, length);
}

#define COPY_TEXT(to, from, field) copy_text((to)->field, (from)->field, sizeof((to)->field))

static void copy_identity(struct hk_segment_identity *to, const struct hk_segment_header *from)
{
	memcpy(to->uid, from->uid, sizeof(to->uid));
	memcpy(to->parent, from->parent, sizeof(to->parent));
	to->forked = memcmp(to->parent, (const uint8_t[16]){0}, sizeof(to->parent)) != 0;
	to->pid = from->pid;
	to->ppid = from->ppid;
	to->pid_namespace = from->pid_namespace;
	to->pid_start = from->pid_start;
	to->rank = from->rank >= 0 ? from->rank : -1;
	to->world_size = from->world_size > 0 ? from->world_size : -1;
	to->local_rank = from->local_rank >= 0 ? from->local_rank : -1;
	to->clock_kind = from->clock_kind;
	to->tick_ns_q32 = from->tick_ns_q32;
	to->start = from->start;
	to->default_level = from->default_level;
	to->budget_ppm = from->budget_ppm < 1000000 ? from->budget_ppm : 1000000;
	to->short_floor_ns = from->short_floor_ns;
	COPY_TEXT(to, from, job);
	COPY_TEXT(to, from, job_source);
	COPY_TEXT(to, from, host);
	COPY_TEXT(to, from, program);
	COPY_TEXT(to, from, command);
	COPY_TEXT(to, from, hooks);
	COPY_TEXT(to, from, note);
}

static int map_file(struct hk_reader *reader, uint32_t blocks_max)
{
	uint64_t bytes = (uint64_t)blocks_max * HK_BLOCK_BYTES;

	/* Map the largest size the file may ever have: the missing part is address space only. */
	void *map =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, reader->fd, 0);
	if (map == MAP_FAILED) {
		return -errno;
	}
	reader->map = map;
	reader->map_bytes = bytes;
	reader->blocks_max = blocks_max;
	return hk_guard_add(map, bytes, &reader->guard);
}

static int open_segment(struct hk_reader *reader, int dirfd, const char *name)
{
	struct hk_segment_header header;

	reader->fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (reader->fd < 0) {
		return -errno;
	}
	int error = check_file(reader->fd);
	if (error < 0) {
		return error;
	}
	ssize_t got = pread(reader->fd, &header, sizeof(header), 0);
	if (got != (ssize_t)sizeof(header)) {
		return got < 0 ? -errno : -EAGAIN;
	}
	error = check_header(&header, name);
	if (error < 0) {
		return error;
	}
	copy_identity(&reader->identity, &header);
	return map_file(reader, header.blocks_max);
}

int hk_reader_open(int dirfd, const char *name, struct hk_reader **ret_reader)
{
	struct hk_reader *reader = calloc(1, sizeof(*reader));
	if (!reader) {
		return -ENOMEM;
	}
	int error = open_segment(reader, dirfd, name);
	if (error == 0) {
		struct hk_segment_status status;
		error = hk_reader_refresh(reader, &status);
	}
	if (error < 0) {
		hk_reader_free(reader);
		return error == -ESTALE ? -EPROTO : error;
	}
	*ret_reader = reader;
	return 0;
}

bool hk_reader_is_shared(const struct hk_reader *reader)
{
	/* The kernel grants a write lease only on a file that no other process has open or mapped
	 * for writing. */
	if (fcntl(reader->fd, F_SETLEASE, F_WRLCK) < 0) {
		return true;
	}
	fcntl(reader->fd, F_SETLEASE, F_UNLCK);
	return false;
}

void hk_reader_free(struct hk_reader *reader)
{
	if (!reader) {
		return;
	}
	hk_guard_remove(reader->guard);
	if (reader->map) {
		munmap(reader->map, reader->map_bytes);
	}
	if (reader->fd >= 0) {
		close(reader->fd);
	}
	for (uint32_t i = 0; i < reader->block_count; i++) {
		free(reader->blocks[i].text);
	}
	for (uint32_t i = 0; i < reader->site_page_count; i++) {
		free(reader->site_pages[i]);
	}
	free(reader->site_pages);
	free(reader->blocks);
	free(reader->threads.numbers);
	free(reader->cells.numbers);
	free(reader->sites.numbers);
	free(reader->frames.numbers);
	free(reader->objects.numbers);
	free(reader->codes.numbers);
	free(reader->kernels.numbers);
	free(reader->slots);
	free(reader);
}

const struct hk_segment_identity *hk_reader_identity(const struct hk_reader *reader)
{
	return &reader->identity;
}

static int list_add(struct hk_reader_list *list, uint32_t number)
{
	if (list->count == list->room) {
		uint32_t room = list->room ? list->room * 2 : 16;
		uint32_t *numbers = reallocarray(list->numbers, room, sizeof(*numbers));
		if (!numbers) {
			return -ENOMEM;
		}
		list->numbers = numbers;
		list->room = room;
	}
	list->numbers[list->count++] = number;
	return 0;
}

/* Kind and layout of block NUMBER; kind 0 if it is invalid. */
static struct hk_reader_block classify(const struct hk_reader *reader, uint32_t number)
{
	static const uint32_t strides[] = {
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
	const struct hk_block *block = (const void *)hk_map_block(reader, number);
	uint32_t magic = hk_map_u32(&block->magic);
	uint32_t kind = hk_map_u32(&block->kind);
	uint32_t stride = hk_map_u32(&block->stride);
	uint32_t offset = hk_map_u32(&block->offset);

	if (magic != HK_BLOCK_MAGIC || kind < HK_BLOCK_THREADS || kind > HK_BLOCK_KERNELS ||
	    strides[kind] == 0 || stride != strides[kind]) {
		return (struct hk_reader_block){0};
	}
	bool fits = kind == HK_BLOCK_PAGE      ? true
		    : kind == HK_BLOCK_OCTAVES ? offset >= sizeof(*block) && offset % 8 == 0 &&
						     offset <= HK_BLOCK_BYTES - stride
					       : offset == sizeof(*block);
	if (!fits) {
		return (struct hk_reader_block){0};
	}
	return (struct hk_reader_block){.kind = (uint8_t)kind, .offset = (uint16_t)offset};
}

static int add_block(struct hk_reader *reader, uint32_t number)
{
	int error = 0;

	/* Block 0 is the header: no kind, no damage. */
	struct hk_reader_block block = {0};
	if (number > 0) {
		block = classify(reader, number);
		reader->damage += block.kind == 0;
	}
	if (block.kind == HK_BLOCK_THREADS) {
		error = list_add(&reader->threads, number);
	} else if (block.kind == HK_BLOCK_CELLS) {
		error = list_add(&reader->cells, number);
	} else if (block.kind == HK_BLOCK_SITES) {
		error = list_add(&reader->sites, number);
	} else if (block.kind == HK_BLOCK_FRAMES) {
		error = list_add(&reader->frames, number);
	} else if (block.kind == HK_BLOCK_OBJECTS) {
		error = list_add(&reader->objects, number);
	} else if (block.kind == HK_BLOCK_CODES) {
		error = list_add(&reader->codes, number);
	} else if (block.kind == HK_BLOCK_KERNELS) {
		error = list_add(&reader->kernels, number);
	}
	if (error == 0) {
		reader->blocks[reader->block_count++] = block;
	}
	return error;
}

static int add_blocks(struct hk_reader *reader, uint32_t count)
{
	if (count > reader->block_room) {
		uint32_t room = count < 64 ? 64 : count + count / 2;
		struct hk_reader_block *blocks =
		    reallocarray(reader->blocks, room, sizeof(*blocks));
		if (!blocks) {
			return -ENOMEM;
		}
		reader->blocks = blocks;
		reader->block_room = room;
	}
	while (reader->block_count < count) {
		int error = add_block(reader, reader->block_count);
		if (error < 0) {
			return error;
		}
	}
	return 0;
}

static const struct hk_bare_table *bare_table(const void *map)
{
	return (const void *)((const char *)map + HK_BARE_OFFSET);
}

/* The changing half of the header; plain fields are copied while they may change, whole words each.
 */
static void copy_status(const struct hk_segment_header *header, struct hk_segment_status *to)
{
	to->state = atomic_load_explicit(&header->state, memory_order_acquire);
	to->exit_code = (int32_t)hk_map_u32(&header->exit_code);
	to->detached = hk_map_u32(&header->detached) == 1;
	to->sites = atomic_load_explicit(&header->sites, memory_order_acquire);
	hk_map_copy(&to->end, &header->end, sizeof(to->end));
	to->call_cost_ps = hk_map_u64(&header->call_cost_ps);
	to->count_cost_ps = hk_map_u32(&header->count_cost_ps);
	to->record_cost_ps = hk_map_u32(&header->record_cost_ps);
	to->setup_ns = hk_map_u32(&header->setup_ns);
	to->ordered_extra_ps = hk_map_u32(&header->ordered_extra_ps);
	to->copy_extra_ps = hk_map_u32(&header->copy_extra_ps);
	to->value_extra_ps = hk_map_u32(&header->value_extra_ps);
	to->lost_extra_ps = hk_map_u32(&header->lost_extra_ps);
	to->row_extra_ps = hk_map_u32(&header->row_extra_ps);
	to->looks_ns = hk_map_u64(&header->looks_ns);
	to->end_rss_peak_bytes = hk_map_u64(&header->end_rss_peak_bytes);
	to->end_cpu_ns = hk_map_u64(&header->end_cpu_ns);
	to->threads_started = hk_map_u64(&header->threads_started);
	to->calls_untracked = hk_map_u64(&header->calls_untracked);
	to->records_untracked = hk_map_u64(&header->records_untracked);
	to->stacks_refused = hk_map_u64(&header->stacks_refused);
	to->ask_signal = hk_map_u32(&header->ask_signal);
	to->ask_refusal = hk_map_u32(&header->ask_refusal);
	to->python = hk_map_u64(&header->python);
	to->step = hk_map_u64(&header->step);
	to->untraced = hk_map_u32(&header->untraced);
	to->bare = hk_map_u32(&bare_table(header)->asked); /* 0 before 1.4 */
	hk_map_copy(&to->coverage, &header->coverage, sizeof(to->coverage));
}
static_assert(sizeof(struct hk_coverage) % 8 == 0, "coverage is copied by words");
static_assert(sizeof(struct hk_anchor) % 8 == 0, "anchors are copied by words");

int hk_reader_refresh(struct hk_reader *reader, struct hk_segment_status *ret_status)
{
	const struct hk_segment_header *header = (const void *)reader->map;
	struct hk_segment_status status = {0};
	struct stat file;

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	/* Pairs with the writer's release; the file had grown before, so its size is asked for
	 * after. */
	status.blocks = atomic_load_explicit(&header->blocks, memory_order_acquire);
	if (fstat(reader->fd, &file) < 0) {
		return -errno;
	}
	status.bytes = (uint64_t)file.st_size;
	if (status.blocks < 1 || status.blocks < reader->block_count ||
	    status.blocks > reader->blocks_max || status.blocks > status.bytes / HK_BLOCK_BYTES) {
		reader->stale = true;
		return -ESTALE;
	}
	int error = add_blocks(reader, status.blocks);
	if (error < 0) {
		return error;
	}
	/* New blocks may hold sites that were counted before. */
	reader->site_searches = 0;
	reader->sites_counted = 0;
	copy_status(header, &status);
	uint32_t limit = hk_map_u32(&header->blocks_limit);
	reader->blocks_limit = limit && limit < reader->blocks_max ? limit : reader->blocks_max;
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	*ret_status = status;
	return 0;
}

bool hk_reader_untraced(struct hk_reader *reader, uint32_t number,
			struct hk_untraced_copy *ret_entry)
{
	const struct hk_untraced *entry =
	    (const void *)(reader->map + HK_UNTRACED_OFFSET + number * sizeof(*entry));
	struct hk_untraced_copy copy = {
	    .state = atomic_load_explicit(&entry->state, memory_order_acquire),
	    .pid = hk_map_u32(&entry->pid),
	    .ppid = hk_map_u32(&entry->ppid),
	    .error = (int32_t)hk_map_u32(&entry->error),
	    .exit_code = (int32_t)hk_map_u32(&entry->exit_code),
	    .pid_start = hk_map_u64(&entry->pid_start),
	};
	hk_map_copy(&copy.start, &entry->start, sizeof(copy.start));
	bool sound = (copy.state == HK_STATE_OPEN || copy.state == HK_STATE_EXITED) &&
		     copy.error < 0 && copy.error >= -ERRNO_MAX;
	*ret_entry = copy;
	return sound && !hk_map_failed(reader);
}

bool hk_reader_device(struct hk_reader *reader, struct hk_device_copy *ret_source)
{
	const struct hk_device_source *source = (const void *)(reader->map + HK_DEVICE_OFFSET);

	*ret_source = (struct hk_device_copy){
	    .state = atomic_load_explicit(&source->state, memory_order_acquire),
	    .library = hk_map_u32(&source->library),
	    .version = hk_map_u32(&source->version),
	    .status = (int32_t)hk_map_u32(&source->status),
	    .activities = hk_map_u64(&source->activities),
	    .dropped = hk_map_u64(&source->dropped),
	    .unlinked = hk_map_u64(&source->unlinked),
	    .skipped = hk_map_u64(&source->skipped),
	    .yields = hk_map_u32(&source->yields),
	};
	return ret_source->state != HK_DEVICE_NONE && !hk_map_failed(reader);
}

bool hk_reader_bare(struct hk_reader *reader, uint32_t number, struct hk_bare_copy *ret_entry)
{
	const struct hk_bare *entry = &bare_table(reader->map)->entry[number];
	ret_entry->reason = atomic_load_explicit(&entry->reason, memory_order_acquire);
	ret_entry->times = hk_map_u32(&entry->times);
	hk_map_copy(ret_entry->program, entry->program, sizeof(ret_entry->program));
	ret_entry->program[sizeof(ret_entry->program) - 1] = '\0';
	return ret_entry->reason >= 1 && ret_entry->reason <= HK_BARE_REASONS &&
	       ret_entry->times > 0 && ret_entry->program[0] && !hk_map_failed(reader);
}

void hk_reader_beat(struct hk_reader *reader, uint32_t collector_pid, uint64_t monotonic_ns)
{
	struct hk_segment_header *header = (void *)reader->map;

	if (!hk_map_failed(reader)) {
		atomic_store_explicit(&header->attached, collector_pid, memory_order_relaxed);
		atomic_store_explicit(&header->heartbeat_ns, monotonic_ns, memory_order_relaxed);
	}
}

void hk_reader_raise_generation(struct hk_reader *reader)
{
	struct hk_segment_header *header = (void *)reader->map;

	if (!hk_map_failed(reader)) {
		/* Release: rules written before are seen by an agent that sees the new generation.
		 */
		atomic_fetch_add_explicit(&header->generation, 1, memory_order_release);
	}
}

void hk_reader_publish(struct hk_reader *reader, const struct hk_rule *rules, uint32_t count,
		       uint32_t flags)
{
	struct hk_segment_header *header = (void *)reader->map;

	if (hk_map_failed(reader)) {
		return;
	}
	/* A collector that died in between left it odd; the agent may have written any value. */
	uint32_t version = atomic_load_explicit(&header->control_version, memory_order_relaxed) | 1;
	atomic_store_explicit(&header->control_version, version, memory_order_relaxed);
	/* Any process that sees a new rule also sees the odd version. */
	atomic_thread_fence(memory_order_release);
	memset(header->rules, 0, sizeof(header->rules));
	for (uint32_t i = 0; i < count && i < HK_RULES_MAX; i++) {
		header->rules[i] = rules[i];
	}
	atomic_store_explicit(&header->control_flags, flags, memory_order_relaxed);
	atomic_store_explicit(&header->control_version, version + 1, memory_order_release);
	hk_reader_raise_generation(reader);
}

uint64_t hk_reader_damage(const struct hk_reader *reader)
{
	return reader->damage;
}
