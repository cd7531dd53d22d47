#include "cli/compare/array/array_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/array/file_bytes.h"
#include "cli/compare/array/npy.h"
#include "cli/compare/array/pt.h"

static int parse(struct hk_array *array, const struct hk_file_bytes *file,
		 char reason[HK_ARRAY_REASON_BYTES])
{
	if (hk_npy_recognises(file->bytes, file->size)) {
		return hk_npy_parse(array, file->bytes, file->size, reason);
	}
	if (hk_pt_recognises(file->bytes, file->size)) {
		return hk_pt_parse(array, file->bytes, file->size, reason);
	}
	return hk_array_refuse(reason, "neither a .npy file nor a .pt file of torch.save");
}

int hk_array_file_read(struct hk_array *array, const char *path, char reason[HK_ARRAY_REASON_BYTES])
{
	struct hk_file_bytes file;

	*array = (struct hk_array){0};
	int r = hk_file_bytes_read(&file, path);
	if (r < 0) {
		snprintf(reason, HK_ARRAY_REASON_BYTES, "%s", strerror(-r));
		return r;
	}
	r = parse(array, &file, reason);
	if (r < 0 || array->memory) {
		free(file.bytes);
	} else {
		array->memory = file.bytes;
	}
	return r;
}
