/* file_bytes.h: a whole file in memory. A copy, not a mapping: another process may cut the file
 * while it is read. One owner. */
#ifndef HK_CLI_COMPARE_ARRAY_FILE_BYTES_H
#define HK_CLI_COMPARE_ARRAY_FILE_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct hk_file_bytes {
	uint8_t *bytes; /* malloc'd; a NUL follows the last byte */
	size_t size;
};

/* Reads the regular file PATH. Returns 0, -EINVAL if it is no regular file, -ENOMEM or another
 * -errno; then nothing has to be freed. */
int hk_file_bytes_read(struct hk_file_bytes *file, const char *path);

#endif
