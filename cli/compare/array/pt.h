/* pt.h: parses the .pt files in which torch.save wrote one tensor: a ZIP archive with a pickle and
 * the bytes of storages. Pure. */
#ifndef HK_CLI_COMPARE_ARRAY_PT_H
#define HK_CLI_COMPARE_ARRAY_PT_H

#include <stdbool.h>

#include "cli/compare/array/array.h"

/* Whether BYTES begin as a ZIP archive does. */
bool hk_pt_recognises(const void *bytes, size_t size);

/* Parses the file of SIZE bytes. Contiguous elements in the machine's byte order stay in BYTES;
 * others are copied. Returns 0, -EINVAL or -ENOMEM, with REASON. */
int hk_pt_parse(struct hk_array *array, const void *bytes, size_t size,
		char reason[HK_ARRAY_REASON_BYTES]);

#endif
