/* bad_files.h: files that ended the process which read them. They are not read again. One thread.
 */
#ifndef HK_COLLECTOR_SYMBOL_BAD_FILES_H
#define HK_COLLECTOR_SYMBOL_BAD_FILES_H

struct hk_bad_file;

struct hk_bad_files {
	struct hk_bad_file *first;
};

/* Adds the file at PATH, and logs it. PROBLEM is a constant text. */
void hk_bad_files_add(struct hk_bad_files *files, const char *path, const char *problem);

/* Returns the problem of the file at PATH, or NULL. */
const char *hk_bad_files_find(const struct hk_bad_files *files, const char *path);

void hk_bad_files_fini(struct hk_bad_files *files);

#endif
