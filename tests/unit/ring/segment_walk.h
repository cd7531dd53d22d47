/* segment_walk.h: reads all of a segment, whatever it is, as a collector would. For tests and the
 * fuzzer. Aborts if the reader delivers what no segment can hold; that it returns at all is the
 * other half of the test.
 */
#ifndef HK_TESTS_SEGMENT_WALK_H
#define HK_TESTS_SEGMENT_WALK_H

#include <stdint.h>

#include "ring/reader.h"

#define SEGMENT_WALK_TID 1u /* the thread whose answers are read */

struct segment_walk {
	int status; /* of open or the first refresh that failed */
	uint64_t sites, cells, octaves, threads, runs, words, lies, damage;
	uint64_t frames, objects, codes;
};

/* Opens NAME, walks it twice with a release between, frees it. */
struct segment_walk segment_walk_file(int dirfd, const char *name);

/* Walks an open reader once. */
void segment_walk_reader(struct hk_reader *reader, struct segment_walk *walk);

#endif
