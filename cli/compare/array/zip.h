/* zip.h: finds entries of a ZIP archive in memory that are stored, not compressed, as torch.save
 * writes them. ZIP64 too. Everything is checked. Pure. */
#ifndef HK_CLI_COMPARE_ARRAY_ZIP_H
#define HK_CLI_COMPARE_ARRAY_ZIP_H

#include <stddef.h>
#include <stdint.h>

struct hk_zip {
	const uint8_t *bytes;
	size_t size;
	uint64_t directory, directory_bytes, entries;
};

/* Finds the directory of the archive. Returns 0, or -EINVAL: BYTES are no whole archive. */
int hk_zip_open(struct hk_zip *zip, const void *bytes, size_t size);

/* Finds the entry whose name is NAME (of LENGTH bytes) below the archive's first folder. Returns 0;
 * -ENOENT, -EINVAL if the archive is damaged, or -ENOTSUP if the entry is compressed. */
int hk_zip_find(const struct hk_zip *zip, const char *name, size_t length,
		const uint8_t **ret_bytes, size_t *ret_size);

#endif
