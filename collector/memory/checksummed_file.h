/* checksummed_file.h: a file as a stream of bytes and their checksum, written or read once from its
 * beginning.
 *
 * After the first error all further calls do nothing, and end returns that error, so callers check
 * end only. One thread. Lifetime: begin, puts or gets, end.
 */
#ifndef HK_COLLECTOR_MEMORY_CHECKSUMMED_FILE_H
#define HK_COLLECTOR_MEMORY_CHECKSUMMED_FILE_H

#include <stddef.h>
#include <stdint.h>

struct hk_image;

/* Makes an image in FD, which it borrows, and whose position is 0. Returns NULL without memory. */
struct hk_image *hk_image_begin(int fd);

void hk_image_put(struct hk_image *image, const void *bytes, size_t size);

/* Reads exactly SIZE bytes. Returns 0, -EBADMSG if the file is shorter, or -errno. Only the end
 * checks them. */
int hk_image_get(struct hk_image *image, void *ret_bytes, size_t size);

/* Writes the checksum; or compares it, and checks that the file ends there. Frees IMAGE. Returns 0,
 * -EBADMSG if the file is damaged, or -errno of the first error. */
int hk_image_end_put(struct hk_image *image);
int hk_image_end_get(struct hk_image *image);

/* Frees an image without end; accepts NULL, returns NULL. */
struct hk_image *hk_image_free(struct hk_image *image);

#endif
