/* array_file.h: reads files of one tensor: .npy of NumPy, .pt of torch.save. Files are hostile:
 * everything is checked, nothing of them is executed. No state. */
#ifndef HK_CLI_COMPARE_ARRAY_ARRAY_FILE_H
#define HK_CLI_COMPARE_ARRAY_ARRAY_FILE_H

#include "cli/compare/array/array.h"

/* Reads the file PATH, .npy or .pt by its first bytes. Returns 0; -EINVAL if the file is damaged or
 * holds something else than one tensor, -ENOMEM or another -errno, with REASON. The caller frees
 * ARRAY. */
int hk_array_file_read(struct hk_array *array, const char *path,
		       char reason[HK_ARRAY_REASON_BYTES]);

#endif
