/* writer.h: the traced process's side of a segment (ring/segment.h): creates the file, grows it,
 * hands out its parts.
 *
 * Runs inside the host: raw system calls only, no malloc, errno untouched. Every function that
 * takes a struct hk_writer needs the caller's lock; records are then written without it by the
 * thread that owns the page (ring/chain.h). Parts are never taken back by the writer; a collector
 * gives pages back. The file is not kept open: it is opened by path to grow.
 */
#ifndef HK_RING_WRITER_H
#define HK_RING_WRITER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/segment.h"

#define HK_POOLS 2u /* pages for calls (and nested records), pages for memory records */

/* Pages of one pool that exist, in order; the search for a free one goes round. */
struct hk_page_pool {
	uint32_t *blocks; /* block numbers, room for blocks_max */
	uint32_t count;
	uint32_t cursor;
	uint32_t share; /* divisor: the pool may have one in so many of the file's blocks */
	bool empty;	/* the last search found no page: the next one is short */
};

/* Room that records leave to others on a file system, since a full one kills MPI and NCCL processes
 * too: a quarter of it, at most this. */
#define HK_LEFT_TO_OTHERS_BYTES (1ull << 30)

struct hk_writer {
	struct hk_segment_header *header; /* start of the mapping */
	uint32_t file_blocks;		  /* blocks the file has room for */
	uint32_t mapped_blocks;		  /* blocks of the mapping */
	bool fixed;			  /* the file does not grow */
	uint32_t pages_refused;		  /* for lack of room */
	uint32_t open_block[HK_BLOCK_KERNELS +
			    1];		 /* by kind: the block items are taken from now, 0: none */
	uint32_t threads;		 /* slots handed out: slot numbers count on over blocks */
	uint32_t frames, objects, codes; /* of stacks, written so far */
	uint32_t kernels, kernel_blocks;
	struct hk_page_pool pool[HK_POOLS];
	char path[PATH_MAX];
};

/* Creates DIRECTORY/<uid>.seg with TEMPLATE's identity and maps it. BLOCKS_MAX bounds it for ever;
 * POOL_ROOM has room for 2 * BLOCKS_MAX numbers and must live as long as the writer. Returns 0,
 * -ENOSPC, -EFBIG (RLIMIT_FSIZE) or another -errno; on error WRITER is unchanged except for its
 * path. Uses little stack: a signal handler may be the caller. */
int hk_writer_create(struct hk_writer *writer, const char *directory,
		     const struct hk_segment_header *template, uint32_t blocks_max,
		     uint32_t *pool_room);

/* Whether MORE_BYTES would take room of the file system that is reserved for others. */
bool hk_writer_crowds(uint64_t free_bytes, uint64_t all_bytes, uint64_t more_bytes);

/* Grows the file to at least BYTES, or as far as possible. */
void hk_writer_reserve(struct hk_writer *writer, uint64_t bytes);

/* Whether the file can be opened by its path, which growing needs. */
bool hk_writer_can_open(const struct hk_writer *writer);

/* Unmaps the address space behind the first BYTES of the mapping, except for existing blocks; the
 * file never grows beyond it. Does not change the header, which may be a parent's. */
void hk_writer_cut(struct hk_writer *writer, uint64_t bytes);

/* Stops (FIXED) or resumes the growth of the file, and tells readers its largest size. */
void hk_writer_fix(struct hk_writer *writer, bool fixed);

/* Parts of the segment, NULL or 0 when it is full. Offsets are file offsets. */
uint32_t hk_writer_string(struct hk_writer *writer, const char *text);
struct hk_site *hk_writer_site(struct hk_writer *writer);
struct hk_thread_slot *hk_writer_thread(struct hk_writer *writer, uint32_t *ret_slot);
struct hk_cell *hk_writer_cell(struct hk_writer *writer);
uint32_t hk_writer_octave(struct hk_writer *writer);

/* Adds a frame of a stack, or an object whose code is on one. Returns its number, from 1 on, or 0
 * when the segment is full. BUILD_ID has BUILD_ID_BYTES, at most HK_BUILD_ID_BYTES. */
uint32_t hk_writer_frame(struct hk_writer *writer, uint32_t caller, uint32_t object,
			 uint64_t address);
uint32_t hk_writer_object(struct hk_writer *writer, const char *path, const uint8_t *build_id,
			  uint32_t build_id_bytes);

/* Adds a Python function. FILE and NAME are offsets of strings. Returns its number, from 1 on, or 0
 * when the segment is full. */
uint32_t hk_writer_code(struct hk_writer *writer, uint32_t file, uint32_t name,
			uint32_t first_line);

/* Adds a kernel with the fields of KERNEL and NAME, of which the first bytes are kept, as
 * hk_kernel_kept says. Returns its number, from 1 on, or 0 when kernels have no room. */
uint32_t hk_writer_kernel(struct hk_writer *writer, const struct hk_kernel *kernel,
			  const char *name);

/* Room for the Python frames of answers to one place of requests, or NULL when the segment is full.
 */
struct hk_ask_python *hk_writer_ask(struct hk_writer *writer);

/* A free page for STREAM, made ACTIVE and labelled, or NULL. After an empty search, the next ones
 * check only some pages until one is found; together they cover every page. */
struct hk_page *hk_writer_page(struct hk_writer *writer, uint32_t slot, uint32_t stream,
			       uint64_t position, uint64_t thread, uint32_t tid);

/* Returns whether PART lies in the mapping of this segment. */
static inline bool hk_writer_holds(const struct hk_writer *writer, const void *part)
{
	return (uint64_t)((const char *)part - (const char *)writer->header) <
	       (uint64_t)writer->mapped_blocks * HK_BLOCK_BYTES;
}

static inline uint32_t hk_writer_block_of(const struct hk_writer *writer, const void *part)
{
	return (uint32_t)(((const char *)part - (const char *)writer->header) / HK_BLOCK_BYTES);
}

#endif
