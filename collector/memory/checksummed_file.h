/* checksummed_file.h: a file as a stream of bytes with a checksum behind them, written or read once
 * from its beginning.
 *
 * The first error stays and makes everything after it do nothing, so only end needs to be looked
 * at. Threading: one thread. Lifetime: begin, puts or gets, end.
 */
#ifndef HK_COLLECTOR_MEMORY_CHECKSUMMED_FILE_H
#define HK_COLLECTOR_MEMORY_CHECKSUMMED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct hk_image;

/* An image in FD, which is borrowed and at its beginning. NULL: out of memory. */
struct hk_image *hk_image_begin(int fd);

void hk_image_put(struct hk_image *image, const void *bytes, size_t size);

/* Reads exactly SIZE bytes. 0; -EBADMSG: the file is shorter; -errno. They are not checked before
 * the end. */
int hk_image_get(struct hk_image *image, void *ret_bytes, size_t size);

/* Writes the checksum, or reads and compares it and that nothing follows. Frees IMAGE. 0; -EBADMSG:
 * not what was written; -errno: the first error. */
int hk_image_end_put(struct hk_image *image);
int hk_image_end_get(struct hk_image *image);

/* Frees an image that is of no use; accepts NULL, returns NULL. */
struct hk_image *hk_image_free(struct hk_image *image);

#endif
