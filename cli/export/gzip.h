/* gzip.h: streams that compress or decompress gzip files. No state but the streams'. */
#ifndef HK_CLI_EXPORT_GZIP_H
#define HK_CLI_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* A stream that compresses to FD, which is closed with it; NULL with errno: FD is already
 * closed. */
FILE *hk_gzip_write(int fd);

/* Reads up to SIZE bytes from the beginning of FD's file, which may be compressed or plain, and
 * closes FD. Returns their number, -EBADMSG if it is damaged, or -errno. */
long hk_gzip_begin(int fd, char *room, size_t size);

#endif
