/* gzip.h: streams that compress or decompress gzip files. No state but the streams'. */
#ifndef HK_CLI_EXPORT_GZIP_H
#define HK_CLI_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* Opens a stream that compresses to FD, and closes FD with it. Returns NULL with errno and FD
 * closed on failure. */
FILE *hk_gzip_write(int fd);

/* Reads up to SIZE bytes from the beginning of FD's file, which may be compressed or plain, and
 * closes FD. Returns their number, -EBADMSG if it is damaged, or -errno. */
long hk_gzip_begin(int fd, char *room, size_t size);

#endif
