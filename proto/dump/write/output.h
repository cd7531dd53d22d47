/* output.h: the file, block by block. A block is in it whole or, after an error, not at all. */
#ifndef HK_DUMP_OUTPUT_H
#define HK_DUMP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "dump/format.h"

#define HK_OUTPUT_FULL 1 /* the limit leaves no room */

struct hk_output {
	int fd;
	uint64_t at; /* bytes of the file */
	uint64_t limit;
	bool torn; /* behind the end are bytes of a block that failed */
};

/* Makes DIRECTORY and in it a file of this process that was not there. Returns 0 or -errno;
 * *RET_MADE says what could not be made. */
int hk_output_open(struct hk_output *output, const char *directory, uint32_t rank, uint64_t limit,
		   const char **ret_made);

/* Appends BLOCK, whose type, flags, raw and stored bytes and arguments are set, with BODY. Returns
 * 0, HK_OUTPUT_FULL or -errno: then the file is as before. */
int hk_output_append(struct hk_output *output, struct hk_dump_block *block, const void *body);

/* Returns 0, or -ENOENT: the file was removed. */
int hk_output_check(const struct hk_output *output);

#endif
