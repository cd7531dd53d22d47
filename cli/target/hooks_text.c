#include "cli/target/hooks_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TEXT_BYTES_MAX ((size_t)1 << 20) /* longest hooks file */

int hk_hooks_text_read(const char *path, char **ret_text, size_t *ret_size)
{
	struct stat status;
	FILE *input = fopen(path, "re");
	char *text = NULL;
	size_t size;
	int rc = 0;

	if (!input) {
		return -errno;
	}
	if (fstat(fileno(input), &status) < 0 || S_ISDIR(status.st_mode)) {
		fclose(input);
		return -EISDIR;
	}
	text = malloc(TEXT_BYTES_MAX + 1);
	size = text ? fread(text, 1, TEXT_BYTES_MAX + 1, input) : 0;
	if (!text) {
		rc = -ENOMEM;
	} else if (ferror(input)) {
		rc = -EIO;
	} else if (size > TEXT_BYTES_MAX) {
		rc = -EFBIG;
	}
	fclose(input);
	if (rc < 0) {
		free(text);
		return rc;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

int hk_hooks_text_parse(const char *name, const char *text, size_t size,
			const struct hk_hooks_report *report, struct hk_hook_file *ret_file,
			void **ret_memory)
{
	struct hk_hook_arena arena;
	void *memory = malloc(HK_HOOK_ARENA_BYTES);

	if (!memory) {
		return -ENOMEM;
	}
	hk_hook_arena_init(&arena, memory, HK_HOOK_ARENA_BYTES);
	hk_hooks_parse(&arena, name, text, size, report, ret_file);
	*ret_memory = memory;
	return 0;
}
