#include "collector/process/loaded.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/model/attachment.h"
#include "collector/proc/procfs.h"
#include "collector/symbol/cuda_inside.h"

#define OBJECTS_MOST 4096u
#define INSIDE_MOST 256u
#define DRIVER "libcuda.so"

enum driver {
	DRIVER_LOADED = 1,
	DRIVER_ABSENT = 2,
};

struct hk_loaded {
	char **paths;
	size_t count, room;
	size_t asked;	  /* paths that were looked into */
	uint32_t objects; /* that the agent had scanned when the list was read */
	bool driver;
};

struct hk_loaded *hk_loaded_free(struct hk_loaded *loaded)
{
	for (size_t i = 0; loaded && i < loaded->count; i++) {
		free(loaded->paths[i]);
	}
	if (loaded) {
		free(loaded->paths);
		free(loaded);
	}
	return NULL;
}

static bool is_known(const struct hk_loaded *loaded, const char *path)
{
	/* The newest first: a file's parts follow each other. */
	for (size_t i = loaded->count; i > 0; i--) {
		if (strcmp(loaded->paths[i - 1], path) == 0) {
			return true;
		}
	}
	return false;
}

static int add(const char *path, void *data)
{
	struct hk_loaded *loaded = data;
	const char *slash = strrchr(path, '/');
	loaded->driver |= slash && strncmp(slash + 1, DRIVER, strlen(DRIVER)) == 0;
	if (*path != '/' || loaded->count == OBJECTS_MOST || is_known(loaded, path)) {
		return 0;
	}
	if (loaded->count == loaded->room) {
		size_t room = loaded->room ? 2 * loaded->room : 64;
		char **paths = reallocarray(loaded->paths, room, sizeof(*paths));
		if (!paths) {
			return -ENOMEM;
		}
		loaded->paths = paths;
		loaded->room = room;
	}
	loaded->paths[loaded->count] = strdup(path);
	if (!loaded->paths[loaded->count]) {
		return -ENOMEM;
	}
	loaded->count++;
	return 0;
}

/* Adds what is known without the kernel's list, for a process that ended before it was read. */
static int add_named(struct hk_loaded *loaded, const Hk__Process *state)
{
	int r = add(state->program, loaded);
	for (size_t i = 0; r == 0 && i < state->n_sites; i++) {
		r = add(state->sites[i]->library, loaded);
	}
	return r;
}

static int read_list(struct hk_loaded *loaded, struct hk_process *process)
{
	const struct hk_coverage *coverage = &process->segment->status.coverage;
	if (process->foreign || loaded->objects == coverage->objects) {
		return 0;
	}
	int r = hk_procfs_each_map(process->state->pid, add, loaded);
	if (r == 0) {
		loaded->objects = coverage->objects;
		process->state->cuda_driver = loaded->driver ? DRIVER_LOADED : DRIVER_ABSENT;
	}
	return r == -ENOMEM ? r : 0;
}

static int append_inside(Hk__Process *state, const char *path)
{
	size_t count = state->n_cuda_inside;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(state->cuda_inside[i], path) == 0) {
			return 0; /* by an earlier collector */
		}
	}
	char **larger = realloc(state->cuda_inside, (count + 1) * sizeof(*larger));
	char *copy = strdup(path);
	state->cuda_inside = larger ? larger : state->cuda_inside;
	if (!larger || !copy) {
		free(copy);
		return -ENOMEM;
	}
	larger[count] = copy;
	state->n_cuda_inside = count + 1;
	return 0;
}

/* Looks into the next files: those that were read before, and one more. */
static int ask(struct hk_collector *collector, struct hk_process *process, bool last)
{
	struct hk_loaded *loaded = process->segment->loaded;
	Hk__Process *state = process->state;
	bool read = false;
	int r = 0;
	while (r == 0 && loaded->asked < loaded->count && (last || !read)) {
		const char *name = loaded->paths[loaded->asked++];
		char path[PATH_MAX];
		/* The root directory of a process is known while it lives. */
		int length = last ? snprintf(path, sizeof(path), "%s", name)
				  : snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s",
					     state->pid, name);
		if (length < (int)sizeof(path) && state->n_cuda_inside < INSIDE_MOST &&
		    hk_cuda_inside_ask(collector->cuda_inside, path, &read)) {
			r = append_inside(state, name);
			process->changed = true;
		}
	}
	return r;
}

int hk_loaded_refresh(struct hk_collector *collector, struct hk_process *process, bool last)
{
	struct hk_attachment *segment = process->segment;
	if (!collector->cuda_inside || process->foreign) {
		return 0;
	}
	if (!segment->loaded) {
		segment->loaded = calloc(1, sizeof(*segment->loaded));
		if (!segment->loaded) {
			return -ENOMEM;
		}
	}
	int r =
	    last ? add_named(segment->loaded, process->state) : read_list(segment->loaded, process);
	return r < 0 ? r : ask(collector, process, last);
}
