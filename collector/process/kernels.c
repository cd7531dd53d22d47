#include "collector/process/kernels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/model/fields.h"
#include "collector/symbol/frame_names.h"

static int add(Hk__Process *state, const struct hk_kernel *from, const char *name)
{
	Hk__Kernel *kernel = malloc(sizeof(*kernel));

	if (!kernel) {
		return -ENOMEM;
	}
	hk__kernel__init(kernel);
	kernel->number = (uint32_t)state->n_kernels + 1;
	kernel->hash = from->hash;
	kernel->name_bytes = from->name_bytes;
	kernel->object = from->object;
	kernel->address = from->address;
	Hk__Kernel **larger =
	    realloc(state->kernels, (state->n_kernels + 1) * sizeof(*state->kernels));
	state->kernels = larger ? larger : state->kernels;
	if (!larger || hk_field_set_string(&kernel->name, name) < 0) {
		hk__kernel__free_unpacked(kernel, NULL);
		return -ENOMEM;
	}
	larger[state->n_kernels++] = kernel;
	return 0;
}

int hk_kernels_refresh(Hk__Process *state, struct hk_reader *reader)
{
	uint32_t number = (uint32_t)state->n_kernels;
	struct hk_kernel kernel;
	const char *name;
	int r;

	while ((r = hk_reader_next_kernel(reader, &number, &kernel, &name)) > 0) {
		r = add(state, &kernel, name);
		if (r < 0) {
			return r;
		}
	}
	return r;
}

/* ---- names from files ---- */

/* Returns whether KERNEL lacks a name that a file may have. */
static bool is_wanted(const Hk__Process *state, const Hk__Kernel *kernel)
{
	/* Objects come in the order of their numbers. */
	return kernel->name_bytes == 0 && !*kernel->name && kernel->object > 0 &&
	       kernel->object <= state->n_stack_objects &&
	       *state->stack_objects[kernel->object - 1]->path == '/';
}

uint32_t hk_kernels_next_nameless(const Hk__Process *state, uint32_t number)
{
	for (size_t i = number; i < state->n_kernels; i++) {
		if (is_wanted(state, state->kernels[i])) {
			return (uint32_t)i + 1;
		}
	}
	return 0;
}

size_t hk_kernels_found_bytes(const Hk__Process *state)
{
	size_t bytes = 0;

	for (size_t i = 0; i < state->n_kernels; i++) {
		const Hk__Kernel *kernel = state->kernels[i];
		bytes += kernel->name_bytes == 0 ? strlen(kernel->name) : 0;
	}
	return bytes;
}

int hk_kernels_set_name(Hk__Process *state, uint32_t number, const Hk__SymbolFrame *frame,
			size_t *bytes)
{
	Hk__Kernel *kernel =
	    number > 0 && number <= state->n_kernels ? state->kernels[number - 1] : NULL;

	if (!kernel || !is_wanted(state, kernel) || frame->n_place == 0) {
		return 0;
	}
	/* The last place is that of the function itself. Those before it were inlined. */
	const char *name = frame->place[frame->n_place - 1]->function;
	size_t length = strlen(name);
	if (length == 0 || *bytes + length > HK_FRAME_NAMES_BYTES_MOST) {
		return 0;
	}
	*bytes += length;
	return hk_field_set_string(&kernel->name, name);
}
