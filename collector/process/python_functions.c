#include "collector/process/python_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/stacks.h"

/* Bytes of all names and files: a process's message has to fit into a frame of 16 MiB. */
#define TEXT_MOST (3u << 20)

static uint32_t count_of(const Hk__Process *state)
{
	size_t parts = state->n_python_functions;

	return parts == 0 ? 0
			  : (uint32_t)((parts - 1) * HK_STACKS_PART_FRAMES +
				       state->python_functions[parts - 1]->n_name);
}

static size_t bytes_of(const Hk__Process *state)
{
	size_t bytes = 0;

	for (size_t i = 0; i < state->n_python_functions; i++) {
		const Hk__PythonFunctions *part = state->python_functions[i];
		for (size_t k = 0; k < part->n_files; k++) {
			bytes += strlen(part->files[k]);
		}
		for (size_t k = 0; k < part->n_name; k++) {
			bytes += strlen(part->name[k]);
		}
	}
	return bytes;
}

static int add_part(Hk__Process *state)
{
	Hk__PythonFunctions **parts =
	    realloc(state->python_functions, (state->n_python_functions + 1) * sizeof(*parts));
	Hk__PythonFunctions *part = malloc(sizeof(*part));

	state->python_functions = parts ? parts : state->python_functions;
	if (!parts || !part) {
		free(part);
		return -ENOMEM;
	}
	hk__python_functions__init(part);
	part->part = (uint32_t)state->n_python_functions;
	parts[state->n_python_functions++] = part;
	return 0;
}

/* Makes room for one more function, which is in one more file. */
static int widen(Hk__PythonFunctions *part)
{
	char **files = realloc(part->files, (part->n_files + 1) * sizeof(*files));
	part->files = files ? files : part->files;
	uint32_t *file = realloc(part->file, (part->n_file + 1) * sizeof(*file));
	part->file = file ? file : part->file;
	char **name = realloc(part->name, (part->n_name + 1) * sizeof(*name));
	part->name = name ? name : part->name;
	uint32_t *line = realloc(part->first_line, (part->n_first_line + 1) * sizeof(*line));
	part->first_line = line ? line : part->first_line;
	return files && file && name && line ? 0 : -ENOMEM;
}

/* Sets *ret_place to the place of FILE among the files of PART, from 1 on. There is room for one
 * more. */
static int place_file(Hk__PythonFunctions *part, const char *file, uint32_t *ret_place)
{
	for (size_t i = part->n_files; i > 0; i--) {
		if (strcmp(part->files[i - 1], file) == 0) {
			*ret_place = (uint32_t)i;
			return 0;
		}
	}
	part->files[part->n_files] = strdup(file);
	if (!part->files[part->n_files]) {
		return -ENOMEM;
	}
	*ret_place = (uint32_t)++part->n_files;
	return 0;
}

/* Adds CODE. WITH_TEXT: there is room for its texts. */
static int add(Hk__Process *state, const struct hk_code_copy *code, bool with_text)
{
	int r = count_of(state) % HK_STACKS_PART_FRAMES == 0 ? add_part(state) : 0;
	uint32_t file = 0;

	if (r < 0) {
		return r;
	}
	Hk__PythonFunctions *part = state->python_functions[state->n_python_functions - 1];
	r = widen(part);
	r = r < 0 || !with_text ? r : place_file(part, code->file, &file);
	char *name = r < 0 ? NULL : strdup(with_text ? code->name : "");
	if (!name) {
		return -ENOMEM;
	}
	part->file[part->n_file++] = file;
	part->name[part->n_name++] = name;
	part->first_line[part->n_first_line++] = code->first_line;
	return 0;
}

int hk_python_functions_add(Hk__Process *state, const struct hk_code_copy *code,
			    uint32_t *ret_number)
{
	size_t bytes = bytes_of(state) + strlen(code->file) + strlen(code->name);
	int r = add(state, code, bytes <= TEXT_MOST);

	*ret_number = count_of(state);
	return r;
}

int hk_python_functions_refresh(Hk__Process *state, struct hk_reader *reader)
{
	uint32_t number = count_of(state);
	size_t bytes = 0;
	struct hk_code_copy code;
	int r;

	while ((r = hk_reader_next_code(reader, &number, &code)) > 0) {
		bytes = bytes ? bytes : bytes_of(state);
		bytes += strlen(code.file) + strlen(code.name);
		r = add(state, &code, bytes <= TEXT_MOST);
		if (r < 0) {
			return r;
		}
	}
	return r;
}
