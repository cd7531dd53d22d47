/* tensor.h: a framework's tensor, read in place through its own methods. All functions need the GIL
 * and leave no exception. */
#ifndef HK_VALUES_TENSOR_H
#define HK_VALUES_TENSOR_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "dump/dump.h"
#include "session.h"

/* What describes a tensor. The elements stay where they are: DATA is valid while the tensor lives
 * and the GIL is held. */
struct hk_view {
	const void *data; /* NULL: the elements cannot be read here */
	enum hk_dtype dtype;
	uint32_t dimensions, flags; /* HK_DUMP_ */
	bool on_device;
	const char *device; /* lives as long as the dump */
	uint64_t storage, version, offset;
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS];
	PyObject *owner; /* of DATA, or NULL; owned */
};

enum hk_values_class hk_tensor_class(PyObject *object);

/* Reads TENSOR of class CLASS (TENSOR or READ). Returns false if it is left out, which is counted.
 * A view without data has no statistics, for a reason that is counted unless it is on a device. */
bool hk_tensor_view(PyObject *tensor, enum hk_values_class class, struct hk_view *view);

/* VIEW as the statistics see it. */
struct hk_tensor hk_tensor_of(const struct hk_view *view);

/* The number of TENSOR's changes so far, or 0. */
uint64_t hk_tensor_version(PyObject *tensor);

/* Whether TENSOR takes part in gradients, its node's number of this output, and a new reference to
 * the node that made it (NULL for a leaf). */
bool hk_tensor_edge(PyObject *tensor, PyObject **ret_node, uint32_t *ret_output);

#endif
