#include "cli/job/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/atomic_file.h"

/* Reads the file of DIRECTORY to *RET_LIST, a new list. Returns 0; *RET_LIST is empty if there is
 * no file. */
static int read_list(const char *directory, json_t **ret_list)
{
	char path[PATH_MAX];

	*ret_list = NULL;
	if (snprintf(path, sizeof(path), "%s/" HK_NOTES_FILE, directory) >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	/* O_NONBLOCK keeps a FIFO in its place from blocking. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		*ret_list = errno == ENOENT ? json_array() : NULL;
		return *ret_list ? 0 : errno == ENOENT ? -ENOMEM : -errno;
	}
	*ret_list = json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL);
	close(fd);
	if (!json_is_array(*ret_list) || json_array_size(*ret_list) > HK_NOTES_MAX) {
		json_decref(*ret_list);
		*ret_list = NULL;
		return -EBADMSG;
	}
	return 0;
}

static char *text_of(const json_t *entry, const char *name)
{
	const char *text = json_string_value(json_object_get(entry, name));

	return strdup(text ? text : "");
}

static uint64_t number_of(const json_t *entry, const char *name, uint64_t most)
{
	json_int_t number = json_integer_value(json_object_get(entry, name));

	return number < 0 || (uint64_t)number > most ? 0 : (uint64_t)number;
}

static int add_note(Hk__Snapshot *snapshot, const json_t *entry)
{
	Hk__Note *note = malloc(sizeof(*note));
	json_int_t rank = json_integer_value(json_object_get(entry, "rank"));

	if (!note) {
		return -ENOMEM;
	}
	hk__note__init(note);
	snapshot->notes[snapshot->n_notes++] = note;
	note->kind = text_of(entry, "kind");
	note->text = text_of(entry, "text");
	note->rank = rank < 0 || rank > INT32_MAX ? -1 : (int32_t)rank;
	note->pid = (uint32_t)number_of(entry, "pid", UINT32_MAX);
	note->tid = (uint32_t)number_of(entry, "tid", UINT32_MAX);
	note->monotonic_ns = number_of(entry, "monotonic_ns", INT64_MAX);
	return note->kind && note->text ? 0 : -ENOMEM;
}

int hk_notes_load(const char *directory, Hk__Snapshot *snapshot)
{
	json_t *list, *entry;
	size_t i;
	int r = read_list(directory, &list);

	if (r < 0) {
		return r;
	}
	Hk__Note **notes = reallocarray(
	    snapshot->notes, snapshot->n_notes + json_array_size(list) + 1, sizeof(Hk__Note *));
	r = notes ? 0 : -ENOMEM;
	snapshot->notes = notes ? notes : snapshot->notes;
	json_array_foreach (list, i, entry) {
		r = r == 0 ? add_note(snapshot, entry) : r;
	}
	json_decref(list);
	return r;
}

static void remove_kind(json_t *list, const char *kind)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *other =
		    json_string_value(json_object_get(json_array_get(list, i), "kind"));
		if (!other || strcmp(other, kind) == 0) {
			json_array_remove(list, i);
		}
	}
}

static int write_list(const char *directory, const json_t *list)
{
	char path[PATH_MAX];
	struct hk_atomic_file file;

	if (snprintf(path, sizeof(path), "%s/" HK_NOTES_FILE, directory) >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	int fd = hk_atomic_file_open(&file, path);
	if (fd < 0) {
		return fd;
	}
	int r = json_dumpfd(list, fd, JSON_INDENT(1)) < 0 ? -EIO : 0;
	r = r == 0 ? hk_atomic_file_publish(&file) : r;
	hk_atomic_file_discard(&file);
	close(fd);
	return r;
}

int hk_notes_add(const char *directory, const Hk__Note *note)
{
	json_t *list;
	int r = read_list(directory, &list);

	if (r < 0) {
		return r;
	}
	remove_kind(list, note->kind);
	if (json_array_size(list) == HK_NOTES_MAX) {
		json_array_remove(list, 0);
	}
	json_t *entry =
	    json_pack("{s:s, s:s, s:i, s:I, s:I, s:I}", "kind", note->kind, "text", note->text,
		      "rank", (int)note->rank, "pid", (json_int_t)note->pid, "tid",
		      (json_int_t)note->tid, "monotonic_ns", (json_int_t)note->monotonic_ns);
	r = entry && json_array_append_new(list, entry) == 0 ? write_list(directory, list)
							     : -ENOMEM;
	json_decref(list);
	return r;
}
