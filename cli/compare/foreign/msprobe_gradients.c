#include "cli/compare/foreign/msprobe_gradients.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 64
#define DEPTH_MAX 8

/* Numbers of elements. */
struct sizes {
	uint64_t list[SIZES_MAX];
	size_t count;
};

/* Functions of several operators whose inputs and last operator's inputs have the same shapes. */
static const char *const composed[] = {
    "Functional.cross_entropy.", "Functional.normalize.",   "Functional.softmin.",
    "Functional.tanhshrink.",	 "Functional.softsign.",    "Functional.gumbel_softmax.",
    "Functional.logsigmoid.",	 "Functional.hardsigmoid.", "Functional.local_response_norm.",
};

static uint64_t size_of(const json_t *shape)
{
	uint64_t size = 1;

	for (size_t i = 0; i < json_array_size(shape); i++) {
		size *= (uint64_t)json_integer_value(json_array_get(shape, i));
	}
	return size;
}

/* Adds the tensors in VALUE, of inputs only those that require a gradient. */
static void sizes_add(struct sizes *sizes, const json_t *value, bool inputs, int depth)
{
	const json_t *shape = json_object_get(value, "shape");
	const char *key;
	json_t *item;
	size_t i;

	if (shape) {
		if (sizes->count < SIZES_MAX &&
		    (!inputs || json_is_true(json_object_get(value, "requires_grad")))) {
			sizes->list[sizes->count++] = size_of(shape);
		}
		return;
	}
	json_array_foreach (value, i, item) {
		if (depth > 0) {
			sizes_add(sizes, item, inputs, depth - 1);
		}
	}
	json_object_foreach ((json_t *)value, key, item) {
		if (depth > 0) {
			sizes_add(sizes, item, inputs, depth - 1);
		}
	}
}

static int by_size(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool is_same(struct sizes *a, struct sizes *b)
{
	qsort(a->list, a->count, sizeof(*a->list), by_size);
	qsort(b->list, b->count, sizeof(*b->list), by_size);
	return a->count == b->count && !memcmp(a->list, b->list, a->count * sizeof(*a->list));
}

static const json_t *forward_of(const json_t *dump, const char *name)
{
	char forward[512];
	const char *end = strrchr(name, '.');

	if (!end || strlen(name) >= sizeof(forward)) {
		return NULL;
	}
	snprintf(forward, sizeof(forward), "%.*s.forward", (int)(end - name), name);
	return json_object_get(json_object_get(dump, "data"), forward);
}

bool hk_msprobe_gradients_are_of_inputs(const json_t *dump, const char *name, const json_t *call)
{
	const json_t *forward = forward_of(dump, name);
	struct sizes inputs = {.count = 0}, gradients = {.count = 0};

	for (size_t i = 0; i < sizeof(composed) / sizeof(*composed); i++) {
		if (!strncmp(name, composed[i], strlen(composed[i]))) {
			return false;
		}
	}
	if (!forward) {
		return true;
	}
	sizes_add(&inputs, json_object_get(forward, "input_args"), true, DEPTH_MAX);
	sizes_add(&inputs, json_object_get(forward, "input_kwargs"), true, DEPTH_MAX);
	sizes_add(&gradients, json_object_get(call, "output"), false, DEPTH_MAX);
	return is_same(&inputs, &gradients);
}
