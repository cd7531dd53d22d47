#include "collector/symbol/object_files.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "collector/symbol/debug_file.h"
#include "collector/symbol/debug_info.h"
#include "collector/symbol/symbol_table.h"
#include "collector/symbol/table_file.h"
#include "elf/elf_file.h"

#define BYTES_MOST (256u << 20) /* of all tables */
#define FILES_MOST 1024u
#define INFOS_MOST 16u		/* files whose debug information is open */
#define STORED_LEAST (1u << 20) /* bytes: a smaller table is read as fast from its file */

struct hk_object_file {
	struct hk_object_file *prev, *next; /* the most recently used first */
	char *path;
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	size_t build_id_bytes;
	int error;		       /* why it cannot be read; 0: it is */
	struct hk_symbol_table *table; /* NULL: it has no functions */
	char *info_path;	       /* of its debug information; NULL: none */
	struct hk_elf info_elf;	       /* while `info` is open */
	struct hk_debug_info *info;
};

struct hk_object_files {
	struct hk_object_file *files;
	size_t count, bytes, infos;
	int cache_fd;
};

struct hk_object_files *hk_object_files_new(int cache_fd)
{
	struct hk_object_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->cache_fd = cache_fd;
	}
	return files;
}

static void close_info(struct hk_object_files *files, struct hk_object_file *file)
{
	if (file->info) {
		file->info = hk_debug_info_free(file->info);
		hk_elf_close(&file->info_elf);
		files->infos--;
	}
}

static void drop(struct hk_object_files *files, struct hk_object_file *file)
{
	DL_DELETE(files->files, file);
	files->count--;
	files->bytes -= file->table ? hk_symbol_table_bytes(file->table) : 0;
	close_info(files, file);
	hk_symbol_table_free(file->table);
	free(file->info_path);
	free(file->path);
	free(file);
}

struct hk_object_files *hk_object_files_free(struct hk_object_files *files)
{
	while (files && files->files) {
		drop(files, files->files);
	}
	if (files && files->cache_fd >= 0) {
		close(files->cache_fd);
	}
	free(files);
	return NULL;
}

/* ---- reading ---- */

/* Opens the file, which has to be of the build that was loaded. */
static int open_build(const struct hk_object_file *file, const char *path, struct hk_elf *ret_elf)
{
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	int r = hk_elf_open(path, ret_elf);

	if (r == 0 && file->build_id_bytes > 0 &&
	    (hk_elf_build_id(ret_elf, build_id) != file->build_id_bytes ||
	     memcmp(build_id, file->build_id, file->build_id_bytes) != 0)) {
		hk_elf_close(ret_elf);
		r = -ESTALE;
	}
	return r;
}

/* Opens the file below ROOT, or below "/". Sets *ret_root to the one it was. */
static int open_own(const struct hk_object_file *file, const char *root, char path[PATH_MAX],
		    const char **ret_root, struct hk_elf *ret_elf)
{
	*ret_root = root;
	if (*root && snprintf(path, PATH_MAX, "%s%s", root, file->path) < PATH_MAX &&
	    open_build(file, path, ret_elf) == 0) {
		return 0;
	}
	*ret_root = "";
	snprintf(path, PATH_MAX, "%s", file->path);
	return open_build(file, path, ret_elf);
}

/* Takes what ELF, which was opened at PATH, has that the file does not have yet. */
static int take(struct hk_object_file *file, const struct hk_elf *elf, const char *path)
{
	struct hk_symbol_table *table = NULL;

	if (!file->table || hk_symbol_table_is_partial(file->table)) {
		int r = hk_symbol_table_read(elf, &table);
		if (r < 0) {
			return r;
		}
		if (file->table && hk_symbol_table_is_partial(table)) {
			hk_symbol_table_free(table);
		} else {
			hk_symbol_table_free(file->table);
			file->table = table;
		}
	}
	if (!file->info_path && hk_debug_info_is_in(elf)) {
		file->info_path = strdup(path);
	}
	return 0;
}

static void store(const struct hk_object_files *files, const struct hk_object_file *file)
{
	if (files->cache_fd >= 0 && !hk_symbol_table_is_partial(file->table) &&
	    hk_symbol_table_bytes(file->table) >= STORED_LEAST) {
		hk_table_file_store(files->cache_fd, file->build_id, file->build_id_bytes,
				    file->table);
	}
}

static int read_file(const struct hk_object_files *files, struct hk_object_file *file,
		     const char *wanted_root)
{
	char path[PATH_MAX], debug_path[PATH_MAX];
	struct hk_elf elf, debug;
	const char *root;

	/* A table on disk names functions even if the file is gone. */
	bool stored =
	    files->cache_fd >= 0 && hk_table_file_load(files->cache_fd, file->build_id,
						       file->build_id_bytes, &file->table) == 0;
	int r = open_own(file, wanted_root, path, &root, &elf);
	if (r < 0) {
		return stored ? 0 : r;
	}
	r = take(file, &elf, path);
	bool lacks = r == 0 && (hk_symbol_table_is_partial(file->table) || !file->info_path);
	if (lacks && hk_debug_file_open(&elf, root, path, debug_path, &debug) == 0) {
		r = take(file, &debug, debug_path);
		hk_elf_close(&debug);
	}
	hk_elf_close(&elf);
	if (r == 0 && !stored) {
		store(files, file);
	}
	return r;
}

static bool is_of(const struct hk_object_file *file, const Hk__SymbolRequest *request)
{
	return file->build_id_bytes == request->build_id.len &&
	       (file->build_id_bytes == 0 ||
		memcmp(file->build_id, request->build_id.data, request->build_id.len) == 0) &&
	       strcmp(file->path, request->path) == 0;
}

static int add_file(struct hk_object_files *files, const Hk__SymbolRequest *request,
		    struct hk_object_file **ret_file)
{
	struct hk_object_file *file = calloc(1, sizeof(*file));
	char *path = strdup(request->path);

	if (!file || !path) {
		free(file);
		free(path);
		return -ENOMEM;
	}
	file->path = path;
	file->build_id_bytes = request->build_id.len;
	if (request->build_id.len > 0) {
		memcpy(file->build_id, request->build_id.data, request->build_id.len);
	}
	file->error = read_file(files, file, request->root);
	files->bytes += file->table ? hk_symbol_table_bytes(file->table) : 0;
	files->count++;
	DL_PREPEND(files->files, file);
	while (files->files->next && (files->bytes > BYTES_MOST || files->count > FILES_MOST)) {
		drop(files, files->files->prev);
	}
	*ret_file = file;
	return file->error;
}

int hk_object_files_open(struct hk_object_files *files, const Hk__SymbolRequest *request,
			 struct hk_object_file **ret_file)
{
	struct hk_object_file *file;

	if (*request->path != '/' || request->build_id.len > HK_ELF_BUILD_ID_MOST) {
		return -ENOENT;
	}
	DL_FOREACH (files->files, file) {
		if (is_of(file, request)) {
			break;
		}
	}
	if (file && file->error == 0) {
		DL_DELETE(files->files, file);
		DL_PREPEND(files->files, file);
		*ret_file = file;
		return 0;
	}
	if (file) {
		drop(files, file); /* this process may see a file that the last one did not */
	}
	return add_file(files, request, ret_file);
}

/* ---- look-ups ---- */

/* Opens the file's debug information, and closes the least recently used one. */
static void open_info(struct hk_object_files *files, struct hk_object_file *file)
{
	struct hk_object_file *other;

	if (file->info || !file->info_path || hk_elf_open(file->info_path, &file->info_elf) < 0) {
		return;
	}
	if (hk_debug_info_open(&file->info_elf, &file->info) < 0) {
		hk_elf_close(&file->info_elf);
		return;
	}
	files->infos++;
	for (other = files->files->prev; files->infos > INFOS_MOST && other != files->files;
	     other = other->prev) {
		close_info(files, other);
	}
}

void hk_object_file_find(struct hk_object_files *files, struct hk_object_file *file,
			 uint64_t address, struct hk_places *places)
{
	const char *name = file->table ? hk_symbol_table_find(file->table, address) : NULL;

	hk_places_clear(places);
	open_info(files, file);
	if (file->info) {
		hk_debug_info_find(file->info, address, places);
	}
	if (places->count == 0 && name) {
		hk_places_add(places, name, NULL, 0);
	} else if (places->count > 0 && name) {
		/* The symbol table has the names of clones, as f.part.0. */
		hk_places_name_last(places, name);
	}
}
