#include "collector/symbol/symbols.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "collector/symbol/symbol_table.h"
#include "report/model/stacks.h"

#define BYTES_MOST (256u << 20) /* of all tables */
#define FILES_MOST 1024u
#define BUILD_ID_MOST 64u
#define NAMES_MOST \
	(4u << 20) /* bytes of a process's names: its message has to fit into a frame of 16 MiB */
#define DEBUG_FILES "/usr/lib/debug/.build-id"

/* A file, by the object that was loaded from it. */
struct file {
	struct file *prev, *next; /* the most recently used first */
	char *path;
	uint8_t build_id[BUILD_ID_MOST];
	size_t build_id_bytes;
	struct hk_symbol_table *table; /* NULL: it cannot be read */
};

struct hk_symbols {
	struct file *files;
	size_t count, bytes;
};

struct hk_symbols *hk_symbols_new(void)
{
	return calloc(1, sizeof(struct hk_symbols));
}

static void drop(struct hk_symbols *symbols, struct file *file)
{
	DL_DELETE(symbols->files, file);
	symbols->count--;
	symbols->bytes -= file->table ? hk_symbol_table_bytes(file->table) : 0;
	hk_symbol_table_free(file->table);
	free(file->path);
	free(file);
}

struct hk_symbols *hk_symbols_free(struct hk_symbols *symbols)
{
	while (symbols && symbols->files) {
		drop(symbols, symbols->files);
	}
	free(symbols);
	return NULL;
}

/* ---- files ---- */

/* Reads the file with the debug information that distributions keep apart, if there is one. */
static int read_debug_file(const struct file *file, struct hk_symbol_table **ret_table)
{
	char path[sizeof(DEBUG_FILES) + 2 * BUILD_ID_MOST + sizeof("//.debug")];
	size_t at = (size_t)snprintf(path, sizeof(path), "%s/", DEBUG_FILES);

	for (size_t i = 0; i < file->build_id_bytes; i++) {
		at += (size_t)snprintf(path + at, sizeof(path) - at, i == 1 ? "/%02x" : "%02x",
				       file->build_id[i]);
	}
	snprintf(path + at, sizeof(path) - at, ".debug");
	return file->build_id_bytes < 2
		   ? -ENOENT
		   : hk_symbol_table_read(path, file->build_id, file->build_id_bytes, ret_table);
}

static void read_file(struct file *file, const char *root)
{
	struct hk_symbol_table *more = NULL;
	char path[PATH_MAX];
	int r = -ENOENT;

	if (*root && snprintf(path, sizeof(path), "%s%s", root, file->path) < (int)sizeof(path)) {
		r = hk_symbol_table_read(path, file->build_id, file->build_id_bytes, &file->table);
	}
	if (r < 0) {
		r = hk_symbol_table_read(file->path, file->build_id, file->build_id_bytes,
					 &file->table);
	}
	if ((r < 0 || hk_symbol_table_is_partial(file->table)) &&
	    read_debug_file(file, &more) == 0) {
		hk_symbol_table_free(file->table);
		file->table = more;
	}
}

static bool is_of(const struct file *file, const Hk__StackObject *object)
{
	return strcmp(file->path, object->path) == 0 &&
	       file->build_id_bytes == object->build_id.len &&
	       memcmp(file->build_id, object->build_id.data, object->build_id.len) == 0;
}

static struct file *add_file(struct hk_symbols *symbols, const char *root,
			     const Hk__StackObject *object)
{
	struct file *file = calloc(1, sizeof(*file));
	char *path = strdup(object->path);

	if (!file || !path) {
		free(file);
		free(path);
		return NULL;
	}
	file->path = path;
	file->build_id_bytes = object->build_id.len;
	memcpy(file->build_id, object->build_id.data, object->build_id.len);
	read_file(file, root);
	symbols->bytes += file->table ? hk_symbol_table_bytes(file->table) : 0;
	symbols->count++;
	DL_PREPEND(symbols->files, file);
	while (symbols->files->next &&
	       (symbols->bytes > BYTES_MOST || symbols->count > FILES_MOST)) {
		drop(symbols, symbols->files->prev);
	}
	return file;
}

/* Returns the file of OBJECT, or NULL without memory. */
static struct file *file_of(struct hk_symbols *symbols, const char *root,
			    const Hk__StackObject *object)
{
	struct file *file;

	DL_FOREACH (symbols->files, file) {
		if (is_of(file, object)) {
			DL_DELETE(symbols->files, file);
			DL_PREPEND(symbols->files, file);
			return file;
		}
	}
	return add_file(symbols, root, object);
}

/* ---- frames ---- */

/* Sets *ret_name to the place of NAME among the names of PART, from 1 on. */
static int place_name(Hk__StackFrames *part, const char *name, uint32_t *ret_name)
{
	for (size_t i = part->n_names; i > 0; i--) {
		if (strcmp(part->names[i - 1], name) == 0) {
			*ret_name = (uint32_t)i;
			return 0;
		}
	}
	char **names = realloc(part->names, (part->n_names + 1) * sizeof(*names));
	char *copy = strdup(name);
	part->names = names ? names : part->names;
	if (!names || !copy) {
		free(copy);
		return -ENOMEM;
	}
	names[part->n_names++] = copy;
	*ret_name = (uint32_t)part->n_names;
	return 0;
}

/* Bytes of all names in STATE. */
static size_t bytes_of(const Hk__Process *state)
{
	size_t bytes = 0;

	for (size_t i = 0; i < state->n_stack_frames; i++) {
		for (size_t k = 0; k < state->stack_frames[i]->n_names; k++) {
			bytes += strlen(state->stack_frames[i]->names[k]);
		}
	}
	return bytes;
}

/* Finds the function at ADDRESS of the object NUMBER, or sets *ret_name to NULL. */
static int find_name(struct hk_symbols *symbols, const char *root, const Hk__Process *state,
		     uint32_t number, uint64_t address, const char **ret_name)
{
	*ret_name = NULL;
	/* Objects come in the order of their numbers. */
	if (number > 0 && number <= state->n_stack_objects) {
		const Hk__StackObject *object = state->stack_objects[number - 1];
		bool readable = *object->path == '/' && object->build_id.len <= BUILD_ID_MOST;
		struct file *file = readable ? file_of(symbols, root, object) : NULL;
		if (readable && !file) {
			return -ENOMEM;
		}
		*ret_name = file && file->table ? hk_symbol_table_find(file->table, address) : NULL;
	}
	return 0;
}

static int name_frame(struct hk_symbols *symbols, const char *root, const Hk__Process *state,
		      Hk__StackFrames *part)
{
	size_t at = part->n_name;
	const char *found;
	uint32_t name = 0;

	int r = find_name(symbols, root, state, part->object[at], part->address[at], &found);
	r = r == 0 && found ? place_name(part, found, &name) : r;
	if (r == 0) {
		part->name[part->n_name++] = name;
	}
	return r;
}

static int name_part(struct hk_symbols *symbols, const char *root, const Hk__Process *state,
		     Hk__StackFrames *part)
{
	if (part->n_name >= part->n_address) {
		return 0;
	}
	uint32_t *name = realloc(part->name, part->n_address * sizeof(*name));
	if (!name) {
		return -ENOMEM;
	}
	part->name = name;
	if (bytes_of(state) > NAMES_MOST) {
		while (part->n_name < part->n_address) {
			name[part->n_name++] = 0;
		}
		return 0;
	}
	int r = 0;
	while (part->n_name < part->n_address && r == 0) {
		r = name_frame(symbols, root, state, part);
	}
	return r;
}

int hk_symbols_name(struct hk_symbols *symbols, const char *root, Hk__Process *state)
{
	int r = 0;

	for (size_t i = 0; i < state->n_stack_frames && r == 0; i++) {
		r = name_part(symbols, root, state, state->stack_frames[i]);
	}
	return r;
}

int hk_symbols_name_kernels(struct hk_symbols *symbols, const char *root, Hk__Process *state)
{
	for (size_t i = 0; i < state->n_kernels; i++) {
		Hk__Kernel *kernel = state->kernels[i];
		const char *found = NULL;
		int r =
		    *kernel->name || kernel->name_bytes > 0
			? 0
			: find_name(symbols, root, state, kernel->object, kernel->address, &found);
		char *name = found ? strdup(found) : NULL;
		if (r < 0 || (found && !name)) {
			return -ENOMEM;
		}
		if (name) {
			if (kernel->name != protobuf_c_empty_string) {
				free(kernel->name);
			}
			kernel->name = name;
		}
	}
	return 0;
}
