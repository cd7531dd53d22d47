/* segment_maker.h: makes segments for tests, written from the layout alone and without the agent's
 * writer (simulated).
 *
 * The file is mapped shared, so a test changes it under a reader by storing into what these
 * functions return. Everything asserts: a maker that fails is a broken test.
 */
#ifndef HK_TESTS_SEGMENT_MAKER_H
#define HK_TESTS_SEGMENT_MAKER_H

#include <stdint.h>

#include "ring/segment.h"

struct segment_maker {
	char directory[64];
	int dirfd, fd;
	char name[48];
	char *map;
	uint32_t blocks_max;
	uint32_t open_block[HK_BLOCK_KERNELS + 1]; /* 0: none */
	uint32_t threads, sites;
};

/* A directory and in it a segment with a valid header and no blocks but that. */
void segment_maker_init(struct segment_maker *maker, uint32_t blocks_max);
void segment_maker_fini(struct segment_maker *maker);

struct hk_segment_header *segment_maker_header(struct segment_maker *maker);
struct hk_block *segment_maker_block(struct segment_maker *maker, uint32_t number);
struct hk_page *segment_maker_page_at(struct segment_maker *maker, uint32_t number);

/* A new block of KIND: its number. */
uint32_t segment_maker_add_block(struct segment_maker *maker, uint32_t kind);

uint32_t segment_maker_string(struct segment_maker *maker, const char *text);
struct hk_site *segment_maker_site(struct segment_maker *maker, const char *function,
				   const char *library, const char *provider);
struct hk_thread_slot *segment_maker_thread(struct segment_maker *maker, uint32_t state,
					    uint32_t tid, uint64_t uid);
struct hk_cell *segment_maker_cell(struct segment_maker *maker, uint32_t slot, uint32_t site);
/* Token of an octave whose bucket i holds FIRST + i. */
uint32_t segment_maker_octave(struct segment_maker *maker, uint64_t first);

/* A page that continues chain (SLOT, STREAM), which it seals: its block number. PREVIOUS 0: the
 * chain's first. */
uint32_t segment_maker_page(struct segment_maker *maker, struct hk_thread_slot *thread,
			    uint32_t slot, uint32_t stream, uint32_t previous);

/* Appends a record of COUNT payload words to page NUMBER. 1; 0: it does not fit. */
int segment_maker_record(struct segment_maker *maker, uint32_t number, uint64_t start,
			 uint32_t duration, uint32_t site, uint32_t kind, const uint64_t *words,
			 uint32_t count);

/* A frame, an object and a Python function of stacks. */
struct hk_stack_frame *segment_maker_frame(struct segment_maker *maker, uint32_t caller,
					   uint32_t object, uint64_t address);
struct hk_stack_object *segment_maker_object(struct segment_maker *maker, const char *path);
struct hk_stack_code *segment_maker_code(struct segment_maker *maker, const char *file,
					 const char *name, uint32_t first_line);

/* Sites, strings, cells with octaves, threads with chains of several pages and switches, stacks:
 * one of everything. */
void segment_maker_fill(struct segment_maker *maker);

#endif
