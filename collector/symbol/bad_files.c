#include "collector/symbol/bad_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct hk_bad_file {
	struct hk_bad_file *next;
	char *path;
	const char *problem;
};

void hk_bad_files_add(struct hk_bad_files *files, const char *path, const char *problem)
{
	struct hk_bad_file *file = calloc(1, sizeof(*file));

	if (file && (file->path = strdup(path))) {
		file->problem = problem;
		file->next = files->first;
		files->first = file;
	} else {
		free(file);
	}
	hk_warning("functions of a file are not named path=%s reason=%s", path, problem);
}

const char *hk_bad_files_find(const struct hk_bad_files *files, const char *path)
{
	const struct hk_bad_file *file = files->first;

	while (file && strcmp(file->path, path) != 0) {
		file = file->next;
	}
	return file ? file->problem : NULL;
}

void hk_bad_files_fini(struct hk_bad_files *files)
{
	while (files->first) {
		struct hk_bad_file *file = files->first;
		files->first = file->next;
		free(file->path);
		free(file);
	}
}
