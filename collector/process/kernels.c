#include "collector/process/kernels.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/model/fields.h"

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
