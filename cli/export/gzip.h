/* gzip.h: files that are gzip's on the way in or out. No state but the streams'. */
#ifndef HK_CLI_EXPORT_GZIP_H
#define HK_CLI_EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* A stream whose bytes go compressed to FD, which is closed with it; NULL with errno: FD is closed
 * now. */
FILE *hk_gzip_write(int fd);

/* Up to SIZE bytes from the beginning of FD's file, which may be gzip's or plain; FD is closed.
 * Their number, or -errno; -EBADMSG: damaged. */
long hk_gzip_begin(int fd, char *room, size_t size);

#endif
